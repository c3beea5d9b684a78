//! REST polls: each exchange is a request and a response on the poll track of its client.
//!
//! A client may use a new connection for every poll, so a track is identified by the client's
//! address, its node, the path and the requested names, not by the connection. A response with
//! another status than 200 and 304 ends the track; the next poll of the client begins another one.
//!
//! A request on a path of an unknown name is a poll if it states its type. Other requests to such a
//! path, and their responses, are counted.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde_json::Value;

use pollers::Pollers;
use xdscope_schema::{Schema, exceeds, read_json};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Dir, Method, StreamId, Time, Variant};
use xdscope_wire::http1::{self, Event, Head, end_of_status};
use xdscope_wire::{Assembler, Frame, Gap, GapCause, MessageShape, Open};

/// Most tracks. Beyond that, new polls are counted on their connections.
const MAX_TRACKS: usize = 1 << 16;

/// Most memory of the tree of a body, in bytes, by estimate.
pub const MAX_TREE_BYTES: usize = 64 << 20;

/// The polls of one HTTP/1.1 connection.
#[derive(Default)]
pub(crate) struct PollConnection {
    pub(crate) connection: http1::ConnectionObserver,
    /// Requests without a response, by exchange number.
    unanswered: BTreeMap<u64, PollExchange>,
}

/// A request and its response.
struct PollExchange {
    /// The track of the poll, or the stream that counts exchanges of other protocols.
    track: StreamId,
    /// The method of a poll; `None` if the exchange is only counted.
    method: Option<Method>,
}

/// Converts the JSON bodies of REST polls from and to protobuf messages.
pub struct RestCodec {
    schema: Arc<Schema>,
}

/// The poll tracks of all connections.
pub(crate) struct RestTracks {
    bodies: RestCodec,
    /// Tracks by client host, node and path, which are long in hostile requests and thus hashed.
    tracks: HashMap<u64, Pollers>,
    keys: RandomState,
    /// The number of tracks.
    track_count: usize,
}

/// The destination of frames, with the time of the event that causes them.
pub struct PollOutput<'a> {
    /// The time of the event.
    pub at: Time,
    /// The messages that are not complete.
    pub assembler: &'a mut Assembler,
    /// The catalog that stores their content.
    pub catalog: &'a mut Catalog,
    /// The frames so far.
    pub out: &'a mut Vec<Frame>,
}

/// The result of decoding a body.
pub enum DecodedBody {
    /// The bytes of the message, or the body itself if it does not decode.
    Bytes(Vec<u8>),
    /// The size of a body that can't be decoded: its coding, or one of its types, is not supported.
    Unsupported(u64),
    /// The size of a body whose values would need too much memory.
    TooLarge(u64),
}

impl RestTracks {
    pub(crate) fn new(schema: Arc<Schema>) -> RestTracks {
        RestTracks {
            bodies: RestCodec::new(schema),
            tracks: HashMap::new(),
            keys: RandomState::new(),
            track_count: 0,
        }
    }

    /// Handles one event of a connection. `open` describes a new track.
    pub(crate) fn event(
        &mut self,
        polls: &mut PollConnection,
        event: Event,
        open: &dyn Fn(String, Vec<(String, String)>) -> Open,
        to: &mut PollOutput<'_>,
    ) {
        match event {
            Event::Request { number, head, body } => {
                let method = Method::of_path(head.path()).filter(|method| method.variant == Variant::Rest);
                let Some(method) = method.filter(|_| head.method() == "POST") else { return };
                let json = read_body(&body).unwrap_or_default();
                let method = Some(method).filter(|method| method.kind.is_some() || states_type(&json));
                let Some(track) = self.track(&head, &json, method.is_some(), open, to) else { return };
                match &method {
                    Some(method) => {
                        let coding = head.field("content-encoding");
                        to.put(track, Dir::Req, self.bodies.read(coding, &body, method, Dir::Req));
                    }
                    None => to.count(track, Dir::Req, &body),
                }
                polls.unanswered.insert(number, PollExchange { track, method });
            }
            Event::Response { number, head, body } => {
                let Some(PollExchange { track, method }) = polls.unanswered.remove(&number) else { return };
                let Some(method) = method else { return to.count(track, Dir::Resp, &body) };
                match head.status().unwrap_or_default() {
                    200 => {
                        let coding = head.field("content-encoding");
                        to.put(track, Dir::Resp, self.bodies.read(coding, &body, &method, Dir::Resp));
                    }
                    304 => to.assembler.passed(to.at, track, Dir::Resp, body.len() as u64, to.out),
                    status => {
                        let end = to.catalog.clean_end(end_of_status(status, &body));
                        to.assembler.end(to.at, track, end, to.out);
                    }
                }
            }
            Event::Unanswered { number } => {
                let exchange = polls.unanswered.remove(&number).filter(|exchange| exchange.method.is_some());
                if let Some(exchange) = exchange {
                    to.assembler.passed(to.at, exchange.track, Dir::Req, 0, to.out);
                }
            }
            Event::Opaque { .. } => {}
        }
    }

