//! REST polls: their bodies, and the polls that wait for an answer.
//!
//! In the store a polled lane is one stream over all connections until a poll fails, as it is
//! behind a tap.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::ClientWorker;
use crate::net::client::Answer;
use xdscope_schema::{FieldNames, Schema};
use xdscope_sources::observe::rest::{PollOutput, RestCodec};
use xdscope_sources::peers::client::Lane;
use xdscope_wire::event::{Dir, Method, Time, Variant};
use xdscope_wire::{End, FramePayload};

pub(in crate::app::client) struct Polls {
    bodies: RestCodec,
    names: FieldNames,
    lanes: BTreeMap<Lane, Polled>,
}

struct Polled {
    method: Method,
    asked: bool,
}

impl Polls {
    pub(in crate::app::client) fn new(schema: Arc<Schema>, names: FieldNames) -> Polls {
        Polls { bodies: RestCodec::new(schema), names, lanes: BTreeMap::new() }
    }

    /// Prepares a lane that is about to be opened. Returns whether the lane is polled.
    pub(super) fn begin(&mut self, lane: Lane, path: &str) -> bool {
        let method = Method::of_path(path).filter(|method| method.variant == Variant::Rest);
        let Some(method) = method else { return false };
        self.lanes.entry(lane).or_insert(Polled { method, asked: false });
        true
    }

    pub(super) fn are_on(&self, lane: Lane) -> bool {
        self.lanes.contains_key(&lane)
    }

    /// Returns whether a poll waits for an answer.
    pub(super) fn are_asked(&self, lane: Lane) -> bool {
        self.lanes.get(&lane).is_some_and(|polled| polled.asked)
    }

    /// Notes that no poll waits for an answer. Returns whether one did.
    pub(super) fn forget(&mut self, lane: Lane) -> bool {
        self.lanes.get_mut(&lane).is_some_and(|polled| std::mem::replace(&mut polled.asked, false))
    }

    /// Returns the body of a poll that is about to be sent.
    pub(super) fn body(&mut self, lane: Lane, message: &[u8]) -> Option<Bytes> {
        let polled = self.lanes.get_mut(&lane)?;
        polled.asked = true;
        Some(self.bodies.write(message, &polled.method, Dir::Req, self.names).into())
    }
}

impl ClientWorker {
    /// Handles the answer to a poll.
    pub(super) fn polled(&mut self, now: Time, lane: Lane, answer: Answer) {
        let (coding, body) = match answer {
            Answer::Unchanged => {
                self.polls.forget(lane);
                if let Some(id) = self.open.get(&lane.0) {
                    self.assembler.passed(now, *id, Dir::Resp, 0, &mut self.out);
                    self.flush();
                }
                return self.client.handle_unchanged(now, lane);
            }
            Answer::Body { coding, bytes } => (coding, bytes),
        };
        let (Some(polled), Some(id)) = (self.polls.lanes.get_mut(&lane), self.open.get(&lane.0).copied())
        else {
            return;
        };
        polled.asked = false;
        let read = self.polls.bodies.read(coding.as_deref(), &body, &polled.method, Dir::Resp);
        let (before, catalog) = (self.out.len(), &mut self.frames.catalog);
        PollOutput { at: now, assembler: &mut self.assembler, catalog, out: &mut self.out }.put(
            id,
            Dir::Resp,
            read,
        );
        let message = self.out.iter().skip(before).find_map(|frame| match &frame.what {
            FramePayload::Message(message) => Some(message.clone()),
            _ => None,
        });
        self.flush();
        match message {
            Some(message) => {
                let ruling = self.ruling(&message);
                self.client.handle_response(now, lane, message, ruling, &mut self.frames.catalog);
            }
            // The coding or type is unknown, so there is nothing to accept or reject.
            None => self.client.handle_unchanged(now, lane),
        }
    }
}

/// Describes how a stream ended or a poll failed, with the server's own message.
pub(super) fn end_text(end: &End, poll: bool) -> String {
    let mut out = match (&end.status, &end.note) {
        (Some((_, text)), _) if poll => return format!("the poll failed: {text}"),
        (None, Some(note)) if poll => return format!("the poll failed: {note}"),
        (Some((code, text)), _) if text.is_empty() => format!("the server ended the stream: {code}"),
        (Some((code, text)), _) => format!("the server ended the stream: {code}: {text}"),
        (None, Some(note)) => return format!("the stream broke: {note}"),
        (None, None) => "the stream ended".into(),
    };
    if let Some(note) = &end.note {
        out.push_str(&format!("; {note}"));
    }
    out
}
