//! A response is answered as soon as it is known that nothing in it is to be refused; its content, which may take
//! longer to take in than it took to come, is taken in after that.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Judge, Work};
use crate::app::live::Ingest;
use crate::app::run_config::since;
use crate::engine::store::Store;
use crate::net::client::RequestOutcome;
use crate::peers::client::{self, Effect, Lane, Preview, Ruling};
use crate::wire::Message;
use crate::wire::event::{Dir, StreamId, Time};

/// A response that is passing: its newest bytes wait, so that its verdict need not wait until they are taken in. They
/// are copied: what they came in is filled again meanwhile, and what they wait in is this thread's to use again.
#[derive(Default)]
pub(super) struct Passing {
    preview: Preview,
    waiting: VecDeque<Vec<u8>>,
}

/// Bytes that are copied into one piece.
const PIECE: usize = 256 << 10;

/// Pieces that are taken in before the facts are let go of: others may want to see them.
const AT_ONCE: usize = 4;

/// Pieces that wait at most: 24 MiB.
const WAIT: usize = 96;

impl Passing {
    /// The next bytes of the response; what has to be taken in now.
    pub fn push(&mut self, bytes: Bytes) -> Vec<Bytes> {
        self.preview.push(&bytes);
        if self.preview.is_odd() {
            return self.waiting.drain(..).map(Bytes::from).chain([bytes]).collect();
        }
        let mut rest = &bytes[..];
        if let Some(last) = self.waiting.back_mut() {
            let (fits, more) = rest.split_at(rest.len().min(PIECE.saturating_sub(last.len())));
            last.extend_from_slice(fits);
            rest = more;
        }
        if !rest.is_empty() {
            let first = self.waiting.is_empty();
            let mut piece = if first { Vec::new() } else { Vec::with_capacity(PIECE.max(rest.len())) };
            piece.extend_from_slice(rest);
            self.waiting.push_back(piece);
        }
        let full = self.waiting.len() > WAIT;
        full.then(|| self.waiting.pop_front()).flatten().map(Bytes::from).into_iter().collect()
    }
}

/// A response that is complete and whose bytes are not yet taken in.
pub(super) struct Passed {
    pub at: Time,
    pub lane: Lane,
    pub id: StreamId,
    /// Its answers, to be noted behind it.
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

impl Work {
    /// Whether what is to be refused can be told without the content.
    pub(super) fn may_preview(&self) -> bool {
        self.about.judge == Judge::Auto && self.about.refuse.is_empty() && self.client.may_accept()
    }

    /// What becomes of a response, which the store has taken in if there are expressions to refuse by.
    pub(super) fn ruling(&self, message: &Message, into: &Ingest<'_>) -> Ruling {
        let store: &Store = into.store;
        if self.about.judge == Judge::Never {
            return Ruling::Hold;
        }
        let newest = || store.rows().checked_sub(1).and_then(|row| store.row(row));
        if !self.about.refuse.is_empty()
            && let Some(fact) = newest()
        {
            let refused = self.about.refuse.iter().find(|(filter, _)| filter.message(&fact, store));
            if let Some((_, text)) = refused {
                return Ruling::refuse(text.as_str());
            }
        }
        if self.about.judge == Judge::Ask {
            return Ruling::Hold;
        }
        let found = client::check(message, store.catalog()).or_else(|| {
            let validate = self.about.judge == Judge::Validate;
            validate.then(|| client::validated(message, store.catalog(), &self.about.schema)).flatten()
        });
        found.map_or(Ruling::Accept, Ruling::refuse)
    }

    /// A response is complete: it is answered, if it can be told how. What is left to be done with it.
    pub(super) fn pass(&mut self, at: Time, lane: Lane, id: StreamId, into: &mut Ingest<'_>) -> Passed {
        let mut passed = Passed { at, lane, id, ahead: Vec::new(), waiting: VecDeque::new() };
        let Some(passing) = self.passing.remove(&lane.0) else { return passed };
        if passing.preview.plain().is_some_and(|plain| self.client.accept(lane, &plain, into.store.catalog()))
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

    /// Takes in some of a response that has passed. False: there is more of it.
    pub(super) fn take_in_some(&mut self, passed: &mut Passed, into: &mut Ingest<'_>) -> bool {
        let some = passed.waiting.len().min(AT_ONCE);
        let some = passed.waiting.drain(..some).collect();
        self.take_in(passed.id, some, into);
        passed.waiting.is_empty()
    }

    /// All of a response is taken in.
    pub(super) fn response(&mut self, passed: Passed, into: &mut Ingest<'_>) {
        let Passed { at, lane, id, ahead, .. } = passed;
        let Some(message) = self.message(at, id, Dir::Resp, into) else { return };
        // The facts are looked at only by expressions: else the verdict goes out before they are taken in.
        if !self.about.refuse.is_empty() {
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

    /// Takes in more of a large response; between its parts others see the facts.
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

    /// What came of a response that will not be completed.
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

    /// Hands a request to its stream; `None`: there is none.
    pub(super) fn transmit(&mut self, lane: Lane, bytes: Vec<u8>) -> Option<Transmitted> {
        let (id, bytes) = (self.open.get(&lane.0).copied()?, Bytes::from(bytes));
        let body = self.polls.body(lane, &bytes).unwrap_or_else(|| bytes.clone());
        let sent = self.streams.send(lane.0, body);
        Some(Transmitted { lane, id, at: since(self.about.start), bytes, sent })
    }

    /// Makes a frame of a request that was sent; the lane, if its server takes no more.
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
    use crate::wire::discovery::encode::{ResponseFields, encode_any};
    use crate::wire::pb::put_len_field;

    /// A response with a name of so many bytes.
    fn response(len: usize, version: &str) -> Vec<u8> {
        let type_url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        let mut cluster = Vec::new();
        put_len_field(&mut cluster, 1, &vec![b'x'; len]);
        let fields = ResponseFields { version, type_url, nonce: "n", ..ResponseFields::default() };
        fields.encode(false, [encode_any(type_url, &cluster)])
    }

    #[test]
    fn a_bounded_part_waits_and_every_byte_comes_out_in_order() {
        for (len, step) in
            [(10, 7), (PIECE * 3, 10_000), (PIECE * (WAIT + 4), 70_000), (PIECE * 3, PIECE + 1)]
        {
            let response = response(len, "1");
            let (mut passing, mut out) = (Passing::default(), Vec::new());
            for chunk in response.chunks(step) {
                passing
                    .push(Bytes::copy_from_slice(chunk))
                    .iter()
                    .for_each(|bytes| out.extend_from_slice(bytes));
                assert!(passing.waiting.len() <= WAIT);
            }
            assert_eq!(out.is_empty(), len < PIECE * WAIT, "{len} by {step}");
            passing.waiting.iter().for_each(|piece| out.extend_from_slice(piece));
            assert!(out == response, "{len} by {step}");
            assert!(passing.preview.plain().is_some());
        }
    }

    #[test]
    fn nothing_waits_for_a_verdict_that_needs_the_content() {
        let mut passing = Passing::default();
        let (plain, odd) = (Bytes::from(response(100, "1")), Bytes::from_static(b"\x7a\x00"));
        assert!(passing.push(plain.clone()).is_empty());
        assert_eq!(passing.push(odd.clone()), [plain.clone(), odd]);
        assert_eq!(passing.push(plain.clone()), [plain]);
        assert!(passing.waiting.is_empty() && passing.preview.plain().is_none());
    }
}
