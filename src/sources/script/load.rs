use std::collections::{BTreeMap, BTreeSet};

use super::ast::*;
use super::codec::Codec;
use super::encode;
use super::error::EncodeError;
use super::timeline::Timeline;
use crate::record::Loaded;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Code, Dir, Side, StreamId, Time, Variant};
use xdscope_wire::http1::end_of_status;
use xdscope_wire::{End, Frame, FramePayload, MAX_COUNT, Message, MessageShape, Open};

/// A well-formed line that can't be encoded, such as content without a descriptor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {error}")]
pub struct LoadError {
    /// The name of the file.
    pub file: String,
    /// The line number in the file, from 1.
    pub line: u32,
    /// The reason.
    pub error: EncodeError,
}

/// The effect of a line: the time after it, and its frame, if any.
pub(super) struct ScriptStep {
    pub at: Time,
    pub frame: Option<Frame>,
}

/// The endpoint of streams without a `server` line above.
const DEFAULT_SERVER: &str = "cp";

/// HTTP/2 CANCEL, the code of every reset in a script.
const RESET_CODE: u32 = 8;

/// Converts a script to frames. The clock stops at the last line. Nothing is redacted.
///
/// # Errors
///
/// A line can't be encoded.
pub fn load(script: &Script, codec: &dyn Codec) -> Result<Loaded, LoadError> {
    load_into(script, codec, Catalog::in_memory())
}

/// Converts a script to frames whose content goes into an empty catalog, with its redaction.
///
/// # Errors
///
/// A line can't be encoded.
pub fn load_into(script: &Script, codec: &dyn Codec, mut catalog: Catalog) -> Result<Loaded, LoadError> {
    let steps = steps(script, codec, &mut catalog)?;
    Ok(Loaded {
        catalog,
        clock: clock(script),
        end: steps.last().map_or(Time::ZERO, |step| step.at),
        frames: steps.into_iter().filter_map(|step| step.frame).collect(),
        notices: Vec::new(),
        secrets: false,
    })
}

pub(super) fn clock(script: &Script) -> Clock {
    Clock {
        epoch: None,
        untimed: script.lines.first().is_some_and(|line| line.statement == Statement::NoTime),
    }
}

/// Returns one step per line.
pub(super) fn steps(
    script: &Script,
    codec: &dyn Codec,
    catalog: &mut Catalog,
) -> Result<Vec<ScriptStep>, LoadError> {
    let mut loader = Loader::new(script, codec, catalog);
    script
        .lines
        .iter()
        .map(|line| {
            let frame = loader.line(&line.statement).map_err(|error| LoadError {
                file: script.file.clone(),
                line: line.number,
                error,
            })?;
            Ok(ScriptStep { at: loader.time.now(), frame })
        })
        .collect()
}

struct Loader<'a> {
    codec: &'a dyn Codec,
    catalog: &'a mut Catalog,
    time: Timeline,
    node: Option<ScriptNode>,
    server: String,
    streams: BTreeMap<u32, OpenStream>,
    last_opened: u32,
    /// Streams that began before the script.
    partial: BTreeSet<u32>,
    /// Streams with messages.
    with_messages: BTreeSet<u32>,
}

/// An open stream.
struct OpenStream {
    stream: ScriptStream,
    /// The client when the stream was opened.
    node: Option<ScriptNode>,
    /// Whether the next request carries the node.
    sends_node: bool,
}

impl<'a> Loader<'a> {
    fn new(script: &Script, codec: &'a dyn Codec, catalog: &'a mut Catalog) -> Self {
        let (mut partial, mut with_messages) = (BTreeSet::new(), BTreeSet::new());
        let mut last = 0;
        for line in &script.lines {
            match &line.statement {
                Statement::Partial(number) => {
                    partial.insert(*number);
                }
                Statement::Stream { stream, .. } => last = stream.number,
                Statement::Message { stream, .. } => {
                    with_messages.insert(stream.unwrap_or(last));
                }
                _ => {}
            }
        }
        let time = Timeline::new(clock(script).untimed);
        let (node, server, streams) = (None, DEFAULT_SERVER.into(), BTreeMap::new());
        Loader { codec, catalog, time, node, server, streams, last_opened: 0, partial, with_messages }
    }

