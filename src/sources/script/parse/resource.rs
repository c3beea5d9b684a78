use super::super::ast::*;
use super::super::flow;
use super::super::lex::{Lexer, Result, is_bare};
use super::values::{raw_bytes, type_ref};

/// Parses `[entry …]`.
pub(super) fn list(lexer: &mut Lexer<'_>, delta: bool) -> Result<Vec<ScriptEntry>> {
    lexer.expect("[")?;
    let mut entries = Vec::new();
    loop {
        if lexer.at_end() {
            return Err(lexer.error("a resource or `]`"));
        }
        if lexer.eat("]") {
            return Ok(entries);
        }
        entries.push(entry(lexer, delta)?);
        lexer.boundary("a space or `]`")?;
    }
}

/// Reads an entry of a response: plain, in a wrapper, or raw bytes.
fn entry(lexer: &mut Lexer<'_>, delta: bool) -> Result<ScriptEntry> {
    if lexer.eat("raw:") {
        return raw_bytes(lexer).map(ScriptEntry::Raw);
    }
    if delta {
        return resource(lexer, true).map(ScriptEntry::Plain);
    }
    if !lexer.eat("wrap(") {
        return resource(lexer, false).map(ScriptEntry::Plain);
    }
    lexer.at_end();
    let inner = resource(lexer, true)?;
    lexer.at_end();
    lexer.expect(")")?;
    Ok(ScriptEntry::Wrapped(inner))
}

/// Characters behind a name that begin parts of a wrapper.
const WRAPPER_PARTS: [char; 3] = ['@', '=', '('];

/// Parses a resource. Only a `wrapper` has a version, a TTL, aliases or no payload.
fn resource(lexer: &mut Lexer<'_>, wrapper: bool) -> Result<ScriptResource> {
    let mut out = ScriptResource::default();
    if lexer.eat("type:") {
        out.ty = type_ref(lexer)?;
        lexer.at_end();
    }
    out.name = lexer.word("the name of a resource, in quotes if it contains other characters")?.text;
    out.content = content(lexer)?;
    if !wrapper {
        let expected = match lexer.peek() {
            Some(c) if !is_bare(c) && !WRAPPER_PARTS.contains(&c) => {
                format!("a space or `]`; a name with `{}` needs double quotes", c.escape_debug())
            }
            _ => "a space or `]`; versions, TTLs and aliases of SotW resources need `wrap(…)`".to_owned(),
        };
        lexer.boundary(&expected)?;
        return Ok(out);
    }
    if lexer.eat("@") {
        out.version = lexer.value()?;
    }
    lexer.boundary("a space, or `{…}`, `~TAG`, `=>\"URI\"`, `@VERSION`, in this order")?;
    loop {
        let mark = lexer.mark();
        lexer.at_end();
        let place = lexer.mark();
        match (lexer.bare(), lexer.peek() == Some('=') && !lexer.rest().starts_with("=>")) {
            ("unset", false) => {
                lexer.boundary("a space")?;
                if out.content != ResourceContent::default() {
                    return Err(lexer.error_at(place, "either `unset` or content"));
                }
                out.content = ResourceContent::Unset;
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
                // The word belongs to the next entry.
                lexer.rewind(mark);
                return Ok(out);
            }
        }
    }
}

/// Parses the content directly behind the name.
fn content(lexer: &mut Lexer<'_>) -> Result<ResourceContent> {
    let fields = if lexer.peek() == Some('{') { Some(flow::mapping(lexer)?) } else { None };
    let tag = if lexer.eat("~") { Some(lexer.word("a tag after `~`")?.text) } else { None };
    if !lexer.rest().starts_with("=>") {
        return Ok(ResourceContent::Fields { fields, tag });
    }
    if fields.is_some() || tag.is_some() {
        return Err(lexer.error("either a redirect or content"));
    }
    lexer.eat("=>");
    Ok(ResourceContent::Redirect(lexer.word("the URI of the target, in quotes")?.text))
}
