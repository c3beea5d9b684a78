mod expect;
mod message;
mod resource;

use std::collections::BTreeMap;

use super::ast::*;
use super::flow;
use super::lex::{Lexer, Result, ScriptError};
use super::timeline::Timeline;
use crate::wire::Profile;
use crate::wire::event::{ApiVersion, Code, Dir, Kind, Side, Time, Variant};

/// Reads a script. `file` is what errors call it.
pub fn parse(text: &str, file: &str) -> std::result::Result<Script, ScriptError> {
    let mut parser = Parser::default();
    let mut script = Script { file: file.into(), lines: Vec::new() };
    for (i, line) in text.lines().enumerate() {
        let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let mut lexer = Lexer::new(file, number, line);
        if lexer.end() {
            continue;
        }
        let item = parser.line(&mut lexer)?;
        if !lexer.end() {
            return Err(lexer.error("the end of the line"));
        }
        parser.started = true;
        script.lines.push(Line { number, item });
    }
    Ok(script)
}

/// What the lines so far have declared.
#[derive(Default)]
struct Parser {
    started: bool,
    time: Timeline,
    streams: BTreeMap<u32, (Stream, Life)>,
    /// The stream opened last.
    last: Option<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Life {
    Open,
    Ended,
}

impl Parser {
    fn line(&mut self, lexer: &mut Lexer<'_>) -> Result<Item> {
        let mark = lexer.mark();
        match lexer.bare() {
            "notime" if !self.started => {
                self.time.untimed = true;
                Ok(Item::NoTime)
            }
            "node" => node(lexer).map(Item::Node),
            "server" => {
                lexer.end();
                Ok(Item::Server(lexer.word("the name of an endpoint")?.text))
            }
            "stream" => self.stream(lexer, None),
            "partial" => {
                let number = self.known(lexer)?;
                Ok(Item::Partial(number))
            }
            "advance" => {
                self.timed(lexer, mark)?;
                lexer.end();
                let by = lexer.duration()?;
                self.time.advance(by);
                Ok(Item::Advance(by))
            }
            "expect" => self.expectation(lexer).map(Item::Expect),
            _ => {
                lexer.back(mark);
                self.event(lexer)
            }
        }
    }

    fn timed(&self, lexer: &mut Lexer<'_>, mark: usize) -> Result<()> {
        if self.time.untimed {
            return Err(lexer.error_at(mark, "no times in a script with `notime`"));
        }
        Ok(())
    }

    /// `[+TIME] [STREAM] what`
    fn event(&mut self, lexer: &mut Lexer<'_>) -> Result<Item> {
        let mark = lexer.mark();
        let mut at = None;
        if lexer.eat("+") {
            self.timed(lexer, mark)?;
            let time = Time::ZERO.after(lexer.duration()?);
            if time < self.time.now() {
                return Err(lexer.error_at(mark, "a time not before that of the line above"));
            }
            at = Some(time);
            lexer.end();
        }
        if lexer.keyword("stream") {
            return self.stream(lexer, at);
        }
        let mark = lexer.mark();
        let stream = match lexer.peek() {
            Some('0'..='9') => Some(self.known(lexer)?),
            _ => None,
        };
        lexer.end();
        let place = lexer.mark();
        let dir = match lexer.bump() {
            Some('>') => Some(Dir::Req),
            Some('<') => Some(Dir::Resp),
            _ => {
                lexer.back(place);
                None
            }
        };
        if dir.is_none() && !matches!(lexer.peek_bare(), "close" | "reset") {
            return Err(lexer.error(
                "`>`, `<`, `close` or `reset`; or a line of `node`, `server`, `stream`, `partial`, `advance`, `expect`; \
                 or `notime` before all others",
            ));
        }
        let on = stream.or(self.last).and_then(|number| self.streams.get_mut(&number));
        let Some((on, life)) = on else {
            return Err(lexer.error_at(mark, "a line that opens a stream above this one"));
        };
        if *life == Life::Ended {
            let number = on.number;
            return Err(lexer.error_at(mark, format!("a stream that has not ended, unlike stream {number}")));
        }
        let item = match dir {
            Some(dir) => Item::Message { at, stream, body: message::body(lexer, on, dir)? },
            None => {
                let end = ending(lexer)?;
                *life = Life::Ended;
                Item::End { at, stream, end }
            }
        };
        self.time.step(at);
        Ok(item)
    }

    /// The number of a stream that is there.
    fn known(&self, lexer: &mut Lexer<'_>) -> Result<u32> {
        lexer.end();
        let mark = lexer.mark();
        let number = lexer.number("the number of a stream")?;
        if self.streams.contains_key(&number) {
            return Ok(number);
        }
        let known: Vec<String> = self.streams.keys().map(u32::to_string).collect();
        let known = if known.is_empty() { "none so far".into() } else { known.join(", ") };
        Err(lexer.error_at(mark, format!("the number of a stream opened above ({known})")))
    }

