use super::super::ast::*;
use super::super::flow;
use super::super::lex::{Lexer, Result};
use super::resource;
use super::values::{raw_bytes, type_ref, type_word};
use xdscope_wire::event::{Dir, Variant};

/// Parses what follows the arrow: `[TYPE] fields`.
pub(super) fn body(lexer: &mut Lexer<'_>, stream: &ScriptStream, dir: Dir) -> Result<MessageBody> {
    lexer.at_end();
    let place = lexer.mark();
    let mut fields = MessageFields { stream, seen: Vec::new(), ty: TypeRef::Implied };
    if let Some(ty) = type_word(lexer) {
        lexer.boundary("a space after the type")?;
        fields.ty = ty;
    }
    let body = match dir {
        Dir::Req => fields.request(lexer)?,
        Dir::Resp => fields.response(lexer)?,
    };
    let typed = matches!(body, MessageBody::Raw(..)) || fields.ty != TypeRef::Implied;
    if stream.variant.is_aggregated() && !typed {
        lexer.rewind(place);
        return Err(match type_ref(lexer) {
            Err(error) => error,
            Ok(_) => lexer.error("a type"),
        });
    }
    Ok(match body {
        MessageBody::Request(request) => MessageBody::Request(ScriptRequest { ty: fields.ty, ..request }),
        MessageBody::Response(response) => {
            MessageBody::Response(ScriptResponse { ty: fields.ty, ..response })
        }
        raw => raw,
    })
}

struct MessageFields<'a> {
    stream: &'a ScriptStream,
    seen: Vec<&'static str>,
    ty: TypeRef,
}

const SOTW_REQUEST: [&str; 8] = ["v", "n", "names", "nack", "code", "node", "type", "raw"];
const DELTA_REQUEST: [&str; 9] = ["n", "sub", "unsub", "irv", "nack", "code", "node", "type", "raw"];
const SOTW_RESPONSE: [&str; 6] = ["v", "n", "cp", "errors", "type", "raw"];
const DELTA_RESPONSE: [&str; 7] = ["n", "sys", "rm", "cp", "errors", "type", "raw"];
const REST_RESPONSE: [&str; 7] = ["v", "n", "cp", "errors", "http", "type", "raw"];

