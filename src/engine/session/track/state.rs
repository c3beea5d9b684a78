use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Sym, Time};

use crate::session::condition::{Condition, ConditionKind, Limits};
use crate::session::content::compare::nameless;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Response;
use crate::session::interventions::divergence::Divergence;
use crate::session::subscription::{NameRequest, Owed};
use crate::session::track::Track;
use crate::session::{AbsentBy, Origin, ResourceState, TypeState, Wildcard};
use xdscope_wire::xdstp::lists::LOCATOR;

/// A resource that the client has, and the server owes again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwedAgain {
    /// The server owes a newer version or the removal (docs/protocol.md#f-17), else the resource
    /// once more (docs/protocol.md#f-14).
    pub(crate) is_newer: bool,
    /// The server has removed the resource before the stream, and owes the removal.
    pub(crate) is_removal: bool,
    pub(crate) since: Time,
}

/// The state of a type on an open stream, and when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentState {
    pub(crate) state: TypeState,
    pub(crate) since: Time,
}

impl Track {
    /// Returns the state of the track at `now`: the worst of those that apply.
    pub(crate) fn state(&self, catalog: &Catalog, now: Time, limits: Limits) -> CurrentState {
        let (verdict, answer) = (self.verdicts_owed().next(), self.answer_owed());
        let is_overdue = |condition: &Condition| limits.is_overdue(condition, now);
        let (state, since) = if let Some(open) = self.verdicts.refusal() {
            (TypeState::Nack, open.since)
        } else if let Some(verdict) = verdict.filter(is_overdue) {
            (TypeState::Stale, verdict.since)
        } else if let Some(answer) = answer.filter(is_overdue) {
            (TypeState::Miss, answer.since)
        } else if let Some(at) = self.reported_names(catalog).since {
            (TypeState::Miss, at)
        } else if let Some(verdict) = verdict {
            (TypeState::Sent, verdict.since)
        } else if let Some(answer) = answer {
            (TypeState::Wait, answer.since)
        } else if self.is_unsubscribed() {
            (TypeState::Idle, self.subscription.changed_at.max(self.traffic.began))
        } else if let Some(at) = self.interventions.diverged.as_ref().and_then(Divergence::keeps_push_since) {
            (TypeState::Sent, at)
        } else if self.verdicts.in_force.is_some() || self.verdicts.has_unseen {
            (TypeState::Synced, self.verdicts.last_at.unwrap_or(self.traffic.began))
        } else if let Some(since) = self.refuses_since() {
            (TypeState::Nack, since)
        } else if !self.subscribed.is_empty()
            && self.carried.stray.is_none()
            && (self.accepted.count() > 0 || self.carried.claimed_version.is_some() || self.carried.is_empty)
        {
            // The client has everything that it asks for from an earlier stream
            // (docs/protocol.md#e-19).
            (TypeState::Synced, self.traffic.began)
        } else {
            (TypeState::Idle, self.subscription.changed_at.max(self.traffic.began))
        };
        CurrentState { state, since }
    }

    /// Whether the client is known to subscribe to nothing.
    pub(crate) fn is_unsubscribed(&self) -> bool {
        self.completeness.names_known
            && self.subscribed.names.is_empty()
            && !self.subscribed.may_be_wildcard()
    }

    /// Returns the verdicts that the client owes, on the oldest response first.
    pub(crate) fn verdicts_owed(&self) -> impl Iterator<Item = Condition> {
        self.responses.pending().map(|response| self.verdict_on(response))
    }

    /// Returns the verdict that the client owes on a response.
    pub(crate) fn verdict_on(&self, response: &Response) -> Condition {
        let (kind, since, message) = (ConditionKind::Verdict, response.at, response.seq);
        Condition { kind, since, message, due_from: self.verdict_due_from(response.at) }
    }

    /// Returns the answer that the server owes for the longest time.
    pub(crate) fn answer_owed(&self) -> Option<Condition> {
        let names = self.waiting.oldest_owed().map(NameRequest::condition);
        names.into_iter().chain(self.wildcard_owed()).min_by_key(|condition| condition.since)
    }

    /// Returns the answer that the server owes to the request for the wildcard. A server need not
    /// answer a wildcard for other types than listeners and clusters (docs/protocol.md#l-07).
    pub(crate) fn wildcard_owed(&self) -> Option<Condition> {
        match self.subscription.wildcard_asked {
            Some((at, n)) if self.is_of_full_state() => Some(Condition::answer(at, n)),
            _ => None,
        }
    }

    /// Whether the type has wildcards, and a SotW response lists all of its resources
    /// (docs/protocol.md#e-38, docs/protocol.md#e-32).
    pub(crate) fn is_of_full_state(&self) -> bool {
        self.kind.is_some_and(Kind::full_state)
    }

    /// Whether the server has not sent something that the client asked for.
    pub(crate) fn is_owed(&self) -> bool {
        let is_new = |(_, request): (Sym, &NameRequest)| !request.has_resource;
        self.wildcard_owed().is_some() || self.waiting.iter().any(is_new)
    }

