//! Answers responses before their contents are decoded, where that is possible.
//!
//! Decoding a large response may take longer than receiving it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{AckPolicy, ClientWorker};
use crate::app::client::ANALYSIS_TIME;
use crate::net::client::RequestOutcome;
use xdscope_sources::peers::client;
use xdscope_sources::peers::client::{Effect, Lane, Preview, Ruling};
use xdscope_wire::Message;
use xdscope_wire::event::{Dir, StreamId, Time, is_asked_once};

/// A response that is being received, whose newest bytes are not decoded yet.
///
/// They are copied, because the receive buffer is reused and this thread can reuse its own pieces.
#[derive(Default)]
pub(in crate::app::client) struct Passing {
    preview: Preview,
    waiting: VecDeque<Vec<u8>>,
}

/// Bytes of one copied piece.
const PIECE_BYTES: usize = 256 << 10;

/// Pieces that may wait (24 MiB).
const MAX_QUEUED_PIECES: usize = 96;

impl Passing {
    /// Adds bytes of the response. Returns those that must be decoded now.
    pub(super) fn push(&mut self, bytes: Bytes) -> Vec<Bytes> {
        self.preview.push(&bytes);
        if self.preview.is_known_nontrivial() {
            return self.waiting.drain(..).map(Bytes::from).chain([bytes]).collect();
        }
        let mut rest = &bytes[..];
        if let Some(last) = self.waiting.back_mut() {
            let (fits, more) = rest.split_at(rest.len().min(PIECE_BYTES.saturating_sub(last.len())));
            last.extend_from_slice(fits);
            rest = more;
        }
        if !rest.is_empty() {
            let first = self.waiting.is_empty();
            let mut piece = if first { Vec::new() } else { Vec::with_capacity(PIECE_BYTES.max(rest.len())) };
            piece.extend_from_slice(rest);
            self.waiting.push_back(piece);
        }
        if self.waiting.len() > MAX_QUEUED_PIECES {
            return self.waiting.pop_front().map(Bytes::from).into_iter().collect();
        }
        Vec::new()
    }
}

/// A request that was handed to its stream.
pub(super) struct Transmitted {
    lane: Lane,
    id: StreamId,
    at: Time,
    bytes: Bytes,
    sent: RequestOutcome,
}

impl ClientWorker {
    /// Returns whether responses can be accepted or rejected before they are decoded.
    pub(super) fn may_preview(&self) -> bool {
        self.settings.ack_policy == AckPolicy::Auto
            && self.settings.refuse.is_empty()
            && self.refused_types.is_empty()
            && self.client.may_accept()
    }

    /// Decides on a response, whose frame is flushed if there are `--nack` filters.
    pub(super) fn ruling(&mut self, message: &Message) -> Ruling {
        let is_query = message.response().is_some_and(|response| is_asked_once(response.type_url));
        if self.settings.ack_policy == AckPolicy::Never || is_query {
            return Ruling::Hold;
        }
        if let Some(text) = self.refused_types.get(&message.type_url()) {
            return Ruling::refuse(text.as_str());
        }
        if let Some(text) = self.refusal() {
            return Ruling::refuse(text);
        }
        if self.settings.ack_policy == AckPolicy::Ask {
            return Ruling::Hold;
        }
        let catalog = &self.frames.catalog;
        let mut error = client::check(message, catalog);
        if error.is_none() && self.settings.ack_policy == AckPolicy::Validate {
            error = client::validated(message, catalog, &self.settings.schema);
        }
        error.map_or(Ruling::Accept, Ruling::refuse)
    }

    /// Returns the text of the first `--nack` filter that matches the newest response.
    fn refusal(&mut self) -> Option<&str> {
        if self.settings.refuse.is_empty() {
            return None;
        }
        // Filters read facts.
        self.frames.hand_on();
        if !self.frames.journal().wait_until_analysed(ANALYSIS_TIME) {
            return None;
        }
        let store = self.shared.store();
        let newest = store.row(store.rows().checked_sub(1)?)?;
        let refused = self.settings.refuse.iter().find(|(filter, _)| filter.message(&newest, &store));
        refused.map(|(_, text)| text.as_str())
    }

    /// Handles a complete response: answers it before it is decoded, if that is possible.
    pub(super) fn pass(&mut self, at: Time, lane: Lane, id: StreamId) {
        let mut ahead = Vec::new();
        if let Some(passing) = self.passing.remove(&lane.0) {
            let plain = passing.preview.finish();
            if plain.is_some_and(|plain| self.client.accept(lane, &plain, &self.frames.catalog)) {
                let effects: Vec<Effect> = self.client.effects().collect();
                for effect in effects {
                    if let Effect::Send { lane, bytes } = effect {
                        ahead.extend(self.transmit(lane, bytes));
                    }
                }
            }
            self.take_in(id, passing.waiting);
        }
        self.response(at, lane, id, ahead);
    }

