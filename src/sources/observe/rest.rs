//! REST polls as they pass the tap (group D): each exchange is a request and an answer on the poll track of its client.
//!
//! A client may use a connection for each poll, so a track is told by the client's address and node and the path, and by
//! what is asked for, not by the connection. It has no end that could be seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;
use crate::wire::content::Catalog;
use crate::wire::event::{ApiVersion, Dir, Method, StreamId, Time, Variant};
use crate::wire::http1::{self, Event, Head};
use crate::wire::{Assembler, Frame, Open, Shape};
use pollers::Pollers;

/// Tracks that are told apart; beyond it new ones are counted with the connection.
const TRACKS: usize = 1 << 16;

/// The polls of one connection.
#[derive(Default)]
pub(crate) struct Polls {
    pub(crate) connection: http1::Connection,
    /// The tracks of those without an answer.
    waiting: BTreeMap<u64, (StreamId, Method)>,
}

/// The bodies of polls and their answers, as messages and back.
pub struct Bodies {
    schema: Arc<Schema>,
}

/// All tracks.
pub(crate) struct Rest {
    bodies: Bodies,
    /// By host, node and path.
    tracks: HashMap<(String, String, String), Pollers>,
    /// How many tracks there are.
    many: usize,
}

/// Where frames go.
pub(crate) struct Sink<'a> {
    pub(crate) at: Time,
    pub(crate) assembler: &'a mut Assembler,
    pub(crate) catalog: &'a mut Catalog,
    pub(crate) out: &'a mut Vec<Frame>,
}

/// What a body turned out to be.
pub(crate) enum Read {
    /// The bytes of its message; where it is none, the body itself.
    Bytes(Vec<u8>),
    /// It can't be read here: a coding, or a type without descriptors.
    Lost(u64),
}

impl Rest {
    pub(crate) fn new(schema: Arc<Schema>) -> Rest {
        Rest { bodies: Bodies::new(schema), tracks: HashMap::new(), many: 0 }
    }

    /// Follows one event of a connection. `open` makes the facts of a new track.
    pub(crate) fn event(
        &mut self,
        polls: &mut Polls,
        event: Event,
        open: &dyn Fn(String, Vec<(String, String)>) -> Open,
        to: &mut Sink<'_>,
    ) {
        match event {
            Event::Request { number, head, body } => {
                let method = Method::of_path(head.path()).filter(|method| method.variant == Variant::Rest);
                let Some(method) = method.filter(|_| head.method() == "POST") else { return };
                let Some(id) = self.track(&head, &body, open, to) else { return };
                polls.waiting.insert(number, (id, method.clone()));
                let read = self.bodies.read(head.field("content-encoding"), &body, &method, Dir::Req);
                to.put(id, Dir::Req, read);
            }
            Event::Response { number, head, body } => {
                let Some((id, method)) = polls.waiting.remove(&number) else { return };
                if head.status() == Some(200) {
                    let read = self.bodies.read(head.field("content-encoding"), &body, &method, Dir::Resp);
                    to.put(id, Dir::Resp, read);
                } else {
                    to.assembler.passed(to.at, id, Dir::Resp, body.len() as u64, to.out);
                }
            }
            Event::Unanswered { number } => {
                if let Some((id, _)) = polls.waiting.remove(&number) {
                    to.assembler.passed(to.at, id, Dir::Resp, 0, to.out);
                }
            }
            Event::Opaque { .. } => {}
        }
    }

    /// The track of a poll; a new one with its first.
    fn track(
        &mut self,
        head: &Head,
        body: &[u8],
        open: &dyn Fn(String, Vec<(String, String)>) -> Open,
        to: &mut Sink<'_>,
    ) -> Option<StreamId> {
        let json = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let node =
            json.get("node").and_then(|node| node.get("id")).and_then(Value::as_str).unwrap_or_default();
        let mut facts = open(head.path().to_owned(), head.fields.clone());
        let peer = facts.peer.clone().unwrap_or_default();
        let host = peer.rsplit_once(':').map_or(peer.as_str(), |(host, _)| host).to_owned();
        let key = (host, node.to_owned(), head.path().to_owned());
        if let Some(id) = self.tracks.get_mut(&key).and_then(|pollers| pollers.of(&json)) {
            return Some(id);
        }
        if self.many >= TRACKS {
            return None;
        }
        self.many += 1;
        if has_proto_names(&json) {
            facts.metadata.push((Open::JSON_NAMES.to_owned(), "proto".to_owned()));
        }
        let id = to.assembler.open(to.at, facts, to.out);
        self.tracks.entry(key).or_default().add(id, &json);
        Some(id)
    }
}

impl Bodies {
    pub fn new(schema: Arc<Schema>) -> Bodies {
        Bodies { schema }
    }

    /// The JSON of a message; row D-04 wants JSON names.
    pub fn write(
        &self,
        message: &[u8],
        method: &Method,
        dir: Dir,
        names: crate::schema::FieldNames,
    ) -> Vec<u8> {
        self.schema.tree(&message_of(method, dir), message, names).to_string().into_bytes()
    }

    /// The message in a body that came in this coding.
    pub(crate) fn read(&self, coding: Option<&str>, body: &[u8], method: &Method, dir: Dir) -> Read {
        if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
            return Read::Lost(body.len() as u64);
        }
        let as_it_is = || match body {
            // Nothing is no empty message.
            [] => Read::Bytes(b"\n".to_vec()),
            body => Read::Bytes(body.to_vec()),
        };
        let Ok(json) = serde_json::from_slice::<Value>(body) else { return as_it_is() };
        match self.schema.encode(&message_of(method, dir), &json) {
            Ok(bytes) => Read::Bytes(bytes),
            Err(_) if self.has_unknown_type(&json, 0) => Read::Lost(body.len() as u64),
            Err(_) => as_it_is(),
        }
    }

    /// Whether an `Any` in it is of a type that the descriptors do not have.
    fn has_unknown_type(&self, json: &Value, depth: usize) -> bool {
        match json {
            _ if depth > 100 => false,
            Value::Array(items) => items.iter().any(|item| self.has_unknown_type(item, depth + 1)),
            Value::Object(map) => {
                let url = map.get("@type").and_then(Value::as_str);
                url.is_some_and(|url| self.schema.message(url).is_none())
                    || map.values().any(|value| self.has_unknown_type(value, depth + 1))
            }
            _ => false,
        }
    }
}

fn message_of(method: &Method, dir: Dir) -> String {
    let package =
        if method.transport == ApiVersion::V2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
    format!("{package}.{}", Shape::of(method, dir).message())
}

/// Whether its own fields, or those of its node, have the names of the .proto files (row D-04).
fn has_proto_names(json: &Value) -> bool {
    let proto = |value: &Value| value.as_object().is_some_and(|map| map.keys().any(|key| key.contains('_')));
    proto(json) || json.get("node").is_some_and(proto)
}

impl Sink<'_> {
    pub(crate) fn put(&mut self, id: StreamId, dir: Dir, read: Read) {
        match read {
            Read::Bytes(bytes) => {
                self.assembler.data(id, dir, &bytes, self.catalog);
                self.assembler.message(self.at, id, dir, self.catalog, self.out);
            }
            Read::Lost(bytes) => self.assembler.gap(self.at, id, 1, bytes, self.out),
        }
    }
}

mod pollers;
#[cfg(test)]
mod tests;
