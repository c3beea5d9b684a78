//! Times to live of the resources of a track (docs/protocol.md#g-02).

use std::collections::HashMap;
use std::time::Duration;

use crate::session::Context;
use crate::session::content::name_map::NameMap;
use crate::session::content::names::{SymMap, SymSet};
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::{Order, Responses};
use crate::session::events::{TtlChange, TtlRecord};
use crate::session::track::prior::Prior;
use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{DenseHash, Sym, Time};

use super::Track;

/// Earlier times to live that are kept; of more, the oldest are forgotten.
const MAX_EARLIER: usize = 1 << 14;

/// The time to live of a resource before a response that the client may still refuse.
#[derive(Clone, Debug)]
struct EarlierTtl {
    /// The response.
    order: Order,
    name: Sym,
    deadline: Option<Time>,
    record: Option<TtlRecord>,
}

/// The times to live of the resources of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimesToLive {
    /// When resources with a time to live expire.
    pub(crate) deadlines: NameMap<Time>,
    /// No present resource expires before; `None`: none expires.
    next: Option<Time>,
    /// The times to live of present resources, and how they changed.
    pub(crate) records: SymMap<TtlRecord>,
    /// Times to live before responses without a verdict, in the order of the responses.
    earlier: Vec<EarlierTtl>,
}

impl TimesToLive {
    /// Whether a resource has expired at a time.
    pub(crate) fn is_over(&self, name: Sym, at: Time) -> bool {
        self.deadlines.get(name).is_some_and(|deadline| *deadline <= at)
    }

    /// Returns the number of names.
    pub(super) fn len(&self) -> usize {
        self.deadlines.len() + self.records.len()
    }

    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        used.names(self.deadlines.keys().chain(self.records.keys()));
        used.names(self.earlier.iter().map(|earlier| &earlier.name));
    }

    /// Returns the resources that expired before a time, if some did since the last call. A
    /// response at the last moment is in time.
    fn expired_before(&mut self, at: Time) -> Vec<Sym> {
        if self.next.is_none_or(|next| next >= at) {
            return Vec::new();
        }
        self.next = self.deadlines.values().copied().filter(|deadline| *deadline >= at).min();
        self.deadlines.iter().filter(|(_, deadline)| **deadline < at).map(|(name, _)| name).collect()
    }

    /// Stops the timer of a name that is not present any more after a response.
    fn stop(&mut self, name: Sym, order: Order) {
        if self.deadlines.contains_key(name) {
            self.keep_earlier(name, order);
        }
        self.deadlines.remove(name);
        self.records.remove(&name);
    }

    fn start(&mut self, name: Sym, deadline: Time) {
        self.deadlines.insert(name, deadline);
        self.next = Some(self.next.map_or(deadline, |next| next.min(deadline)));
    }

    /// Keeps the time to live of a name that a response changes.
    fn keep_earlier(&mut self, name: Sym, order: Order) {
        let deadline = self.deadlines.get(name).copied();
        if self.earlier.len() >= MAX_EARLIER {
            self.earlier.drain(..MAX_EARLIER / 2);
        }
        self.earlier.push(EarlierTtl { order, name, deadline, record: self.records.get(&name).cloned() });
    }

    /// Takes back the times to live of a refused response: the client does not restart the timers
    /// of resources that it refuses.
    pub(super) fn restore(&mut self, order: Order, responses: &Responses) {
        if self.earlier.is_empty() {
            return;
        }
        let mut refused: HashMap<Sym, EarlierTtl, DenseHash> = HashMap::default();
        let mut kept: Vec<EarlierTtl> = Vec::new();
        for mut earlier in std::mem::take(&mut self.earlier) {
            if earlier.order == order {
                // The first change of a response is the one to go back behind.
                refused.entry(earlier.name).or_insert(earlier);
                continue;
            }
            if earlier.order > order
                && let Some(before) = refused.remove(&earlier.name)
            {
                (earlier.deadline, earlier.record) = (before.deadline, before.record);
            }
            kept.push(earlier);
        }
        self.earlier = kept;
        refused.into_values().for_each(|EarlierTtl { name, deadline, record, .. }| {
            match deadline {
                Some(deadline) => self.start(name, deadline),
                None => drop(self.deadlines.remove(name)),
            }
            match record {
                Some(record) => drop(self.records.insert(name, record)),
                None => drop(self.records.remove(&name)),
            }
        });
        self.drop_settled(responses);
    }

    /// Forgets the times to live before an accepted response.
    pub(super) fn confirm(&mut self, order: Order, responses: &Responses) {
        if self.earlier.is_empty() {
            return;
        }
        let accepted = self.earlier.iter().filter(|earlier| earlier.order == order);
        let accepted: SymSet = accepted.map(|earlier| earlier.name).collect();
        self.earlier.retain(|earlier| earlier.order > order || !accepted.contains(&earlier.name));
        self.drop_settled(responses);
    }

    /// Forgets the times to live before responses that await no verdict.
    fn drop_settled(&mut self, responses: &Responses) {
        self.earlier.retain(|earlier| responses.is_pending(earlier.order));
    }
}

