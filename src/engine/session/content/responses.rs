use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use xdscope_wire::content::{List, UsedContent};
use xdscope_wire::event::{Nonce, Seq, Sym, Time, VersionInfo};

/// Estimated memory of a response that is kept to recognise its nonce.
pub(crate) const RESPONSE_BYTES: usize = 320;

/// The position of a response among those of its track, from 0.
pub(crate) type Order = u64;

/// The verdict of the client on a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    Acked,
    Nacked,
    /// SotW: refused by another version, without an error (docs/protocol.md#e-22). The resources
    /// are kept, because the client may accept the response later.
    NackedByVersion,
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
    /// The request that gave the first verdict, or skipped the response.
    pub(crate) settled_by: Option<Seq>,
    /// The resources, kept until the final verdict.
    pub(crate) body: Option<Body>,
}

impl Response {
    /// Whether the client has refused the response, with an error or by version.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.status, Status::Nacked | Status::NackedByVersion)
    }
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
///
/// Each takes 200 to 400 bytes, and open streams keep theirs whatever `--memory` says.
const MAX_SETTLED: usize = 64;
/// Unanswered responses of a track that are kept while those of all tracks are many: clients that
/// never answer must not exhaust the memory.
const MAX_CROWDED_PENDING: usize = 8;
/// Unanswered responses of all tracks that are not many yet, each of 1 to 2 kB with its content.
const MAX_ALL_PENDING: usize = 1 << 14;
/// Responses of all tracks that are not many yet, beyond [`MAX_SETTLED`] of each track.
const MAX_ALL_SETTLED: usize = 1 << 16;

/// The responses that the tracks of a source keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptResponses {
    pub(crate) count: usize,
    /// Those without a verdict.
    pub(crate) pending: usize,
}

impl KeptResponses {
    /// Adds those of a track.
    pub(crate) fn add(&mut self, responses: &Responses) {
        self.count += responses.items.len();
        self.pending += responses.pending.len();
    }

    /// Removes those of a track.
    pub(crate) fn remove(&mut self, responses: &Responses) {
        self.count = self.count.saturating_sub(responses.items.len());
        self.pending = self.pending.saturating_sub(responses.pending.len());
    }

    /// Whether they are so many that tracks keep few without a verdict.
    pub(crate) fn are_many(&self, tracks: usize) -> bool {
        self.pending > MAX_ALL_PENDING || self.count > MAX_ALL_SETTLED + tracks * MAX_SETTLED
    }
}

/// The responses with one nonce, oldest first. Most nonces have one.
#[derive(Clone, Debug)]
enum Orders {
    One(Order),
    Many(VecDeque<Order>),
}

