mod expect;
mod message;
mod resource;
mod values;

use std::collections::BTreeMap;

use super::ast::*;
use super::flow;
use super::lex::{Lexer, Result, ScriptError};
use super::timeline::Timeline;
use values::type_ref;

use crate::peers::intercept::FaultSet;
pub(super) use values::locality;
use xdscope_wire::event::{ApiVersion, Code, Dir, Side, Time, Variant};
use xdscope_wire::{GapCause, Profile};

/// Parses a script. `file` is its name in error messages. Skips a byte order mark.
///
/// # Errors
///
/// A line is malformed.
pub fn parse(text: &str, file: &str) -> std::result::Result<Script, ScriptError> {
    let mut parser = Parser::default();
    let mut script = Script { file: file.into(), lines: Vec::new() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (i, line) in text.lines().enumerate() {
        let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let mut lexer = Lexer::new(file, number, line);
        if lexer.at_end() {
            continue;
        }
        let item = parser.line(&mut lexer)?;
        if !lexer.at_end() {
            return Err(lexer.error("the end of the line"));
        }
        parser.has_lines = true;
        script.lines.push(ScriptLine { number, statement: item });
    }
    Ok(script)
}

/// Parses a fault in quotes.
fn fault(lexer: &mut Lexer<'_>) -> Result<String> {
    let mark = lexer.mark();
    let text = lexer.word("a fault in quotes, such as \"type:cds => drop\"")?.text;
    match FaultSet::parse([text.as_str()], 0) {
        Ok(_) => Ok(text),
        Err((_, error)) => Err(lexer.error_at(mark, format!("a fault: {error}"))),
    }
}

/// The declarations of the lines so far.
#[derive(Default)]
struct Parser {
    has_lines: bool,
    time: Timeline,
    streams: BTreeMap<u32, (ScriptStream, StreamLife)>,
    /// The stream opened last.
    last_opened: Option<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum StreamLife {
    Open,
    Ended,
}

impl Parser {
    /// Reads a line of the script by its first word.
    fn line(&mut self, lexer: &mut Lexer<'_>) -> Result<Statement> {
        let mark = lexer.mark();
        match lexer.bare() {
            "notime" if !self.has_lines => {
                self.time.untimed = true;
                Ok(Statement::NoTime)
            }
            "node" => node(lexer).map(Statement::Node),
            "server" => {
                lexer.at_end();
                Ok(Statement::Server(lexer.word("the name of an endpoint")?.text))
            }
            "stream" => self.stream(lexer, None),
            "partial" => {
                let number = self.opened_stream(lexer)?;
                Ok(Statement::Partial(number))
            }
            "advance" => {
                self.require_times(lexer, mark)?;
                lexer.at_end();
                let by = lexer.duration()?;
                self.time.advance(by);
                Ok(Statement::Advance(by))
            }
            "expect" => self.expectation(lexer).map(Statement::Expect),
            "fault" => {
                lexer.at_end();
                fault(lexer).map(Statement::Fault)
            }
            _ => {
                lexer.rewind(mark);
                self.event(lexer)
            }
        }
    }

    fn require_times(&self, lexer: &mut Lexer<'_>, mark: usize) -> Result<()> {
        if self.time.untimed {
            return Err(lexer.error_at(mark, "a line without a time, because the script has `notime`"));
        }
        Ok(())
    }

    /// Parses `[+TIME] [STREAM]` and the event.
    fn event(&mut self, lexer: &mut Lexer<'_>) -> Result<Statement> {
        let mark = lexer.mark();
        let mut at = None;
        if lexer.eat("+") {
            self.require_times(lexer, mark)?;
            let time = Time::ZERO.after(lexer.duration()?);
            if time < self.time.now() {
                return Err(lexer.error_at(mark, "a time not earlier than that of the line above"));
            }
            at = Some(time);
            lexer.at_end();
        }
        if lexer.keyword("stream") {
            return self.stream(lexer, at);
        }
        let mark = lexer.mark();
        let stream = match lexer.peek() {
            Some('0'..='9') => Some(self.opened_stream(lexer)?),
            _ => None,
        };
        lexer.at_end();
        let place = lexer.mark();
        let dir = match lexer.bump() {
            Some('>') => Some(Dir::Req),
            Some('<') => Some(Dir::Resp),
            _ => {
                lexer.rewind(place);
                None
            }
        };
        if dir.is_none() && !matches!(lexer.peek_bare(), "close" | "gap" | "reset") {
            return Err(lexer.error(
                 "`>`, `<`, `gap`, `close` or `reset`, or a line that begins with `node`, `server`, `stream`, `partial`, \\
                 `advance` or `expect` (or `notime`, if it is the first line)",
            ));
        }
        let on = stream.or(self.last_opened).and_then(|number| self.streams.get_mut(&number));
        let Some((on, life)) = on else {
            return Err(lexer.error_at(mark, "a `stream` line above this one"));
        };
        if *life == StreamLife::Ended {
            let number = on.number;
            return Err(
                lexer.error_at(mark, format!("a stream that is still open (stream {number} has ended)"))
            );
        }
        let item = match dir {
            Some(dir) => {
                let body = message::body(lexer, on, dir)?;
                if body.refused_with().is_some() {
                    *life = StreamLife::Ended;
                }
                Statement::Message { at, stream, body }
            }
            None if lexer.keyword("gap") => Statement::Gap { at, stream, gap: gap(lexer)? },
            None => {
                let end = ending(lexer)?;
                *life = StreamLife::Ended;
                Statement::End { at, stream, end }
            }
        };
        self.time.step(at);
        Ok(item)
    }

    /// Parses the number of an opened stream.
    fn opened_stream(&self, lexer: &mut Lexer<'_>) -> Result<u32> {
        lexer.at_end();
        let mark = lexer.mark();
        let number = lexer.number("the number of a stream")?;
        if self.streams.contains_key(&number) {
            return Ok(number);
        }
        let known: Vec<String> = self.streams.keys().map(u32::to_string).collect();
        let known = if known.is_empty() { "none so far".into() } else { known.join(", ") };
        Err(lexer.error_at(mark, format!("the number of a stream opened above: {known}")))
    }

    /// Parses `stream N VARIANT [TYPE] [v2|v3] [profile=P] [method=PATH]`.
    fn stream(&mut self, lexer: &mut Lexer<'_>, at: Option<Time>) -> Result<Statement> {
        lexer.at_end();
        let mark = lexer.mark();
        let number = lexer.number("a stream number")?;
        if self.streams.contains_key(&number) {
            return Err(lexer.error_at(mark, "a stream number that is not used above"));
        }
        lexer.at_end();
        let mark = lexer.mark();
        let Some(variant) = Variant::parse(lexer.bare()) else {
            return Err(lexer.error_at(mark, "`ads`, `delta-ads`, `sotw`, `delta`, `rest` or `file`"));
        };
        lexer.at_end();
        let mark = lexer.mark();
        let ty = if variant.is_aggregated() { TypeRef::Implied } else { type_ref(lexer)? };
        let transport = if !lexer.at_end() && lexer.keyword("v2") {
            ApiVersion::V2
        } else {
            lexer.keyword("v3");
            ApiVersion::V3
        };
        let mut stream = ScriptStream { number, variant, ty, transport, profile: None, method: None };
        while !lexer.at_end() {
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
                    "a type with a published {} method in API {}, or `method=PATH`",
                    variant.word(),
                    transport.word()
                ),
            ));
        }
        self.streams.insert(number, (stream.clone(), StreamLife::Open));
        self.last_opened = Some(number);
        self.time.open(at);
        Ok(Statement::Stream { at, stream })
    }
}