    /// `stream N VARIANT [TYPE] [v2|v3] [profile=P] [method=PATH]`
    fn stream(&mut self, lexer: &mut Lexer<'_>, at: Option<Time>) -> Result<Item> {
        lexer.end();
        let mark = lexer.mark();
        let number = lexer.number("a number for the stream")?;
        if self.streams.contains_key(&number) {
            return Err(lexer.error_at(mark, "a number that no stream above has"));
        }
        lexer.end();
        let mark = lexer.mark();
        let Some(variant) = Variant::parse(lexer.bare()) else {
            return Err(lexer.error_at(mark, "`ads`, `delta-ads`, `sotw`, `delta`, `rest` or `file`"));
        };
        lexer.end();
        let mark = lexer.mark();
        let ty = if variant.is_aggregated() { TypeRef::Implied } else { type_ref(lexer)? };
        let transport = if !lexer.end() && lexer.keyword("v2") {
            ApiVersion::V2
        } else {
            lexer.keyword("v3");
            ApiVersion::V3
        };
        let mut stream = Stream { number, variant, ty, transport, profile: None, method: None };
        while !lexer.end() {
            let mark = lexer.mark();
            match (lexer.bare(), lexer.eat("=")) {
                ("profile", true) => {
                    let mark = lexer.mark();
                    stream.profile = Some(match lexer.value()?.as_str() {
                        "current" => Profile::Current,
                        "003" => Profile::P003,
                        "002" => Profile::P002,
                        _ => return Err(lexer.error_at(mark, "`current`, `003` or `002`")),
                    });
                }
                ("method", true) => stream.method = Some(lexer.value()?),
                _ => return Err(lexer.error_at(mark, "`v2`, `v3`, `profile=` or `method=`")),
            }
        }
        if stream.method.is_none() && stream.path().is_none() {
            return Err(lexer.error_at(
                mark,
                format!(
                    "a type that has a published {} method over {}, or `method=PATH`",
                    variant.word(),
                    transport.word()
                ),
            ));
        }
        self.streams.insert(number, (stream.clone(), Life::Open));
        self.last = Some(number);
        self.time.open(at);
        Ok(Item::Stream { at, stream })
    }
}

/// A type word or a full type URL.
fn type_ref(lexer: &mut Lexer<'_>) -> Result<TypeRef> {
    match type_word(lexer) {
        Some(ty) => Ok(ty),
        None => {
            let words: Vec<&str> = Kind::all().map(Kind::word).collect();
            Err(lexer.error(format!("a type ({}) or a full type URL", words.join(" "))))
        }
    }
}

/// The same, where the type may be left out: takes nothing if there is none.
fn type_word(lexer: &mut Lexer<'_>) -> Option<TypeRef> {
    let word = lexer.peek_bare();
    let ty = match Kind::all().find(|kind| kind.word() == word) {
        Some(kind) => TypeRef::Word(kind),
        None if word.contains('/') => TypeRef::Url(word.into()),
        None => return None,
    };
    lexer.bare();
    Some(ty)
}

/// `node ID [cluster=C] [locality=R/Z/S] [agent=A] [feature=F]… [meta={…}]`
fn node(lexer: &mut Lexer<'_>) -> Result<Node> {
    lexer.end();
    let mut node = Node { id: lexer.word("the node's id")?.text, ..Node::default() };
    while !lexer.end() {
        let mark = lexer.mark();
        match (lexer.bare(), lexer.eat("=")) {
            ("cluster", true) => node.cluster = lexer.value()?,
            ("locality", true) => {
                let mark = lexer.mark();
                let Some(locality) = locality(&lexer.value()?) else {
                    return Err(
                        lexer.error_at(mark, "a locality of up to three parts: `REGION/ZONE/SUB_ZONE`")
                    );
                };
                node.locality = locality;
            }
            ("agent", true) => node.agent = lexer.value()?,
            ("feature", true) => node.features.push(lexer.value()?),
            ("meta", true) => node.meta = Some(flow::mapping(lexer)?),
            _ => {
                return Err(lexer.error_at(
                    mark,
                    "`cluster=`, `locality=`, `agent=`, `feature=`, `meta={…}` or nothing more",
                ));
            }
        }
    }
    Ok(node)
}

/// Region, zone and sub-zone of `R/Z/S`.
pub(super) fn locality(text: &str) -> Option<[String; 3]> {
    let mut parts = text.split('/').map(String::from);
    let out = [(); 3].map(|()| parts.next().unwrap_or_default());
    parts.next().is_none().then_some(out)
}

/// `close [status=N ["TEXT"]]` or `reset client|server`
fn ending(lexer: &mut Lexer<'_>) -> Result<Ending> {
    if lexer.keyword("reset") {
        lexer.end();
        for side in [Side::Client, Side::Server] {
            if lexer.keyword(side.word()) {
                return Ok(Ending::Reset(side));
            }
        }
        return Err(lexer.error("`client` or `server`"));
    }
    lexer.keyword("close");
    if lexer.end() {
        return Ok(Ending::Close);
    }
    lexer.expect("status=")?;
    let mark = lexer.mark();
    let Some(code) = Code::parse(lexer.bare()) else {
        return Err(lexer.error_at(mark, "a gRPC status, by number or name"));
    };
    let text = if lexer.end() { String::new() } else { lexer.word("the status message, or nothing")?.text };
    Ok(Ending::Status(code.0, text))
}
