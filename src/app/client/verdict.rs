//! Answers responses before their contents are decoded, where that is possible.
//!
//! Decoding a large response may take longer than receiving it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{AckPolicy, ClientWorker};
use crate::app::live::Ingest;
use crate::app::run_config::since;
use crate::net::client::RequestOutcome;
use xdscope_engine::store::Store;
use xdscope_sources::peers::client;
use xdscope_sources::peers::client::{Effect, Lane, Preview, Ruling};
use xdscope_wire::Message;
use xdscope_wire::event::{Dir, StreamId, Time};

/// A response that is being received, whose newest bytes are not decoded yet.
///
/// They are copied, because the receive buffer is reused and this thread can reuse its own pieces.
#[derive(Default)]
pub(super) struct Passing {
    preview: Preview,
    waiting: VecDeque<Vec<u8>>,
}

/// Bytes of one copied piece.
const PIECE_BYTES: usize = 256 << 10;

/// Pieces that are decoded before the store lock is released.
const PIECES_PER_LOCK: usize = 4;

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
        let full = self.waiting.len() > MAX_QUEUED_PIECES;
        full.then(|| self.waiting.pop_front()).flatten().map(Bytes::from).into_iter().collect()
    }
}

/// A complete response that is not fully decoded.
pub(super) struct Passed {
    pub at: Time,
    pub lane: Lane,
    pub id: StreamId,
    /// Requests that were sent before the decoding, to be recorded after the response.
    pub ahead: Vec<Transmitted>,
    waiting: VecDeque<Vec<u8>>,
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
            && self.client.may_accept()
    }

    /// Decides on a response. With `--nack` filters the store must hold it already.
    pub(super) fn ruling(&self, message: &Message, into: &Ingest<'_>) -> Ruling {
        let store: &Store = into.store;
        if self.settings.ack_policy == AckPolicy::Never {
            return Ruling::Hold;
        }
        let newest = || store.rows().checked_sub(1).and_then(|row| store.row(row));
        if !self.settings.refuse.is_empty()
            && let Some(fact) = newest()
        {
            let refused = self.settings.refuse.iter().find(|(filter, _)| filter.message(&fact, store));
            if let Some((_, text)) = refused {
                return Ruling::refuse(text.as_str());
            }
        }
        if self.settings.ack_policy == AckPolicy::Ask {
            return Ruling::Hold;
        }
        let found = client::check(message, store.catalog()).or_else(|| {
            let validate = self.settings.ack_policy == AckPolicy::Validate;
            validate.then(|| client::validated(message, store.catalog(), &self.settings.schema)).flatten()
        });
        found.map_or(Ruling::Accept, Ruling::refuse)
    }

    /// Answers a complete response, if that is possible before decoding. Returns the rest of the
    /// work.
    pub(super) fn pass(&mut self, at: Time, lane: Lane, id: StreamId, into: &mut Ingest<'_>) -> Passed {
        let mut passed = Passed { at, lane, id, ahead: Vec::new(), waiting: VecDeque::new() };
        let Some(passing) = self.passing.remove(&lane.0) else { return passed };
        if passing
            .preview
            .finish()
            .is_some_and(|plain| self.client.accept(lane, &plain, into.store.catalog()))
        {
            let effects: Vec<Effect> = self.client.effects().collect();
            for effect in effects {
                if let Effect::Send { lane, bytes } = effect {
                    passed.ahead.extend(self.transmit(lane, bytes));
                }
            }
        }
        passed.waiting = passing.waiting;
        passed
    }

    /// Decodes a part of a complete response. Returns whether all of it is decoded.
    pub(super) fn take_in_some(&mut self, passed: &mut Passed, into: &mut Ingest<'_>) -> bool {
        let some = passed.waiting.len().min(PIECES_PER_LOCK);
        let some = passed.waiting.drain(..some).collect();
        self.take_in(passed.id, some, into);
        passed.waiting.is_empty()
    }

    /// Handles a response that is fully decoded.
    pub(super) fn response(&mut self, passed: Passed, into: &mut Ingest<'_>) {
        let Passed { at, lane, id, ahead, .. } = passed;
        let Some(message) = self.message(at, id, Dir::Resp, into) else { return };
        // Only filters need the store: otherwise the answer goes out before the frame is flushed.
        if !self.settings.refuse.is_empty() {
            self.flush(into);
        }
        let ruling = match ahead.is_empty() {
            true => self.ruling(&message, into),
            false => Ruling::Accept,
        };
        let catalog = into.store.catalog_mut();
        self.client.handle_response(at, lane, message, ruling, catalog);
        let stuck = ahead.into_iter().filter_map(|request| self.note(request, into)).collect();
        self.flush(into);
        self.give_up(stuck, into);
    }

    /// Decodes more of a large response. The store lock is free between the parts.
    pub(super) fn go_on(&mut self, mut passed: Passed, into: &mut Ingest<'_>) -> Time {
        if !self.take_in_some(&mut passed, into) {
            let at = passed.at;
            self.passed = Some(passed);
            return at;
        }
        self.response(passed, into);
        self.effects(into);
        self.timeout(into)
    }

    /// Decodes the received part of a response that will not be completed.
    pub(super) fn let_pass(&mut self, lane: Lane, into: &mut Ingest<'_>) {
        let Some(passing) = self.passing.remove(&lane.0) else { return };
        if let Some(id) = self.open.get(&lane.0).copied() {
            self.take_in(id, passing.waiting, into);
        }
    }

    fn take_in(&mut self, id: StreamId, pieces: VecDeque<Vec<u8>>, into: &mut Ingest<'_>) {
        for bytes in pieces {
            self.assembler.data(id, Dir::Resp, &bytes, into.store.catalog_mut());
        }
    }

    /// Hands a request to its stream; `None`: there is no stream.
    pub(super) fn transmit(&mut self, lane: Lane, bytes: Vec<u8>) -> Option<Transmitted> {
        let (id, bytes) = (self.open.get(&lane.0).copied()?, Bytes::from(bytes));
        let body = self.polls.body(lane, &bytes).unwrap_or_else(|| bytes.clone());
        let sent = self.streams.send(lane.0, body);
        Some(Transmitted { lane, id, at: since(self.settings.start), bytes, sent })
    }

    /// Records a request that was sent. Returns the lane if its server no longer reads.
    pub(super) fn note(&mut self, request: Transmitted, into: &mut Ingest<'_>) -> Option<Lane> {
        let Transmitted { lane, id, at, bytes, sent } = request;
        if sent == RequestOutcome::Queued {
            self.assembler.data(id, Dir::Req, &bytes, into.store.catalog_mut());
            self.message(at, id, Dir::Req, into);
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
