use super::super::ast::*;
use super::super::flow;
use super::super::lex::{Lexer, Result};
use super::message::raw_bytes;
use super::type_ref;

/// `[entry …]`
pub(super) fn list(lexer: &mut Lexer<'_>, delta: bool) -> Result<Vec<Entry>> {
    lexer.expect("[")?;
    let mut entries = Vec::new();
    loop {
        if lexer.end() {
            return Err(lexer.error("a resource or `]`"));
        }
        if lexer.eat("]") {
            return Ok(entries);
        }
        entries.push(entry(lexer, delta)?);
        lexer.boundary("a space or `]`")?;
    }
}

fn entry(lexer: &mut Lexer<'_>, delta: bool) -> Result<Entry> {
    if lexer.eat("raw:") {
        return raw_bytes(lexer).map(Entry::Raw);
    }
    if delta {
        return resource(lexer, true).map(Entry::Plain);
    }
    if !lexer.eat("wrap(") {
        return resource(lexer, false).map(Entry::Plain);
    }
    lexer.end();
    let inner = resource(lexer, true)?;
    lexer.end();
    lexer.expect(")")?;
    Ok(Entry::Wrapped(inner))
}

/// One resource; in a wrapper it may have a version, TTL, aliases, and no payload.
fn resource(lexer: &mut Lexer<'_>, wrapper: bool) -> Result<Resource> {
    let mut out = Resource::default();
    if lexer.eat("type:") {
        out.ty = type_ref(lexer)?;
        lexer.end();
    }
    out.name = lexer.word("the name of a resource; quote it if it holds other characters")?.text;
    out.content = content(lexer)?;
    if !wrapper {
        lexer.boundary("a space or `]`; versions, TTLs and aliases stand in `wrap(…)` on SotW streams")?;
        return Ok(out);
    }
    if lexer.eat("@") {
        out.version = lexer.value()?;
    }
    lexer.boundary("a space, or `{…}`, `~TAG`, `=>\"URI\"`, `@VERSION` in this order")?;
    loop {
        let mark = lexer.mark();
        lexer.end();
        let place = lexer.mark();
        match (lexer.bare(), lexer.peek() == Some('=') && !lexer.rest().starts_with("=>")) {
            ("unset", false) => {
                lexer.boundary("a space")?;
                if out.content != Content::default() {
                    return Err(lexer.error_at(place, "no `unset` beside content"));
                }
                out.content = Content::Unset;
            }
            ("ttl", true) if out.ttl.is_none() => {
                lexer.eat("=");
                out.ttl = Some(Ttl(lexer.nanos(true)?));
            }
            ("aliases", true) if out.aliases.is_empty() => {
                lexer.eat("=");
                out.aliases = lexer.list()?;
            }
            _ => {
                // What follows is the next entry's.
                lexer.back(mark);
                return Ok(out);
            }
        }
    }
}

/// What stands straight after the name.
fn content(lexer: &mut Lexer<'_>) -> Result<Content> {
    let fields = if lexer.peek() == Some('{') { Some(flow::mapping(lexer)?) } else { None };
    let tag = if lexer.eat("~") { Some(lexer.word("a tag after `~`")?.text) } else { None };
    if !lexer.rest().starts_with("=>") {
        return Ok(Content::Fields { fields, tag });
    }
    if fields.is_some() || tag.is_some() {
        return Err(lexer.error("no redirect beside content"));
    }
    lexer.eat("=>");
    Ok(Content::Redirect(lexer.word("the URI of the redirect's target, in quotes")?.text))
}
