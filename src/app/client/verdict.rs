//! A response is answered as soon as it is known that nothing in it is to be refused; its content, which may take
//! longer to take in than it took to come, is taken in after that.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Judge, Work};
use crate::app::kept::since;
use crate::app::live::Into;
use crate::client::{self, Effect, Glance, Lane, Ruling};
use crate::event::{Dir, StreamId, Time};
use crate::net::client::Sent;
use crate::store::Store;
use crate::wire::Message;

/// A response that is passing: its newest bytes wait, so that its verdict need not wait until they are taken in.
#[derive(Default)]
pub(super) struct Passing {
    glance: Glance,
    bytes: VecDeque<Bytes>,
    size: usize,
}

/// Bytes that wait at most.
const WAIT: usize = 16 << 20;

impl Passing {
    /// The next bytes of the response; what has to be taken in now.
    pub fn push(&mut self, bytes: Bytes) -> Vec<Bytes> {
        self.glance.push(&bytes);
        self.size += bytes.len();
        self.bytes.push_back(bytes);
        let mut out = Vec::new();
        while self.size > WAIT
            && let Some(oldest) = self.bytes.pop_front()
        {
            self.size -= oldest.len();
            out.push(oldest);
        }
        out
    }
}

/// A request that was handed to its stream.
pub(super) struct Transmitted {
    lane: Lane,
    id: StreamId,
    at: Time,
    bytes: Bytes,
    sent: Sent,
}

impl Work {
    /// Whether what is to be refused can be told without the content.
    pub(super) fn may_glance(&self) -> bool {
        self.about.judge == Judge::Auto && self.about.refuse.is_empty() && self.client.may_accept()
    }

    /// What becomes of a response, which the store has taken in if there are expressions to refuse by.
    pub(super) fn ruling(&self, message: &Message, into: &Into<'_>) -> Ruling {
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

    /// A response is complete: it is answered, if it can be told how, and its bytes are taken in. The answers, to be
    /// noted behind it.
    pub(super) fn pass(&mut self, lane: Lane, id: StreamId, into: &mut Into<'_>) -> Vec<Transmitted> {
        let Some(passing) = self.passing.remove(&lane.0) else { return Vec::new() };
        let mut ahead = Vec::new();
        if passing.glance.plain().is_some_and(|plain| self.client.accept(lane, &plain, into.store.catalog()))
        {
            let effects: Vec<Effect> = self.client.effects().collect();
            for effect in effects {
                if let Effect::Send { lane, bytes } = effect {
                    ahead.extend(self.transmit(lane, bytes));
                }
            }
        }
        self.take_in(id, passing.bytes, into);
        ahead
    }

    /// What came of a response that will not be completed.
    pub(super) fn let_pass(&mut self, lane: Lane, into: &mut Into<'_>) {
        let Some(passing) = self.passing.remove(&lane.0) else { return };
        if let Some(id) = self.open.get(&lane.0).copied() {
            self.take_in(id, passing.bytes, into);
        }
    }

    fn take_in(&mut self, id: StreamId, bytes: VecDeque<Bytes>, into: &mut Into<'_>) {
        for bytes in bytes {
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
    pub(super) fn note(&mut self, request: Transmitted, into: &mut Into<'_>) -> Option<Lane> {
        let Transmitted { lane, id, at, bytes, sent } = request;
        if sent == Sent::Queued {
            self.assembler.data(id, Dir::Req, &bytes, into.store.catalog_mut());
            self.message(at, id, Dir::Req, into);
        }
        (sent == Sent::Stuck).then_some(lane)
    }
}
