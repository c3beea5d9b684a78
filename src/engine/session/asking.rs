use crate::wire::event::{Seq, Sym};

use super::resource_set::{Presence, ResourceEntry};
use super::subscription::Asked;
use super::track::Track;
use super::{Context, xdstp};

/// Changes of the subscription that SotW and delta have in common.
impl Track {
    pub(crate) fn asked(&self, ctx: &Context<'_>) -> Asked {
        Asked {
            since: ctx.at,
            first: ctx.seq,
            last: ctx.seq,
            nth: self.traffic.requests,
            times: 1,
            held: false,
        }
    }

    /// Adds a name to the subscription. `covered`: the wildcard or a glob covered the name before.
    pub(crate) fn begin(&mut self, ctx: &mut Context<'_>, name: Sym, covered: bool, delta: bool) {
        if ctx.specials.structured && xdstp::is_glob(ctx.catalog.text(name)) {
            self.subscription.globs.push(name);
        }
        let asked = self.asked(ctx);
        let canonical = self.canonical(ctx.catalog, name);
        match self.sent.get(ctx.catalog, canonical) {
            Some(slot) if slot.is_present() && (covered || self.unasked.remove(&canonical)) => {
                // The server owes the resource although the client has it (docs/protocol.md#e-36,
                // docs/protocol.md#f-14), except for a SotW member of the wildcard that is now
                // named.
                if delta || !covered {
                    self.waiting.ask(canonical, Asked { held: true, ..asked });
                }
            }
            Some(slot) => {
                self.sent.put(ctx.catalog, canonical, ResourceEntry { state: Presence::Again, ..slot });
                self.waiting.ask(canonical, asked);
            }
            None => self.waiting.ask(name, asked),
        }
    }

    /// Removes a name from the subscription.
    pub(crate) fn end(&mut self, ctx: &mut Context<'_>, name: Sym) {
        self.subscription.has_released = true;
        self.subscription.globs.retain(|glob| *glob != name);
        self.waiting.done(name);
        if let Some(slot) = self.sent.get(ctx.catalog, name).filter(|slot| slot.state == Presence::Again) {
            self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Released, ..slot });
        }
    }

    /// Records that the wildcard was added or removed.
    pub(crate) fn wildcard_changed(&mut self, ctx: &Context<'_>, was: bool) {
        self.subscription.was_wildcard |= self.want.is_wildcard();
        self.subscription.has_released |= was && !self.want.is_wildcard();
        match (was, self.want.is_wildcard()) {
            // A client without on-demand routes opens VHDS with an empty request, which is not a
            // wildcard (docs/protocol.md#a-05).
            (false, true) if self.kind != Some(crate::wire::event::Kind::Vhds) => {
                self.subscription.wildcard_owed = Some((ctx.at, ctx.seq));
            }
            (true, false) => self.subscription.wildcard_owed = None,
            _ => {}
        }
    }

    /// Counts a request. `news`: the request asks for something new.
    pub(crate) fn count_request(&mut self, ctx: &Context<'_>, news: bool) {
        self.traffic.requests += 1;
        self.traffic.last_request = Some(ctx.seq);
        if news {
            self.traffic.unanswered = Some(ctx.seq);
        }
    }

    /// The requests that asked for a waiting name: their number, the first and the last.
    pub(crate) fn times_asked(&self, asked: &Asked, delta: bool) -> (u64, Seq, Seq) {
        if delta {
            return (u64::from(asked.times), asked.first, asked.last);
        }
        let last = self.traffic.last_request.unwrap_or(asked.last);
        (u64::from(self.traffic.requests.saturating_sub(asked.nth).max(1)), asked.first, last)
    }
}
