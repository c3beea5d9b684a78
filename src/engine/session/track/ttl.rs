//! Times to live of the resources of a track (docs/protocol.md#g-02).

use std::collections::HashMap;
use std::time::Duration;

use crate::session::Context;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Order;
use crate::session::events::{TtlChange, TtlRecord};
use crate::session::track::prior::Prior;
use xdscope_wire::event::{DenseHash, Sym, Time};

use super::Track;

/// Earlier times to live that are kept; of more, the oldest are forgotten.
const MAX_EARLIER: usize = 1 << 14;

/// The time to live of a resource before a response that the client may still refuse.
#[derive(Clone, Debug)]
pub(crate) struct EarlierTtl {
    /// The response.
    order: Order,
    pub(super) name: Sym,
    deadline: Option<Time>,
    record: Option<TtlRecord>,
}

impl Track {
    /// Returns the time for the timers of the resources: a client keeps them when the stream ends,
    /// until a later stream takes over (docs/protocol.md#g-02).
    pub(crate) fn ttl_clock(&self, now: Time) -> Time {
        self.replaced.map_or(now, |at| now.min(at))
    }

    /// Marks resources as expired whose time to live is over, unless the client has given them up.
    /// A response at the last moment is in time.
    pub(super) fn expire(&mut self, ctx: &mut Context<'_>) {
        if !ctx.timed || self.next_expiry.is_none_or(|next| next >= ctx.at) {
            return;
        }
        self.next_expiry = self.deadlines.values().copied().filter(|at| *at >= ctx.at).min();
        let over: Vec<Sym> =
            self.deadlines.iter().filter(|(_, at)| **at < ctx.at).map(|(name, _)| name).collect();
        for name in over {
            let slot = self.sent.get(ctx.catalog, name).filter(ResourceEntry::is_present);
            if let Some(slot) = slot.filter(|slot| !self.is_given_up(ctx.catalog, name, slot)) {
                self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Expired, ..slot });
            }
        }
    }

    /// Clears what is known of a name that is not present any more.
    pub(super) fn forget(&mut self, name: Sym) {
        self.waiting.remove(name);
        if self.deadlines.contains_key(name) {
            self.keep_earlier_ttl(name);
        }
        self.deadlines.remove(name);
        self.ttls.remove(&name);
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
        if ttl.is_none() && !self.ttls.contains_key(&name) {
            return;
        }
        self.keep_earlier_ttl(name);
        match ttl {
            Some(ttl) => {
                self.start_timer(name, ctx.at.after(ttl));
            }
            None => {
                self.deadlines.remove(name);
            }
        }
        let change = TtlChange { n: ctx.seq, at: ctx.at, ttl };
        let event = self.ttls.entry(name).or_default().set(change, is_heartbeat);
        event.into_iter().for_each(|event| ctx.events.add(event, name));
    }

    fn start_timer(&mut self, name: Sym, deadline: Time) {
        self.deadlines.insert(name, deadline);
        self.next_expiry = Some(self.next_expiry.map_or(deadline, |next| next.min(deadline)));
    }

    /// Keeps the time to live of a name that the current response changes.
    fn keep_earlier_ttl(&mut self, name: Sym) {
        let order = self.responses.next();
        let deadline = self.deadlines.get(name).copied();
        if self.earlier_ttls.len() >= MAX_EARLIER {
            self.earlier_ttls.drain(..MAX_EARLIER / 2);
        }
        self.earlier_ttls.push(EarlierTtl { order, name, deadline, record: self.ttls.get(&name).cloned() });
    }

    /// Takes back the times to live of a refused response: the client does not restart the timers
    /// of resources that it refuses.
    pub(super) fn restore_ttls(&mut self, order: Order) {
        if self.earlier_ttls.is_empty() {
            return;
        }
        let mut refused: HashMap<Sym, EarlierTtl, DenseHash> = HashMap::default();
        let mut kept: Vec<EarlierTtl> = Vec::new();
        for mut earlier in std::mem::take(&mut self.earlier_ttls) {
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
        self.earlier_ttls = kept;
        refused.into_values().for_each(|EarlierTtl { name, deadline, record, .. }| {
            match deadline {
                Some(deadline) => self.start_timer(name, deadline),
                None => drop(self.deadlines.remove(name)),
            }
            match record {
                Some(record) => drop(self.ttls.insert(name, record)),
                None => drop(self.ttls.remove(&name)),
            }
        });
        self.drop_settled_ttls();
    }

    /// Forgets the times to live before an accepted response.
    pub(super) fn confirm_ttls(&mut self, order: Order) {
        if self.earlier_ttls.is_empty() {
            return;
        }
        let accepted = self.earlier_ttls.iter().filter(|earlier| earlier.order == order);
        let accepted: super::SymSet = accepted.map(|earlier| earlier.name).collect();
        self.earlier_ttls.retain(|earlier| earlier.order > order || !accepted.contains(&earlier.name));
        self.drop_settled_ttls();
    }

    /// Forgets the times to live before responses that await no verdict.
    fn drop_settled_ttls(&mut self) {
        let responses = &self.responses;
        self.earlier_ttls.retain(|earlier| responses.is_pending(earlier.order));
    }

    /// Goes on with the timers of the resources that the client has from the stream before.
    pub(crate) fn carry_ttls(&mut self, ctx: &Context<'_>, prior: &Prior) {
        for (name, deadline) in prior.deadlines.iter() {
            let slot = self.sent.get(ctx.catalog, name);
            let is_kept = slot.is_some_and(|slot| slot.state == Presence::Kept);
            // The client has a resource that it states, whatever its timer was.
            let is_over = ctx.timed && *deadline <= ctx.at;
            if is_kept && !is_over && !self.deadlines.contains_key(name) {
                self.start_timer(name, *deadline);
                self.ttls.extend(prior.ttls.get(&name).map(|record| (name, record.clone())));
            }
        }
    }
}