/// Parses `node ID [cluster=C] [locality=R/Z/S] [agent=A] [feature=F]… [meta={…}]`.
fn node(lexer: &mut Lexer<'_>) -> Result<ScriptNode> {
    lexer.at_end();
    let mut node = ScriptNode { id: lexer.word("the node's id")?.text, ..ScriptNode::default() };
    while !lexer.at_end() {
        let mark = lexer.mark();
        match (lexer.bare(), lexer.eat("=")) {
            ("cluster", true) => node.cluster = lexer.value()?,
            ("locality", true) => {
                let mark = lexer.mark();
                let Some(locality) = locality(&lexer.value()?) else {
                    return Err(
                        lexer.error_at(mark, "a locality of at most three parts: `REGION/ZONE/SUB_ZONE`")
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

/// Parses `[>|<] [messages=N] [bytes=N] [cause=WORD]` after `gap`.
fn gap(lexer: &mut Lexer<'_>) -> Result<ScriptGap> {
    let mut gap = ScriptGap::default();
    lexer.at_end();
    if lexer.eat(">") {
        gap.dir = Some(Dir::Req);
    } else if lexer.eat("<") {
        gap.dir = Some(Dir::Resp);
    }
    while !lexer.at_end() {
        let mark = lexer.mark();
        match (lexer.bare(), lexer.eat("=")) {
            ("messages", true) => gap.messages = lexer.number("a number of messages")?,
            ("bytes", true) => gap.bytes = lexer.number("a number of bytes")?,
            ("cause", true) => {
                let mark = lexer.mark();
                let word = lexer.bare();
                let cause = GapCause::ALL.into_iter().find(|cause| cause.word() == word);
                gap.cause = cause.ok_or_else(|| {
                    let words = GapCause::ALL.map(GapCause::word).join("`, `");
                    lexer.error_at(mark, format!("`{words}`"))
                })?;
            }
            _ => return Err(lexer.error_at(mark, "`messages=`, `bytes=`, `cause=` or nothing more")),
        }
    }
    Ok(gap)
}

/// Parses `close [status=N ["TEXT"]]` or `reset client|server`.
fn ending(lexer: &mut Lexer<'_>) -> Result<StreamEnd> {
    if lexer.keyword("reset") {
        lexer.at_end();
        for side in [Side::Client, Side::Server] {
            if lexer.keyword(side.word()) {
                return Ok(StreamEnd::Reset(side));
            }
        }
        return Err(lexer.error("`client` or `server`"));
    }
    lexer.keyword("close");
    if lexer.at_end() {
        return Ok(StreamEnd::Close);
    }
    lexer.expect("status=")?;
    let mark = lexer.mark();
    let Some(code) = Code::parse(lexer.bare()) else {
        return Err(lexer.error_at(mark, "a gRPC status code, as a number or a name"));
    };
    let text = if lexer.at_end() {
        String::new()
    } else {
        lexer.word("a status message or the end of the line")?.text
    };
    Ok(StreamEnd::Status(code.0, text))
}