impl Track {
    /// Marks resources as expired whose time to live has ended, unless the client has given them
    /// up.
    pub(super) fn expire(&mut self, ctx: &mut Context<'_>) {
        let over = if ctx.timed { self.ttl.expired_before(ctx.at) } else { Vec::new() };
        for name in over {
            let entry = self.sent.get(ctx.catalog, name).filter(ResourceEntry::is_present);
            if let Some(entry) = entry.filter(|entry| !self.is_given_up(ctx.catalog, name, entry)) {
                self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Expired, ..entry });
            }
        }
    }

    /// Clears what is known of a name that is not present any more.
    pub(super) fn forget(&mut self, name: Sym) {
        self.waiting.remove(name);
        self.ttl.stop(name, self.responses.next());
        self.unrequested.remove(&name);
    }

    /// Starts or stops the timer of a resource (docs/protocol.md#g-02, docs/protocol.md#g-05).
    pub(super) fn set_deadline(
        &mut self,
        ctx: &mut Context<'_>,
        name: Sym,
        ttl: Option<i64>,
        is_heartbeat: bool,
    ) {
        // Lengths that do not fit are stored as the largest number.
        let ttl = ttl.filter(|ttl| *ttl > 0 && *ttl < i64::MAX).and_then(|ttl| u64::try_from(ttl).ok());
        let ttl = ttl.map(Duration::from_nanos);
        if ttl.is_none() && !self.ttl.records.contains_key(&name) {
            return;
        }
        self.ttl.keep_earlier(name, self.responses.next());
        match ttl {
            Some(ttl) => self.ttl.start(name, ctx.at.after(ttl)),
            None => drop(self.ttl.deadlines.remove(name)),
        }
        let change = TtlChange { n: ctx.seq, at: ctx.at, ttl };
        let event = self.ttl.records.entry(name).or_default().set(change, is_heartbeat);
        if let Some(event) = event {
            ctx.events.add(event, name);
        }
    }

    /// Goes on with the timers of the resources that the client has from the stream before.
    pub(crate) fn carry_ttls(&mut self, ctx: &Context<'_>, prior: &Prior) {
        for (name, deadline) in prior.ttl.deadlines.iter() {
            let entry = self.sent.get(ctx.catalog, name);
            let is_kept = entry.is_some_and(|entry| entry.state == Presence::Kept);
            // The client has a resource that it states, whatever its timer was.
            let is_over = ctx.timed && *deadline <= ctx.at;
            if is_kept && !is_over && !self.ttl.deadlines.contains_key(name) {
                self.ttl.start(name, *deadline);
                self.ttl.records.extend(prior.ttl.records.get(&name).map(|record| (name, record.clone())));
            }
        }
    }
}