impl Orders {
    fn push(&mut self, order: Order) {
        match self {
            Orders::One(first) => *self = Orders::Many(VecDeque::from([*first, order])),
            Orders::Many(orders) => orders.push_back(order),
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = Order> {
        let (one, many) = match self {
            Orders::One(order) => (Some(*order), None),
            Orders::Many(orders) => (None, Some(orders)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}

/// The responses of one track, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses {
    items: VecDeque<Response>,
    first: Order,
    by_nonce: HashMap<Nonce, Orders>,
    pending: BTreeSet<Order>,
    /// Newest response whose nonce the client has used.
    pub(crate) frontier: Option<Order>,
}

impl Responses {
    /// Adds a response, and returns whether its nonce is new on the track. `is_crowded`: the
    /// responses of all tracks are many.
    pub(crate) fn push(&mut self, response: Response, is_crowded: bool) -> bool {
        let order = self.next();
        let mut is_new = true;
        let orders = self.by_nonce.entry(response.nonce.clone());
        orders
            .and_modify(|orders| {
                is_new = response.nonce.is_empty();
                orders.push(order);
            })
            .or_insert(Orders::One(order));
        self.items.push_back(response);
        self.pending.insert(order);
        while (is_crowded && self.has_many())
            || (self.items.len() > MAX_SETTLED
                && self.items.front().is_some_and(|old| old.status != Status::Pending))
        {
            let (Some(old), order) = (self.items.pop_front(), self.first) else { break };
            self.first += 1;
            self.pending.remove(&order);
            self.forget_nonce(&old.nonce);
        }
        is_new
    }

    /// Returns the number of responses that are kept.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether more responses are kept than one of many tracks keeps.
    fn has_many(&self) -> bool {
        self.pending.len() > MAX_CROWDED_PENDING || self.items.len() > MAX_SETTLED + MAX_CROWDED_PENDING
    }

    /// Marks the contents and names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        for body in self.items.iter().filter_map(|response| response.body.as_ref()) {
            used.list(&body.list);
            used.name(body.version);
            used.names(&body.removed);
        }
    }

    /// The order of the next response.
    pub(crate) fn next(&self) -> Order {
        self.first + self.items.len() as Order
    }

    /// Removes the oldest response from those with its nonce.
    fn forget_nonce(&mut self, nonce: &Nonce) {
        let is_last = match self.by_nonce.get_mut(nonce) {
            Some(Orders::Many(orders)) => {
                orders.pop_front();
                orders.is_empty()
            }
            _ => true,
        };
        if is_last {
            self.by_nonce.remove(nonce);
        }
    }

    /// The newest response with that nonce, unless the nonce is empty.
    pub(crate) fn find(&self, nonce: &Nonce) -> Option<Order> {
        if nonce.is_empty() { None } else { self.with_nonce(nonce).next_back() }
    }

    /// The responses with that nonce, oldest first, also if the nonce is empty.
    pub(crate) fn with_nonce(&self, nonce: &Nonce) -> impl DoubleEndedIterator<Item = Order> {
        self.by_nonce.get(nonce).into_iter().flat_map(Orders::iter)
    }

    pub(crate) fn is_pending(&self, order: Order) -> bool {
        self.get(order).is_some_and(|response| response.status == Status::Pending)
    }

    /// Whether a request before `seq` settled the response, or it is too old to be known.
    pub(crate) fn is_settled_before(&self, order: Order, seq: Seq) -> bool {
        self.get(order).is_none_or(|response| response.settled_by.is_some_and(|by| by < seq))
    }

    /// Whether a response before `order` waits for its verdict.
    pub(crate) fn has_pending_before(&self, order: Order) -> bool {
        self.pending.first().is_some_and(|oldest| *oldest < order)
    }

    pub(crate) fn get(&self, order: Order) -> Option<&Response> {
        self.items.get(usize::try_from(order.checked_sub(self.first)?).ok()?)
    }

    /// Returns the response with a message number.
    pub(crate) fn of_seq(&self, seq: Seq) -> Option<&Response> {
        let at = self.items.partition_point(|response| response.seq < seq);
        self.items.get(at).filter(|response| response.seq == seq)
    }

    /// Returns the request with which the client has accepted a response.
    pub(crate) fn accepted_in(&self, response: Seq) -> Option<Seq> {
        match self.of_seq(response) {
            Some(response) if response.status == Status::Acked => response.settled_by,
            Some(_) => None,
            // Forgotten, so it was settled before the oldest one that is remembered.
            None => self.oldest().map(|oldest| oldest.seq).filter(|oldest| *oldest > response),
        }
    }

    /// Returns the names that responses without a verdict remove.
    pub(crate) fn removals_without_verdict(&self) -> impl Iterator<Item = Sym> {
        let bodies = self.pending().filter_map(|response| response.body.as_ref());
        bodies.flat_map(|body| body.removed.iter().copied())
    }

    /// Returns the response before the one with a message number, if both are kept.
    pub(crate) fn before(&self, seq: Seq) -> Option<&Response> {
        let at = self.items.partition_point(|response| response.seq < seq);
        match self.items.get(at) {
            Some(response) if response.seq == seq => self.items.get(at.checked_sub(1)?),
            _ => None,
        }
    }

    pub(crate) fn newest(&self) -> Option<Order> {
        self.next().checked_sub(1)
    }

    /// The oldest response that is remembered.
    pub(crate) fn oldest(&self) -> Option<&Response> {
        self.items.front()
    }

    /// Returns the newest remembered response with a version.
    pub(crate) fn newest_with_version(&self, version: &str) -> Option<&Response> {
        self.items.iter().rev().find(|response| response.version.as_str() == version)
    }

    /// Whether exactly one remembered response has a version, after one with another version.
    pub(crate) fn is_sent_once(&self, version: &str) -> bool {
        let has_version = |response: &&Response| response.version.as_str() == version;
        let is_newer = self.items.front().is_some_and(|first| !has_version(&first));
        is_newer && self.items.iter().filter(has_version).count() == 1
    }

    pub(crate) fn last(&self) -> Option<&Response> {
        self.items.back()
    }

    /// Settles a response, and returns its resources.
    pub(crate) fn settle(&mut self, order: Order, status: Status, by: Seq) -> Option<Body> {
        let at = usize::try_from(order.checked_sub(self.first)?).ok()?;
        let response = self.items.get_mut(at)?;
        response.status = status;
        response.settled_by.get_or_insert(by);
        self.pending.remove(&order);
        match status {
            Status::NackedByVersion => response.body.clone(),
            _ => response.body.take(),
        }
    }

    /// Records that the client has used the nonce of a response.
    pub(crate) fn advance(&mut self, order: Order) {
        self.frontier = Some(self.frontier.map_or(order, |old| old.max(order)));
    }

    /// Settles the pending responses before `order` as skipped.
    pub(crate) fn skip_before(&mut self, order: Order, by: Seq) -> Vec<Seq> {
        let mut skipped = Vec::new();
        while let Some(old) = self.pending.first().copied().filter(|old| *old < order) {
            skipped.extend(self.get(old).map(|response| response.seq));
            self.settle(old, Status::Skipped, by);
        }
        skipped
    }

    /// Settles the pending responses that came before a request as skipped.
    pub(crate) fn skip_sent_before(&mut self, request: Seq, by: Seq) -> Vec<Seq> {
        let is_later = |order: &&Order| self.get(**order).is_some_and(|response| response.seq > request);
        let first_later = self.pending.iter().find(is_later).copied();
        self.skip_before(first_later.unwrap_or_else(|| self.next()), by)
    }

    /// The refused responses after `order` that are remembered.
    pub(crate) fn refused_after(&self, order: Option<Order>) -> impl Iterator<Item = &Response> {
        let skipped = order.map_or(0, |order| (order + 1).saturating_sub(self.first));
        self.items
            .iter()
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
            .filter(|response| response.is_refused())
    }

    /// Whether the client has skipped a response after `after` and before `before`.
    pub(crate) fn has_skipped(&self, after: Option<Order>, before: Order) -> bool {
        let first = after.map_or(0, |order| order + 1).max(self.first);
        let between = first..before.max(first);
        between.filter_map(|order| self.get(order)).any(|response| response.status == Status::Skipped)
    }

    /// The pending responses, oldest first.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Response> {
        self.pending.iter().filter_map(|order| self.get(*order))
    }
}