    /// Whether the client has begun with versions that it had before the stream.
    pub(crate) fn states_versions(&self) -> bool {
        self.traffic.begins_with_version || !self.carried.claims.is_empty()
    }

    /// Whether the server owes another version of a resource that the client has from an earlier
    /// stream (docs/protocol.md#f-17).
    pub(crate) fn owes_newer_version(&self, name: Sym, entry: Option<&ResourceEntry>) -> bool {
        if !self.carried.owes_newer || entry.is_none_or(|entry| entry.state != Presence::Kept) {
            return false;
        }
        match self.waiting.get(name) {
            Some(request) => !request.has_resource,
            None => self.owes_all_newer(),
        }
    }

    /// SotW: whether the server owes all resources of a type, of which the client has some at
    /// another version.
    pub(crate) fn owes_all_newer(&self) -> bool {
        self.carried.owes_newer && self.carried.claims.is_empty() && self.wildcard_owed().is_some()
    }

    /// Counts the names that the server owes.
    pub(crate) fn owed(&self, catalog: &Catalog, now: Time, limits: Limits) -> Owed {
        let has_older = |name: Sym| self.owes_newer_version(name, self.sent.get(catalog, name).as_ref());
        let is_late = |request: &NameRequest| limits.is_late(request.since, now);
        let mut owed = self.waiting.count_owed(&is_late, self.carried.owes_newer.then_some(&has_older));
        if self.owes_all_newer() {
            owed.again = self.names_owed_again(catalog).len() as u64;
        }
        owed
    }

    /// Returns the names of resources that the client has, and the server owes again.
    pub(crate) fn names_owed_again(&self, catalog: &Catalog) -> Vec<Sym> {
        if !self.waiting.has_requested_again() && !self.carried.owes_newer {
            return Vec::new();
        }
        let mut names: Vec<Sym> = match self.owes_all_newer() {
            true => self.sent.entries(catalog).iter().map(|(name, _)| *name).collect(),
            false => self.waiting.iter().map(|(name, _)| name).collect(),
        };
        names.retain(|name| self.owed_again(*name, self.sent.get(catalog, *name).as_ref()).is_some());
        names
    }

    /// Returns what the server owes of a resource that the client has.
    pub(crate) fn owed_again(&self, name: Sym, entry: Option<&ResourceEntry>) -> Option<OwedAgain> {
        let request = self.waiting.get(name).filter(NameRequest::is_owed);
        if self.owes_newer_version(name, entry) {
            let since = match request {
                Some(request) => request.since,
                None => self.wildcard_owed()?.since,
            };
            return Some(OwedAgain { is_newer: true, is_removal: self.carried.is_removal_owed(name), since });
        }
        match request {
            Some(request) if request.is_resend => {
                Some(OwedAgain { is_newer: false, is_removal: false, since: request.since })
            }
            _ => None,
        }
    }

    /// Returns the state of a resource at `now`.
    pub(crate) fn resource_state(
        &self,
        catalog: &Catalog,
        name: Sym,
        entry: Option<&ResourceEntry>,
        now: Time,
        limits: Limits,
    ) -> (ResourceState, Option<AbsentBy>) {
        let Some(entry) = entry else {
            return self.state_without_entry(catalog, name, now, limits);
        };
        let state = match entry.state {
            Presence::Again => return self.requested_state(name, now, limits),
            Presence::Absent(by) if self.names(catalog, name, Some(entry)) => {
                let is_glob = self.subscription.globs.contains(catalog, name);
                return (if is_glob { ResourceState::Empty } else { ResourceState::Absent }, Some(by));
            }
            Presence::Absent(by) if self.covers(catalog, name, Some(entry)) => {
                if self.subscribed.wildcard != Wildcard::Unknown {
                    return (ResourceState::Absent, Some(by));
                }
                // The client may have had it before the first message that is known.
                ResourceState::Removed
            }
            Presence::Absent(_) => ResourceState::Released,
            Presence::Removed => ResourceState::Removed,
            Presence::Expired => ResourceState::Expired,
            Presence::Released => ResourceState::Released,
            Presence::Present | Presence::Kept => self.present_state(catalog, name, entry, now, limits),
        };
        (state, None)
    }

    /// Returns the state of a resource that the server has sent, or the client had before.
    fn present_state(
        &self,
        catalog: &Catalog,
        name: Sym,
        entry: &ResourceEntry,
        now: Time,
        limits: Limits,
    ) -> ResourceState {
        let redirects = entry.blob.is_some_and(|id| catalog.text(catalog.entry(id).type_url) == LOCATOR);
        if self.is_given_up(catalog, name, entry) {
            ResourceState::Released
        } else if limits.timed && self.ttl.is_over(name, self.lifetime.ttl_clock(now)) {
            ResourceState::Expired
        } else if redirects {
            ResourceState::Redirected
        } else if entry.state == Presence::Kept {
            ResourceState::Kept
        } else {
            ResourceState::Present
        }
    }