    /// Handles a decoded response. `ahead`: requests that were sent before the decoding, to be
    /// recorded after the response.
    fn response(&mut self, at: Time, lane: Lane, id: StreamId, ahead: Vec<Transmitted>) {
        let Some(message) = self.message(at, id, Dir::Resp) else { return };
        // Only filters need the store: otherwise the answer goes out before the frame is flushed.
        if !self.settings.refuse.is_empty() {
            self.flush();
        }
        let ruling = match ahead.is_empty() {
            true => self.ruling(&message),
            false => Ruling::Accept,
        };
        self.client.handle_response(at, lane, message, ruling, &mut self.frames.catalog);
        let stuck = ahead.into_iter().filter_map(|request| self.note(request)).collect();
        self.flush();
        self.give_up(stuck);
    }

    /// Decodes the received part of a response that will not be completed.
    pub(super) fn let_pass(&mut self, lane: Lane) {
        let Some(passing) = self.passing.remove(&lane.0) else { return };
        if let Some(id) = self.open.get(&lane.0).copied() {
            self.take_in(id, passing.waiting);
        }
    }

    fn take_in(&mut self, id: StreamId, pieces: VecDeque<Vec<u8>>) {
        for bytes in pieces {
            self.assembler.data(id, Dir::Resp, &bytes, &mut self.frames.catalog);
        }
    }

    /// Hands a request to its stream; `None`: there is no stream.
    pub(super) fn transmit(&mut self, lane: Lane, bytes: Vec<u8>) -> Option<Transmitted> {
        let (id, bytes) = (self.open.get(&lane.0).copied()?, Bytes::from(bytes));
        let body = self.polls.body(lane, &bytes).unwrap_or_else(|| bytes.clone());
        let sent = self.streams.send(lane.0, body);
        Some(Transmitted { lane, id, at: self.clock.now(), bytes, sent })
    }

    /// Records a request that was sent. Returns the lane if its server no longer reads.
    pub(super) fn note(&mut self, request: Transmitted) -> Option<Lane> {
        let Transmitted { lane, id, at, bytes, sent } = request;
        if sent == RequestOutcome::Queued {
            self.assembler.data(id, Dir::Req, &bytes, &mut self.frames.catalog);
            self.message(at, id, Dir::Req);
        }
        (sent == RequestOutcome::Stuck).then_some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::discovery::encode::{ResponseFields, encode_any};
    use xdscope_wire::pb::put_len_field;

    /// A response with a name of `len` bytes.
    fn response(len: usize, version: &str) -> Vec<u8> {
        let type_url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        let mut cluster = Vec::new();
        put_len_field(&mut cluster, 1, &vec![b'x'; len]);
        let fields = ResponseFields { version, type_url, nonce: "n", ..ResponseFields::default() };
        fields.encode(false, [encode_any(type_url, &cluster)])
    }

    #[test]
    fn queues_a_bounded_part_and_keeps_the_order() {
        for (len, step) in [
            (10, 7),
            (PIECE_BYTES * 3, 10_000),
            (PIECE_BYTES * (MAX_QUEUED_PIECES + 4), 70_000),
            (PIECE_BYTES * 3, PIECE_BYTES + 1),
        ] {
            let response = response(len, "1");
            let (mut passing, mut out) = (Passing::default(), Vec::new());
            for chunk in response.chunks(step) {
                passing
                    .push(Bytes::copy_from_slice(chunk))
                    .iter()
                    .for_each(|bytes| out.extend_from_slice(bytes));
                assert!(passing.waiting.len() <= MAX_QUEUED_PIECES);
            }
            assert_eq!(out.is_empty(), len < PIECE_BYTES * MAX_QUEUED_PIECES, "{len} by {step}");
            passing.waiting.iter().for_each(|piece| out.extend_from_slice(piece));
            assert!(out == response, "{len} by {step}");
            // A preview does not buffer a field of many megabytes.
            assert_eq!(passing.preview.finish().is_some(), len < PIECE_BYTES * MAX_QUEUED_PIECES);
        }
    }

    #[test]
    fn queues_nothing_when_the_answer_needs_the_content() {
        let mut passing = Passing::default();
        let (plain, odd) = (Bytes::from(response(100, "1")), Bytes::from_static(b"\x7a\x00"));
        assert!(passing.push(plain.clone()).is_empty());
        assert_eq!(passing.push(odd.clone()), [plain.clone(), odd]);
        assert_eq!(passing.push(plain.clone()), [plain]);
        assert!(passing.waiting.is_empty() && passing.preview.finish().is_none());
    }
}
