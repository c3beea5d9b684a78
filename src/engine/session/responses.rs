use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::wire::content::List;
use crate::wire::event::{Nonce, Seq, Sym, Time, VersionInfo};

/// The position of a response among those of its track, from 0.
pub(crate) type Order = u64;

/// The verdict of the client on a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    Acked,
    Nacked,
    /// SotW: the client used a newer nonce without a verdict on this response
    /// (docs/protocol.md#e-04).
    Skipped,
}

/// One response of a track.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) seq: Seq,
    pub(crate) at: Time,
    pub(crate) nonce: Nonce,
    pub(crate) version: VersionInfo,
    pub(crate) status: Status,
    /// The resources, kept until the verdict.
    pub(crate) body: Option<Body>,
}

#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) list: Arc<List>,
    pub(crate) version: Sym,
    /// Replaces all resources of the type (SotW LDS and CDS, docs/protocol.md#e-44).
    pub(crate) full: bool,
    /// Names that the response removes.
    pub(crate) removed: Box<[Sym]>,
}

/// Settled responses of a track that are kept, to tell old nonces from unknown ones.
const MAX_SETTLED: usize = 256;
/// Unanswered responses that are kept: a client that never answers must not exhaust the memory.
const MAX_PENDING: usize = 1 << 16;

/// The responses of one track, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses {
    items: VecDeque<Response>,
    first: Order,
    by_nonce: HashMap<Nonce, Order>,
    pending: BTreeSet<Order>,
    /// Newest response whose nonce the client has used.
    pub(crate) frontier: Option<Order>,
}

impl Responses {
    /// Adds a response, and returns whether its nonce is new on the track.
    pub(crate) fn push(&mut self, response: Response) -> bool {
        let order = self.next();
        let fresh =
            response.nonce.is_empty() || self.by_nonce.insert(response.nonce.clone(), order).is_none();
        self.items.push_back(response);
        self.pending.insert(order);
        while self.items.len() > MAX_PENDING
            || (self.items.len() > MAX_SETTLED
                && self.items.front().is_some_and(|old| old.status != Status::Pending))
        {
            let (Some(old), order) = (self.items.pop_front(), self.first) else { break };
            self.first += 1;
            self.pending.remove(&order);
            if self.by_nonce.get(&old.nonce) == Some(&order) {
                self.by_nonce.remove(&old.nonce);
            }
        }
        fresh
    }

    /// The order of the next response.
    pub(crate) fn next(&self) -> Order {
        self.first + self.items.len() as Order
    }

    /// The newest response with that nonce.
    pub(crate) fn find(&self, nonce: &Nonce) -> Option<Order> {
        self.by_nonce.get(nonce).copied()
    }

    pub(crate) fn get(&self, order: Order) -> Option<&Response> {
        self.items.get(usize::try_from(order.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn newest(&self) -> Option<Order> {
        self.next().checked_sub(1)
    }

    pub(crate) fn last(&self) -> Option<&Response> {
        self.items.back()
    }

    /// Settles a response, and returns its resources.
    pub(crate) fn settle(&mut self, order: Order, status: Status) -> Option<Body> {
        let at = usize::try_from(order.checked_sub(self.first)?).ok()?;
        let response = self.items.get_mut(at)?;
        response.status = status;
        self.pending.remove(&order);
        response.body.take()
    }

    /// Records that the client has used the nonce of a response.
    pub(crate) fn advance(&mut self, order: Order) {
        self.frontier = Some(self.frontier.map_or(order, |old| old.max(order)));
    }

    /// Settles the pending responses before `order` as skipped.
    pub(crate) fn skip_before(&mut self, order: Order) -> Vec<Seq> {
        let mut skipped = Vec::new();
        while let Some(old) = self.pending.first().copied().filter(|old| *old < order) {
            skipped.extend(self.get(old).map(|response| response.seq));
            self.settle(old, Status::Skipped);
        }
        skipped
    }

    /// The pending responses, oldest first.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Response> {
        self.pending.iter().filter_map(|order| self.get(*order))
    }
}