    /// Returns the state of a name for which the server has sent nothing.
    fn state_without_entry(
        &self,
        catalog: &Catalog,
        name: Sym,
        now: Time,
        limits: Limits,
    ) -> (ResourceState, Option<AbsentBy>) {
        if name == Sym::EMPTY {
            return (ResourceState::Absent, None);
        }
        let is_glob = self.subscription.globs.contains(catalog, name);
        match self.waiting.get(name) {
            // The members of a glob answer it (docs/protocol.md#k-19).
            None if is_glob => (ResourceState::Present, None),
            Some(request) if request.has_resource && !request.is_malformed => {
                // A glob has no entry of its own: its members do.
                let has_members = request.is_resend && is_glob;
                (if has_members { ResourceState::Present } else { ResourceState::Kept }, None)
            }
            _ => self.requested_state(name, now, limits),
        }
    }

    /// Returns the state of a resource that the client has requested, and does not have.
    fn requested_state(&self, name: Sym, now: Time, limits: Limits) -> (ResourceState, Option<AbsentBy>) {
        let Some(request) = self.waiting.get(name) else {
            let is_unclassified = self.subscription.unclassified.contains_key(&name);
            return (if is_unclassified { ResourceState::Released } else { ResourceState::Waiting }, None);
        };
        if request.is_malformed {
            return (ResourceState::Absent, None);
        }
        // Nothing is waited for once the stream has ended.
        if !request.is_served && limits.is_late(request.since, self.lifetime.clock(now)) {
            return (ResourceState::Absent, Some(AbsentBy::Timer));
        }
        (ResourceState::Waiting, None)
    }

    /// Whether the client has ended its subscription to a resource, so that nobody refreshes it.
    pub(crate) fn is_given_up(&self, catalog: &Catalog, name: Sym, entry: &ResourceEntry) -> bool {
        !self.unrequested.contains(&name) && !self.covers(catalog, name, Some(entry))
    }

    /// Whether a subscribed glob has a member.
    pub(crate) fn has_members(&self, catalog: &Catalog, glob: Sym) -> bool {
        let mut present = self.sent.present_entries(catalog);
        present.any(|(name, _)| self.subscription.globs.with_member(catalog, name).contains(&glob))
    }

    /// Returns why a resource is on the track.
    pub(crate) fn origin(&self, catalog: &Catalog, name: Sym, entry: Option<&ResourceEntry>) -> Origin {
        if self.names(catalog, name, entry) {
            Origin::Named
        } else if self.glob_of(catalog, name).is_some() {
            Origin::Glob
        } else if self.subscribed.is_wildcard() {
            Origin::Wildcard
        } else if !self.completeness.names_known
            || self.subscribed.may_be_wildcard()
            || nameless(name).is_some()
        {
            // A resource without a name may have been requested (docs/protocol.md#a-18).
            Origin::Unknown
        } else if self.unrequested.contains(&name) {
            Origin::Unrequested
        } else if self.subscription.was_wildcard {
            // Released since, by name or with the wildcard.
            Origin::Wildcard
        } else if self.completeness.has_lost {
            Origin::Unknown
        } else {
            Origin::Named
        }
    }

    /// Whether the client ignores a resource that it has not requested (docs/protocol.md#e-35).
    pub(crate) fn is_ignored(&self, catalog: &Catalog, name: Sym, entry: &ResourceEntry) -> bool {
        self.unrequested.contains(&name) && self.origin(catalog, name, Some(entry)) == Origin::Unrequested
    }

    /// Counts the resources that the client has from before the first message that is known.
    fn count_claimed(&self, catalog: &Catalog) -> usize {
        if !self.waiting.has_requested_again() {
            return 0;
        }
        let mut claimed = 0;
        for (name, request) in self.waiting.iter() {
            let is_glob = request.is_resend && self.subscription.globs.contains(catalog, name);
            if request.has_resource && !is_glob && self.sent.get(catalog, name).is_none() {
                claimed += 1;
            }
        }
        claimed
    }

    /// Returns the number of resources that the client has and wants: not removed, released,
    /// expired or ignored.
    pub(crate) fn present(&self, catalog: &Catalog, now: Time, limits: Limits) -> u64 {
        let claimed = self.count_claimed(catalog);
        let has_all = self.aliases.is_empty() && self.unrequested.is_empty();
        if self.ttl.deadlines.is_empty() && has_all && !self.subscription.has_released {
            return (self.sent.count() + claimed) as u64;
        }
        // Counting visits each resource, so the result is cached until the next message. With times
        // to live the result depends on the clock.
        let messages = self.traffic.messages();
        let known =
            self.counts.present.get().filter(|(at, _)| *at == messages && self.ttl.deadlines.is_empty());
        if let Some((_, count)) = known {
            return count;
        }
        let has_ended = |name: Sym, entry: &ResourceEntry| {
            let (state, _) = self.resource_state(catalog, name, Some(entry), now, limits);
            matches!(state, ResourceState::Released | ResourceState::Expired)
                || self.is_ignored(catalog, name, entry)
        };
        let entries = self.sent.present_entries(catalog);
        let present = entries.filter(|(name, entry)| !has_ended(*name, entry)).count();
        let count = (present + claimed) as u64;
        self.counts.present.set((messages, count));
        count
    }
}
