//! Values that several statements contain.

use super::super::ast::TypeRef;
use super::super::lex::{Lexer, Result};
use xdscope_schema::base64;
use xdscope_wire::event::Kind;

/// Parses the short name of a type or a full type URL.
pub(super) fn type_ref(lexer: &mut Lexer<'_>) -> Result<TypeRef> {
    match type_word(lexer) {
        Some(ty) => Ok(ty),
        None => {
            let words: Vec<&str> = Kind::all().map(Kind::word).collect();
            Err(lexer.error(format!("a type ({}) or a full type URL", words.join(" "))))
        }
    }
}

/// Parses an optional type. Consumes nothing if there is none.
pub(super) fn type_word(lexer: &mut Lexer<'_>) -> Option<TypeRef> {
    let word = lexer.peek_bare();
    let ty = match Kind::all().find(|kind| kind.word() == word) {
        Some(kind) => TypeRef::Word(kind),
        None if word.contains('/') => TypeRef::Url(word.into()),
        None => return None,
    };
    lexer.bare();
    Some(ty)
}

/// Splits `R/Z/S` into region, zone and sub-zone.
pub(in crate::script) fn locality(text: &str) -> Option<[String; 3]> {
    let mut parts = text.split('/').map(String::from);
    let out = [(); 3].map(|()| parts.next().unwrap_or_default());
    parts.next().is_none().then_some(out)
}

/// Parses base64 up to the next space or bracket.
pub(super) fn raw_bytes(lexer: &mut Lexer<'_>) -> Result<Vec<u8>> {
    let mark = lexer.mark();
    let text = if lexer.peek() == Some('"') {
        lexer.quoted()?
    } else {
        let mut text = String::new();
        while let Some(c) = lexer.peek().filter(|c| c.is_ascii_alphanumeric() || "+/-_=".contains(*c)) {
            text.push(c);
            lexer.bump();
        }
        text
    };
    base64::decode(&text).ok_or_else(|| lexer.error_at(mark, "base64"))
}
