//! Parser for expressions. `|` binds weakest, then the space, then `!`.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::FilterError;
use super::lexer::{Token, tokens};
use super::term::{self, Term};

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Any(Vec<Expr>),
    All(Vec<Expr>),
    Not(Box<Expr>),
    Term(Term),
}

impl Expr {
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&Term)) {
        match self {
            Expr::Any(parts) | Expr::All(parts) => parts.iter().for_each(|part| part.visit(visit)),
            Expr::Not(inner) => inner.visit(visit),
            Expr::Term(term) => visit(term),
        }
    }
}

/// Maximum nesting of an expression. Deeper nesting could exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Parses an expression. Returns `None` for an empty expression.
pub(super) fn expression(text: &str) -> Result<Option<Expr>, FilterError> {
    let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), end: text.len(), depth: 0 };
    if parser.tokens.peek().is_none() {
        return Ok(None);
    }
    let expr = parser.any()?;
    match parser.tokens.next() {
        None => Ok(Some(expr)),
        Some((at, _)) => Err(FilterError { at, reason: "this `)` has no opening `(`".into() }),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<(usize, Token)>>,
    end: usize,
    depth: usize,
}

impl Parser {
    fn any(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.all()?];
        while self.tokens.next_if(|(_, token)| *token == Token::Or).is_some() {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expr::Any))
    }

    fn all(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.unary()?];
        while self.tokens.peek().is_some_and(|(_, token)| !matches!(token, Token::Or | Token::Close)) {
            parts.push(self.unary()?);
        }
        Ok(one_or(parts, Expr::All))
    }

    /// Reads a term, a group in parentheses, or the negation of either.
    fn unary(&mut self) -> Result<Expr, FilterError> {
        let Some((at, token)) = self.tokens.next() else {
            return Err(FilterError { at: self.end, reason: "expected something to match".into() });
        };
        match token {
            Token::Not => Ok(Expr::Not(Box::new(self.nested(at, Parser::unary)?))),
            Token::Open => {
                let inner = self.nested(at, Parser::any)?;
                match self.tokens.next() {
                    Some((_, Token::Close)) => Ok(inner),
                    _ => Err(FilterError { at, reason: "the closing `)` of this `(` is missing".into() }),
                }
            }
            Token::Or | Token::Close => {
                Err(FilterError { at, reason: "expected something to match before this".into() })
            }
            Token::Regex(regex) => Ok(Expr::Term(term::regex(at, &regex)?)),
            Token::FieldRegex { field, regex, regex_at } => {
                Ok(Expr::Term(term::field_regex(at, &field, regex_at, &regex)?))
            }
            Token::Word(word) => Ok(Expr::Term(term::word(at, &word)?)),
        }
    }

    /// Parses one level deeper. Fails beyond the limit of levels.
    fn nested(
        &mut self,
        at: usize,
        parse: fn(&mut Parser) -> Result<Expr, FilterError>,
    ) -> Result<Expr, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(FilterError { at, reason: format!("nested more than {MAX_DEPTH} levels deep") });
        }
        let expr = parse(self);
        self.depth -= 1;
        expr
    }
}

/// Returns a single part as it is, and several parts joined.
fn one_or(mut parts: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}
