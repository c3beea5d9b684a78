use super::super::ast::*;
use super::super::lex::{Lexer, Result};
use super::Parser;
use super::values::type_ref;

const SEVERITIES: [&str; 3] = ["error", "warn", "info"];

impl Parser {
    /// Parses what follows `expect`.
    pub(super) fn expectation(&self, lexer: &mut Lexer<'_>) -> Result<Expectation> {
        lexer.at_end();
        let mark = lexer.mark();
        match lexer.bare() {
            "lint" => lint(lexer),
            "no" => {
                let (pick, _) = pick(lexer, false)?;
                Ok(Expectation::NoFinding(pick))
            }
            "message" => {
                lexer.at_end();
                let n = lexer.number("the number of a message")?;
                let (kind, fields) = facts(lexer, "the kind of the message")?;
                Ok(Expectation::Message { number: n, kind, fields })
            }
            "state" => {
                let (stream, ty) = self.track(lexer)?;
                let (state, fields) = facts(lexer, "a state")?;
                Ok(Expectation::State { stream, ty, state, fields })
            }
            "resource" => {
                let (stream, ty) = self.track(lexer)?;
                lexer.at_end();
                let name = lexer.word("the name of a resource")?.text;
                let (state, fields) = facts(lexer, "a state")?;
                Ok(Expectation::Resource { stream, ty, name, state, fields })
            }
            _ => Err(lexer.error_at(mark, "`lint`, `no`, `message`, `state` or `resource`")),
        }
    }

    /// Parses `STREAM TYPE`.
    fn track(&self, lexer: &mut Lexer<'_>) -> Result<(u32, TypeRef)> {
        let stream = self.opened_stream(lexer)?;
        lexer.at_end();
        Ok((stream, type_ref(lexer)?))
    }
}

/// Reads what follows `expect lint`.
fn lint(lexer: &mut Lexer<'_>) -> Result<Expectation> {
    lexer.at_end();
    if lexer.keyword("none") {
        return Ok(Expectation::LintNone);
    }
    if lexer.keyword("only") {
        return Ok(Expectation::LintOnly);
    }
    let (pick, severity) = pick(lexer, true)?;
    Ok(Expectation::Lint { pattern: pick, severity })
}

/// Parses `RULE [at N] [sev=S] [names=[…]]`.
fn pick(lexer: &mut Lexer<'_>, with_severity: bool) -> Result<(FindingPattern, Option<String>)> {
    lexer.at_end();
    let mark = lexer.mark();
    let mut pick = FindingPattern { rule: lexer.bare().into(), ..FindingPattern::default() };
    if pick.rule.is_empty() {
        return Err(lexer.error_at(mark, "the name of a rule"));
    }
    let mut severity = None;
    while !lexer.at_end() {
        let mark = lexer.mark();
        match (lexer.bare(), lexer.eat("=")) {
            ("at", false) if pick.at.is_none() => {
                lexer.at_end();
                pick.at = Some(lexer.number("the number of a message")?);
            }
            ("sev", true) if with_severity && severity.is_none() => {
                let mark = lexer.mark();
                let word = lexer.bare();
                if !SEVERITIES.contains(&word) {
                    return Err(lexer.error_at(mark, "`error`, `warn` or `info`"));
                }
                severity = Some(word.into());
            }
            ("names", true) if pick.names.is_none() => pick.names = Some(lexer.list()?),
            _ => {
                let expected =
                    if with_severity { "`at N`, `sev=`, `names=[…]`" } else { "`at N`, `names=[…]`" };
                return Err(lexer.error_at(mark, format!("{expected} or nothing more")));
            }
        }
    }
    Ok((pick, severity))
}

/// An optional leading word, and the fields behind it.
type Facts = (Option<String>, Vec<(String, ExpectedValue)>);

/// Parses `[WORD] [FIELD=VALUE…]`.
fn facts(lexer: &mut Lexer<'_>, what: &str) -> Result<Facts> {
    let (mut word, mut fields) = (None, Vec::new());
    while !lexer.at_end() {
        let mark = lexer.mark();
        let key = lexer.bare();
        if key.is_empty() {
            return Err(lexer.error(format!("{what} or `FIELD=VALUE`")));
        }
        if lexer.eat("=") {
            let expected = match lexer.peek() {
                Some('[') => ExpectedValue::List(lexer.list()?),
                _ => ExpectedValue::Word(lexer.value()?),
            };
            fields.push((key.into(), expected));
        } else if word.is_none() && fields.is_empty() {
            word = Some(key.into());
        } else {
            return Err(lexer.error_at(mark, "`FIELD=VALUE`"));
        }
        lexer.boundary("a space")?;
    }
    Ok((word, fields))
}