impl MessageFields<'_> {
    /// Parses the next `FIELD=`, which must be one of `keys` and not a repeated one.
    fn key(&mut self, lexer: &mut Lexer<'_>, keys: &[&'static str], others: &str) -> Result<&'static str> {
        let mark = lexer.mark();
        let word = lexer.bare();
        let key = keys.iter().copied().find(|key| *key == word && !self.seen.contains(key));
        match key {
            Some(key) if lexer.eat("=") => {
                self.seen.push(key);
                Ok(key)
            }
            _ => {
                let free = keys.iter().filter(|key| !self.seen.contains(key)).map(|key| format!("{key}="));
                let free = free.collect::<Vec<_>>().join(" ");
                Err(lexer.error_at(mark, format!("one of {free}{others}")))
            }
        }
    }

    /// Parses the value of `type=`, any text, if no type precedes the fields.
    fn type_field(&mut self, lexer: &mut Lexer<'_>) -> Result<()> {
        if self.ty != TypeRef::Implied {
            return Err(lexer.error("a single type"));
        }
        self.ty = TypeRef::Url(lexer.value()?);
        Ok(())
    }

    /// Reads the fields of a request line.
    fn request(&mut self, lexer: &mut Lexer<'_>) -> Result<MessageBody> {
        let keys: &[&str] = if self.stream.variant.is_delta() { &DELTA_REQUEST } else { &SOTW_REQUEST };
        let mut out = ScriptRequest::default();
        let (mut nack, mut code) = (None, None);
        let mut code_at = 0;
        while !lexer.at_end() {
            if let Some(node) = bare_node(lexer) {
                if self.seen.contains(&"node") {
                    return Err(lexer.error("a single `node`, `nonode` or `node=`"));
                }
                self.seen.push("node");
                out.node = node;
                continue;
            }
            let mark = lexer.mark();
            match self.key(lexer, keys, " node nonode")? {
                "v" => out.version = lexer.value()?,
                "n" => out.nonce = lexer.value()?,
                "names" => out.names = lexer.list()?,
                "sub" => out.subscribe = lexer.list()?,
                "unsub" => out.unsubscribe = lexer.list()?,
                "irv" => out.initial = lexer.pairs()?,
                "nack" => nack = Some(lexer.value()?),
                "code" => {
                    code_at = mark;
                    code = Some(lexer.number("a gRPC status number")?);
                }
                "node" => out.node = NodeUse::Changed(flow::mapping(lexer)?),
                "type" => self.type_field(lexer)?,
                _ => return self.raw(lexer, mark, Dir::Req),
            }
            lexer.boundary("a space")?;
        }
        out.nack = match (nack, code) {
            (None, None) => None,
            (None, Some(_)) => return Err(lexer.error_at(code_at, "`nack=` on the same line")),
            (Some(text), code) => Some((code.unwrap_or(if text.is_empty() { 0 } else { 3 }), text)),
        };
        Ok(MessageBody::Request(out))
    }

    /// Reads the fields of a response line.
    fn response(&mut self, lexer: &mut Lexer<'_>) -> Result<MessageBody> {
        let keys: &[&str] = match self.stream.variant {
            Variant::Delta | Variant::DeltaAds | Variant::Dump => &DELTA_RESPONSE,
            Variant::Rest => &REST_RESPONSE,
            Variant::Ads | Variant::Sotw | Variant::File => &SOTW_RESPONSE,
        };
        let mut out = ScriptResponse::default();
        let mut http_at = 0;
        while !lexer.at_end() {
            let mark = lexer.mark();
            if lexer.peek() == Some('[') {
                if self.seen.contains(&"[") {
                    return Err(lexer.error("a single list of resources"));
                }
                self.seen.push("[");
                out.resources = resource::list(lexer, self.stream.variant.is_delta())?;
                continue;
            }
            match self.key(lexer, keys, " [resources]")? {
                "v" => out.version = lexer.value()?,
                "sys" => out.system_version = lexer.value()?,
                "n" => out.nonce = lexer.value()?,
                "rm" => out.removed = lexer.list()?,
                "cp" => out.control_plane = Some(lexer.value()?),
                "errors" => out.errors = lexer.pairs()?,
                "http" => {
                    http_at = mark;
                    out.http = Some(lexer.number("an HTTP status")?);
                    let has_body = !matches!(out.http, Some(200 | 304));
                    if has_body && !lexer.at_end() && lexer.peek() == Some('"') {
                        out.http_text = lexer.word("the text of the response")?.text;
                    } else if has_body {
                        // The search for a text has skipped the space.
                        continue;
                    }
                }
                "type" => self.type_field(lexer)?,
                _ => return self.raw(lexer, mark, Dir::Resp),
            }
            lexer.boundary("a space")?;
        }
        let body = MessageBody::Response(out);
        if body.refused_with().is_some() && self.seen.len() > 1 {
            return Err(lexer.error_at(http_at, "`http=` as the only field: the response has no message"));
        }
        Ok(body)
    }

    /// Parses the value of `raw=`, which excludes all other fields.
    fn raw(&self, lexer: &mut Lexer<'_>, mark: usize, dir: Dir) -> Result<MessageBody> {
        if self.seen.len() > 1 {
            return Err(lexer.error_at(mark, "`raw=` as the only field: it is the complete message"));
        }
        raw_bytes(lexer).map(|bytes| MessageBody::Raw(dir, bytes))
    }
}

/// Parses `node` or `nonode` as a word.
fn bare_node(lexer: &mut Lexer<'_>) -> Option<NodeUse> {
    let mark = lexer.mark();
    let node = match lexer.bare() {
        "node" => NodeUse::Sent,
        "nonode" => NodeUse::Without,
        _ => {
            lexer.rewind(mark);
            return None;
        }
    };
    if lexer.peek() == Some('=') {
        lexer.rewind(mark);
        return None;
    }
    Some(node)
}