    /// Returns the frame of a statement, if it has one.
    fn line(&mut self, item: &Statement) -> Result<Option<Frame>, EncodeError> {
        match item {
            Statement::NoTime | Statement::Partial(_) | Statement::Expect(_) | Statement::Fault(_) => {}
            Statement::Node(node) => self.node = Some(node.clone()),
            Statement::Server(name) => self.server.clone_from(name),
            Statement::Advance(by) => {
                self.time.advance(*by);
            }
            Statement::Stream { at, stream } => {
                self.time.open(*at);
                return self.open(stream).map(Some);
            }
            Statement::Message { at, stream, body } => {
                self.time.step(*at);
                let number = stream.unwrap_or(self.last_opened);
                if let Some((status, text)) = body.refused_with() {
                    let end = self.catalog.clean_end(end_of_status(status, text.as_bytes()));
                    return Ok(Some(self.frame(number, FramePayload::End(Box::new(end)))));
                }
                let what = match self.message(number, body)? {
                    Some(message) => FramePayload::Message(message.into()),
                    // "Not modified" carries no message, so the previous response remains in force.
                    None => FramePayload::Opaque { dir: Dir::Resp, messages: 0, bytes: 0 },
                };
                return Ok(Some(self.frame(number, what)));
            }
            Statement::Gap { at, stream, gap } => {
                self.time.step(*at);
                let ScriptGap { dir, cause, .. } = *gap;
                let [messages, bytes] = [gap.messages, gap.bytes].map(|count| count.min(MAX_COUNT));
                let what = FramePayload::Gap { dir, messages, bytes, cause };
                return Ok(Some(self.frame(stream.unwrap_or(self.last_opened), what)));
            }
            Statement::End { at, stream, end } => {
                self.time.step(*at);
                let end = match end {
                    StreamEnd::Close => End { by: Some(Side::Client), ..End::default() },
                    StreamEnd::Status(code, text) => End {
                        by: Some(Side::Server),
                        status: Some((Code(*code), self.catalog.clean_text(text.clone()))),
                        ..End::default()
                    },
                    StreamEnd::Reset(side) => {
                        End { by: Some(*side), reset: Some(RESET_CODE), ..End::default() }
                    }
                };
                return Ok(Some(
                    self.frame(stream.unwrap_or(self.last_opened), FramePayload::End(Box::new(end))),
                ));
            }
        }
        Ok(None)
    }

    fn frame(&self, number: u32, what: FramePayload) -> Frame {
        Frame { at: self.time.now(), stream: StreamId(number), what }
    }

    /// Returns the frame that opens a stream.
    fn open(&mut self, stream: &ScriptStream) -> Result<Frame, EncodeError> {
        let number = stream.number;
        let partial = self.partial.contains(&number);
        // Streams without messages (refused connections) and streams that began before the script
        // never send their node.
        let hint = partial || !self.with_messages.contains(&number);
        let open = Open {
            method: stream.method.clone().or_else(|| stream.path()).ok_or(EncodeError::NoMethod)?,
            server: Some(self.server.clone()),
            node_hint: if hint { self.node.as_ref().map(ScriptNode::encode) } else { None },
            partial,
            profile: stream.profile,
            ..Open::default()
        };
        let live = OpenStream { stream: stream.clone(), node: self.node.clone(), sends_node: !partial };
        self.streams.insert(number, live);
        self.last_opened = number;
        Ok(self.frame(number, FramePayload::Open(self.catalog.clean_open(open).into())))
    }

    /// Encodes a message of the script, and reads it like one of the wire.
    fn message(&mut self, number: u32, body: &MessageBody) -> Result<Option<Message>, EncodeError> {
        let live = self.streams.get_mut(&number).ok_or(EncodeError::UnknownStream(number))?;
        let delta = live.stream.variant.is_delta();
        let (dir, bytes) = match body {
            MessageBody::Raw(dir, bytes) => (*dir, bytes.clone()),
            MessageBody::Request(request) => {
                let node = live.node(&request.node)?;
                (Dir::Req, encode::request(&live.stream, request, node.as_deref()))
            }
            MessageBody::Response(response) => {
                (Dir::Resp, encode::response(self.codec, &live.stream, response)?)
            }
        };
        if dir == Dir::Req {
            live.sends_node = live.stream.variant == Variant::Rest;
        }
        if matches!(body, MessageBody::Response(ScriptResponse { http: Some(304), .. })) {
            return Ok(None);
        }
        Ok(Some(Message::parse(MessageShape::new(delta, dir), &bytes, self.catalog)))
    }
}

impl OpenStream {
    /// Returns the encoded node that a request carries.
    fn node(&self, choice: &NodeUse) -> Result<Option<Vec<u8>>, EncodeError> {
        match (choice, &self.node) {
            (NodeUse::Without, _) => Ok(None),
            (NodeUse::Usual, _) if !self.sends_node => Ok(None),
            (NodeUse::Usual, node) => Ok(node.as_ref().map(ScriptNode::encode)),
            (NodeUse::Sent, Some(node)) => Ok(Some(node.encode())),
            (NodeUse::Changed(fields), Some(node)) => Ok(Some(node.with(fields)?.encode())),
            (NodeUse::Sent | NodeUse::Changed(_), None) => Err(EncodeError::NoNode),
        }
    }
}