    /// Returns the track of a request, opening one if it is the first of its poller.
    ///
    /// Exchanges that are no polls have a stream of their own, under the HTTP method and the path.
    fn track(
        &mut self,
        head: &Head,
        json: &Value,
        is_poll: bool,
        open: &dyn Fn(String, Vec<(String, String)>) -> Open,
        to: &mut PollOutput<'_>,
    ) -> Option<StreamId> {
        let node =
            json.get("node").and_then(|node| node.get("id")).and_then(Value::as_str).unwrap_or_default();
        let mut facts = open(head.path().to_owned(), head.fields.clone());
        if !is_poll {
            facts.method = format!("{} {}", head.method(), facts.method);
        }
        let peer = facts.peer.clone().unwrap_or_default();
        let host = peer.rsplit_once(':').map_or(peer.as_str(), |(host, _)| host).to_owned();
        let key = self.keys.hash_one((host, node, head.path(), is_poll));
        let known = self.tracks.get_mut(&key).and_then(|pollers| pollers.find(json, &self.keys));
        if let Some(known) = &known
            && to.assembler.is_open(**known)
        {
            return Some(**known);
        }
        if known.is_none() {
            if self.track_count >= MAX_TRACKS {
                return None;
            }
            self.track_count += 1;
        }
        if is_poll && has_proto_names(json) {
            facts.metadata.push((Open::JSON_NAMES.to_owned(), "proto".to_owned()));
        }
        let id = to.assembler.open(to.at, facts, to.out);
        match known {
            Some(known) => *known = id,
            None => self.tracks.entry(key).or_default().add(id, json, &self.keys),
        }
        Some(id)
    }
}

impl RestCodec {
    /// Creates a codec over the descriptors of `schema`.
    pub fn new(schema: Arc<Schema>) -> RestCodec {
        RestCodec { schema }
    }

    /// Encodes a message as JSON, with JSON names or proto names as `names` says.
    pub fn write(
        &self,
        message: &[u8],
        method: &Method,
        dir: Dir,
        names: xdscope_schema::FieldNames,
    ) -> Vec<u8> {
        self.schema.tree(&message_of(method, dir), message, names).to_string().into_bytes()
    }

    /// Decodes the body of a poll; `None` if it is not a request in JSON.
    pub fn read_request(&self, body: &[u8], method: &Method) -> Option<Vec<u8>> {
        let json = read_body(body)?;
        self.schema.encode(&message_of(method, Dir::Req), &json).ok()
    }

    /// Encodes the response to a poll as canonical JSON.
    pub fn write_response(&self, message: &[u8], method: &Method) -> Vec<u8> {
        self.write(message, method, Dir::Resp, xdscope_schema::FieldNames::Json)
    }

    /// Decodes the body of a message. `coding` is its `content-encoding`.
    pub fn read(&self, coding: Option<&str>, body: &[u8], method: &Method, dir: Dir) -> DecodedBody {
        if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
            return DecodedBody::Unsupported(body.len() as u64);
        }
        let undecoded = || match body {
            // An empty body is not an empty message.
            [] => DecodedBody::Bytes(b"\n".to_vec()),
            body => DecodedBody::Bytes(body.to_vec()),
        };
        if exceeds(body, MAX_TREE_BYTES) {
            return DecodedBody::TooLarge(body.len() as u64);
        }
        let Some(json) = read_body(body) else { return undecoded() };
        match self.schema.encode(&message_of(method, dir), &json) {
            Ok(bytes) => DecodedBody::Bytes(bytes),
            Err(_) if self.has_unknown_type(&json, 0) => DecodedBody::Unsupported(body.len() as u64),
            Err(_) => undecoded(),
        }
    }

    /// Returns whether the JSON contains an `Any` of a type without a descriptor.
    fn has_unknown_type(&self, json: &Value, depth: usize) -> bool {
        match json {
            _ if depth > 100 => false,
            Value::Array(items) => items.iter().any(|item| self.has_unknown_type(item, depth + 1)),
            Value::Object(map) => {
                let url = map.get("@type").and_then(Value::as_str);
                url.is_some_and(|url| !self.schema.has_message(url))
                    || map.values().any(|value| self.has_unknown_type(value, depth + 1))
            }
            _ => false,
        }
    }
}

/// Parses a body; `None` if the body is not JSON or too large.
fn read_body(body: &[u8]) -> Option<Value> {
    if exceeds(body, MAX_TREE_BYTES) { None } else { read_json(body).ok() }
}

fn message_of(method: &Method, dir: Dir) -> String {
    let package =
        if method.transport == ApiVersion::V2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
    format!("{package}.{}", MessageShape::of(method, dir).message())
}

/// Whether the JSON of a message states the type of its resources.
pub(crate) fn states_type(json: &Value) -> bool {
    let stated = ["type_url", "typeUrl"].iter().find_map(|key| json.get(key)?.as_str());
    stated.is_some_and(|type_url| !type_url.is_empty())
}

/// Returns whether the JSON, or its node, uses the field names of the .proto files.
///
/// See `docs/protocol.md#d-04`.
fn has_proto_names(json: &Value) -> bool {
    let proto = |value: &Value| value.as_object().is_some_and(|map| map.keys().any(|key| key.contains('_')));
    proto(json) || json.get("node").is_some_and(proto)
}

impl PollOutput<'_> {
    /// Counts a body that is not of a poll.
    fn count(&mut self, id: StreamId, dir: Dir, body: &[u8]) {
        self.assembler.counted(self.at, id, dir, body.len() as u64, self.out);
    }

    /// Adds the frames of a body.
    pub fn put(&mut self, id: StreamId, dir: Dir, read: DecodedBody) {
        match read {
            DecodedBody::Bytes(bytes) => {
                self.assembler.data(id, dir, &bytes, self.catalog);
                self.assembler.message(self.at, id, dir, self.catalog, self.out);
            }
            DecodedBody::Unsupported(bytes) => self.unreadable(id, dir, bytes, GapCause::Encoding),
            DecodedBody::TooLarge(bytes) => self.unreadable(id, dir, bytes, GapCause::Size),
        }
    }

    fn unreadable(&mut self, id: StreamId, dir: Dir, bytes: u64, cause: GapCause) {
        let gap = Gap { dir: Some(dir), messages: 1, bytes, cause };
        self.assembler.gap(self.at, id, gap, self.out);
    }
}

mod pollers;
#[cfg(test)]
mod tests;
