use super::super::ast::*;
use super::super::base64;
use super::super::flow;
use super::super::lex::{Lexer, Result};
use super::resource;
use super::{type_ref, type_word};
use crate::wire::event::{Dir, Variant};

/// What follows the arrow: `[TYPE] fields`.
pub(super) fn body(lexer: &mut Lexer<'_>, stream: &Stream, dir: Dir) -> Result<Body> {
    lexer.end();
    let place = lexer.mark();
    let mut fields = Fields { stream, seen: Vec::new(), ty: TypeRef::Implied };
    if let Some(ty) = type_word(lexer) {
        lexer.boundary("a space after the type")?;
        fields.ty = ty;
    }
    let body = match dir {
        Dir::Req => fields.request(lexer)?,
        Dir::Resp => fields.response(lexer)?,
    };
    let typed = matches!(body, Body::Raw(..)) || fields.ty != TypeRef::Implied;
    if stream.variant.is_aggregated() && !typed {
        lexer.back(place);
        return Err(match type_ref(lexer) {
            Err(error) => error,
            Ok(_) => lexer.error("a type"),
        });
    }
    Ok(match body {
        Body::Request(request) => Body::Request(Request { ty: fields.ty, ..request }),
        Body::Response(response) => Body::Response(Response { ty: fields.ty, ..response }),
        raw => raw,
    })
}

struct Fields<'a> {
    stream: &'a Stream,
    seen: Vec<&'static str>,
    ty: TypeRef,
}

const SOTW_REQUEST: [&str; 8] = ["v", "n", "names", "nack", "code", "node", "type", "raw"];
const DELTA_REQUEST: [&str; 9] = ["n", "sub", "unsub", "irv", "nack", "code", "node", "type", "raw"];
const SOTW_RESPONSE: [&str; 6] = ["v", "n", "cp", "errors", "type", "raw"];
const DELTA_RESPONSE: [&str; 7] = ["n", "sys", "rm", "cp", "errors", "type", "raw"];
const REST_RESPONSE: [&str; 7] = ["v", "n", "cp", "errors", "http", "type", "raw"];

impl Fields<'_> {
    /// The next `FIELD=`, one of these and each only once.
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

    /// `type=`: any text at all, where no type stands before the fields.
    fn type_field(&mut self, lexer: &mut Lexer<'_>) -> Result<()> {
        if self.ty != TypeRef::Implied {
            return Err(lexer.error("one type only"));
        }
        self.ty = TypeRef::Url(lexer.value()?);
        Ok(())
    }

    fn request(&mut self, lexer: &mut Lexer<'_>) -> Result<Body> {
        let keys: &[&str] = if self.stream.variant.is_delta() { &DELTA_REQUEST } else { &SOTW_REQUEST };
        let mut out = Request::default();
        let (mut nack, mut code) = (None, None);
        let mut code_at = 0;
        while !lexer.end() {
            if let Some(node) = bare_node(lexer) {
                if self.seen.contains(&"node") {
                    return Err(lexer.error("one word about the node only"));
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
        Ok(Body::Request(out))
    }

    fn response(&mut self, lexer: &mut Lexer<'_>) -> Result<Body> {
        let keys: &[&str] = match self.stream.variant {
            Variant::Delta | Variant::DeltaAds | Variant::Dump => &DELTA_RESPONSE,
            Variant::Rest => &REST_RESPONSE,
            Variant::Ads | Variant::Sotw | Variant::File => &SOTW_RESPONSE,
        };
        let mut out = Response::default();
        while !lexer.end() {
            let mark = lexer.mark();
            if lexer.peek() == Some('[') {
                if self.seen.contains(&"[") {
                    return Err(lexer.error("one list of resources only"));
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
                "http" => out.http = Some(lexer.number("an HTTP status")?),
                "type" => self.type_field(lexer)?,
                _ => return self.raw(lexer, mark, Dir::Resp),
            }
            lexer.boundary("a space")?;
        }
        Ok(Body::Response(out))
    }

    /// `raw=` stands instead of all other fields.
    fn raw(&self, lexer: &mut Lexer<'_>, mark: usize, dir: Dir) -> Result<Body> {
        if self.seen.len() > 1 {
            return Err(lexer.error_at(mark, "no `raw=` beside other fields: it is the whole message"));
        }
        raw_bytes(lexer).map(|bytes| Body::Raw(dir, bytes))
    }
}

/// `node` or `nonode` as a word of its own.
fn bare_node(lexer: &mut Lexer<'_>) -> Option<NodeUse> {
    let mark = lexer.mark();
    let node = match lexer.bare() {
        "node" => NodeUse::Sent,
        "nonode" => NodeUse::Without,
        _ => {
            lexer.back(mark);
            return None;
        }
    };
    if lexer.peek() == Some('=') {
        lexer.back(mark);
        return None;
    }
    Some(node)
}

/// Base64 up to the next space or bracket.
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
