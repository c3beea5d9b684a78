use std::collections::{BTreeMap, BTreeSet};

use super::ast::*;
use super::timeline::Timeline;
use super::{Codec, encode};
use crate::sources::record::Loaded;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Code, Dir, Side, StreamId, Time, Variant};
use crate::wire::{End, Frame, FramePayload, Message, Open, Shape};

/// A line that is well formed and still stands for no message: content that no descriptor knows, for example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct LoadError {
    pub file: String,
    pub line: u32,
    pub message: String,
}

/// What a line does: the clock after it, and its frame if it has one.
pub(super) struct Step {
    pub at: Time,
    pub frame: Option<Frame>,
}

/// The endpoint of streams above any `server` line.
const SERVER: &str = "cp";

/// HTTP/2 CANCEL: what a reset is, as a script gives no code.
const CANCEL: u32 = 8;

/// The script as any other source: frames in order, with the clock stopping at the last line. Nothing is redacted.
pub fn load(script: &Script, codec: &dyn Codec) -> Result<Loaded, LoadError> {
    load_into(script, codec, Catalog::in_memory())
}

/// The same with the content in an empty catalog of the caller's, redacted as that does it.
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
    Clock { epoch: None, untimed: script.lines.first().is_some_and(|line| line.item == Item::NoTime) }
}

/// One step for each line.
pub(super) fn steps(
    script: &Script,
    codec: &dyn Codec,
    catalog: &mut Catalog,
) -> Result<Vec<Step>, LoadError> {
    let mut loader = Loader::new(script, codec, catalog);
    script
        .lines
        .iter()
        .map(|line| {
            let frame = loader.line(&line.item).map_err(|message| LoadError {
                file: script.file.clone(),
                line: line.number,
                message,
            })?;
            Ok(Step { at: loader.time.now(), frame })
        })
        .collect()
}

struct Loader<'a> {
    codec: &'a dyn Codec,
    catalog: &'a mut Catalog,
    time: Timeline,
    node: Option<Node>,
    server: String,
    streams: BTreeMap<u32, Live>,
    last: u32,
    /// Streams that began before the script.
    partial: BTreeSet<u32>,
    /// Streams on which something is said.
    speaking: BTreeSet<u32>,
}

/// A stream that was opened.
struct Live {
    stream: Stream,
    /// The client at the time of opening.
    node: Option<Node>,
    /// The next request is the one that carries the node.
    first: bool,
}

impl<'a> Loader<'a> {
    fn new(script: &Script, codec: &'a dyn Codec, catalog: &'a mut Catalog) -> Self {
        let (mut partial, mut speaking) = (BTreeSet::new(), BTreeSet::new());
        let mut last = 0;
        for line in &script.lines {
            match &line.item {
                Item::Partial(number) => {
                    partial.insert(*number);
                }
                Item::Stream { stream, .. } => last = stream.number,
                Item::Message { stream, .. } => {
                    speaking.insert(stream.unwrap_or(last));
                }
                _ => {}
            }
        }
        let time = Timeline::new(clock(script).untimed);
        let (node, server, streams) = (None, SERVER.into(), BTreeMap::new());
        Loader { codec, catalog, time, node, server, streams, last: 0, partial, speaking }
    }

    fn line(&mut self, item: &Item) -> Result<Option<Frame>, String> {
        match item {
            Item::NoTime | Item::Partial(_) | Item::Expect(_) => {}
            Item::Node(node) => self.node = Some(node.clone()),
            Item::Server(name) => self.server.clone_from(name),
            Item::Advance(by) => {
                self.time.advance(*by);
            }
            Item::Stream { at, stream } => {
                self.time.open(*at);
                return self.open(stream).map(Some);
            }
            Item::Message { at, stream, body } => {
                self.time.step(*at);
                let number = stream.unwrap_or(self.last);
                let what = match self.message(number, body)? {
                    Some(message) => FramePayload::Message(message.into()),
                    // "Not modified" carries no message: the answer is what was there before.
                    None => FramePayload::Opaque { dir: Dir::Resp, messages: 0, bytes: 0 },
                };
                return Ok(Some(self.frame(number, what)));
            }
            Item::End { at, stream, end } => {
                self.time.step(*at);
                let end = match end {
                    Ending::Close => End { by: Some(Side::Client), ..End::default() },
                    Ending::Status(code, text) => End {
                        by: Some(Side::Server),
                        status: Some((Code(*code), self.catalog.clean_text(text.clone()))),
                        ..End::default()
                    },
                    Ending::Reset(side) => End { by: Some(*side), reset: Some(CANCEL), ..End::default() },
                };
                return Ok(Some(self.frame(stream.unwrap_or(self.last), FramePayload::End(Box::new(end)))));
            }
        }
        Ok(None)
    }

    fn frame(&self, number: u32, what: FramePayload) -> Frame {
        Frame { at: self.time.now(), stream: StreamId(number), what }
    }

    fn open(&mut self, stream: &Stream) -> Result<Frame, String> {
        let number = stream.number;
        let partial = self.partial.contains(&number);
        // On a stream that nothing is said on (a refused connection), and on one that began before the script,
        // the node is known from elsewhere.
        let hint = partial || !self.speaking.contains(&number);
        let open = Open {
            method: stream.method.clone().or_else(|| stream.path()).ok_or("the stream has no method")?,
            server: Some(self.server.clone()),
            node_hint: self.node.as_ref().filter(|_| hint).map(Node::encode),
            partial,
            profile: stream.profile,
            ..Open::default()
        };
        let live = Live { stream: stream.clone(), node: self.node.clone(), first: !partial };
        self.streams.insert(number, live);
        self.last = number;
        Ok(self.frame(number, FramePayload::Open(open.into())))
    }

    fn message(&mut self, number: u32, body: &Body) -> Result<Option<Message>, String> {
        let live = self.streams.get_mut(&number).ok_or_else(|| format!("there is no stream {number}"))?;
        let delta = live.stream.variant.is_delta();
        let (dir, bytes) = match body {
            Body::Raw(dir, bytes) => (*dir, bytes.clone()),
            Body::Request(request) => {
                let node = live.node(&request.node)?;
                (Dir::Req, encode::request(&live.stream, request, node.as_deref()))
            }
            Body::Response(response) => (Dir::Resp, encode::response(self.codec, &live.stream, response)?),
        };
        if dir == Dir::Req {
            live.first = live.stream.variant == Variant::Rest;
        }
        if matches!(body, Body::Response(Response { http: Some(304), .. })) {
            return Ok(None);
        }
        let shape = match (delta, dir) {
            (false, Dir::Req) => Shape::SotwRequest,
            (false, Dir::Resp) => Shape::SotwResponse,
            (true, Dir::Req) => Shape::DeltaRequest,
            (true, Dir::Resp) => Shape::DeltaResponse,
        };
        Ok(Some(Message::parse(shape, &bytes, self.catalog)))
    }
}

impl Live {
    /// The node that a request carries.
    fn node(&self, choice: &NodeUse) -> Result<Option<Vec<u8>>, String> {
        let none = || Err("there is no `node` line above the stream".to_owned());
        match (choice, &self.node) {
            (NodeUse::Without, _) => Ok(None),
            (NodeUse::Usual, node) => Ok(node.as_ref().filter(|_| self.first).map(Node::encode)),
            (NodeUse::Sent, Some(node)) => Ok(Some(node.encode())),
            (NodeUse::Changed(fields), Some(node)) => Ok(Some(node.with(fields)?.encode())),
            (NodeUse::Sent | NodeUse::Changed(_), None) => none(),
        }
    }
}
