//! Memory of a request, updated after all rules have checked the request.

use super::track::TrackState;
use super::track::{MAX_NAMES, MAX_REJECTED, MAX_RESPONSES};
use crate::lint::alarm::Alarm;
use crate::lint::context::RuleContext;
use crate::lint::exchange::RequestContext;
use crate::session::{MessageKind, RequestClass, SETTLE_TIME, Track, Wildcard, can_warm, is_needed};
use xdscope_wire::event::{Kind, Sym};

impl RuleContext<'_> {
    /// Remembers a request for the messages that follow.
    pub(crate) fn note_request(&mut self, request: &RequestContext<'_>) {
        self.arm_settled(request);
        let RequestContext { track, outcome, .. } = request;
        let is_wildcard = track.subscribed.is_wildcard();
        let ends_wildcard = !matches!(outcome.was, Wildcard::None | Wildcard::Unknown) && !is_wildcard;
        let at = self.at;
        let state = &mut *self.state;
        state.requests.requests_since_response += 1;
        let is_stale = request.has_class(RequestClass::StaleNonce) && outcome.answers.is_none();
        state.requests.stale_requests_since_response += u32::from(is_stale);
        state.requests.has_new_names |= !outcome.added.is_empty();
        state.requests.names_added_at =
            if outcome.added.is_empty() { state.requests.names_added_at } else { Some(at) };
        state.requests.has_changed_names |=
            !outcome.added.is_empty() || !outcome.removed.is_empty() || ends_wildcard;
        if let Some(body) = request.sotw()
            && outcome.first
        {
            state.versions.stated_version = Some(body.version_info.clone());
        }
        // The timers of resources from the stream before continue.
        if let Some(deadline) = track.ttl.deadlines.values().min().copied()
            && outcome.first
        {
            self.arm(Alarm::Ttl, deadline);
        }
        // The client owes requests for the endpoints of clusters that it has accepted.
        if outcome.kind == MessageKind::Ack && can_warm(track.kind) && !track.warming.is_empty() {
            self.arm(Alarm::Warming, at.after(self.options.timers.warm));
        }
        self.restore_references(request);
        self.drop_references(request);
        let state = &mut *self.state;
        note_verdict(state, request);
        state.note_spellings(self.store.catalog(), request.names());
        self.settle_targets(request);
        self.note_unsubscribed_names(request, ends_wildcard);
        let state = &mut *self.state;
        let is_empty = track.subscription.last_names.as_ref().is_some_and(|names| names.is_empty());
        state.requests.emptied_at = if is_empty && track.subscription.was_named {
            state.requests.emptied_at.or(Some(at))
        } else {
            None
        };
        state.requests.missing_from_ack = match self.seq {
            Some(seq) if outcome.kind == MessageKind::Ack && !outcome.removed.is_empty() => {
                Some((seq, at, outcome.removed.iter().copied().take(MAX_NAMES).collect()))
            }
            _ => None,
        };
        if request.delta().is_some() {
            self.note_delta_request(request);
        } else if !outcome.added.is_empty() {
            self.arm_waiting(track);
        }
    }

    /// Remembers when the client gave up names.
    fn note_unsubscribed_names(&mut self, request: &RequestContext<'_>, ends_wildcard: bool) {
        let outcome = request.outcome;
        let (at, timers) = (self.at, self.options.timers);
        let state = &mut *self.state;
        for name in &outcome.added {
            state.requests.unsubscribed.remove(name);
        }
        if state.requests.unsubscribed.len() + outcome.removed.len() > MAX_NAMES {
            // Too many to remember: for a while rules cannot know what the client wants.
            state.requests.unsubscribed.retain(|_, since| at.since(*since) <= timers.ack);
            state.requests.wildcard_ended_at = Some(at);
        }
        for name in &outcome.removed {
            state.note_unsubscribed(*name, at);
            state.responses.left_out.remove(name);
        }
        if ends_wildcard {
            state.requests.wildcard_ended_at = Some(at);
            state.responses.left_out.clear();
        }
    }

    /// Remembers what a delta request states and subscribes to again.
    fn note_delta_request(&mut self, request: &RequestContext<'_>) {
        let Some(body) = request.delta() else { return };
        let (at, outcome) = (self.at, request.outcome);
        let state = &mut *self.state;
        // A held name without a subscription may well be removed by the server.
        if outcome.first {
            for name in body.initial_resource_versions.keys() {
                state.note_unsubscribed(*name, at);
            }
        }
        let subscribed = body.subscribe.len() + body.locators_subscribe.len();
        state.requests.has_resubscribed |= subscribed > outcome.added.len();
        let is_old = outcome.referenced.is_some_and(|response| !response.newest)
            || request.has_class(RequestClass::SettledNonce);
        if is_old && state.requests.added_by_stale_requests.len() < MAX_NAMES {
            state.requests.added_by_stale_requests.extend(outcome.added.iter().take(MAX_NAMES));
        }
        let (track, catalog) = (request.track, self.catalog());
        let is_owed = |name: &Sym| {
            let owed = track.subscription.unclassified.get(&track.canonical(catalog, *name));
            owed.is_some_and(|(_, seq)| Some(*seq) == self.seq)
        };
        // Names that were unsubscribed under a wildcard (docs/protocol.md#f-26).
        if outcome.removed.iter().any(is_owed) {
            self.arm(Alarm::Reclassify, self.at.after(self.options.timers.answer));
        }
        if !body.subscribe.is_empty() || !body.locators_subscribe.is_empty() {
            self.arm_waiting(track);
        }
    }

    /// Sets the timers of a new stream with its first request, and those of names that the client
    /// gives up.
    fn arm_settled(&mut self, request: &RequestContext<'_>) {
        let at = self.at.after(SETTLE_TIME);
        let is_first = self.stream.traffic.requests == 1;
        if is_first {
            self.arm_stream(Alarm::Settled, at);
        }
        let goes_on = is_first && self.stream.chain.reconnect_of.is_some();
        let is_used = is_needed(request.track.kind) || request.track.kind == Some(Kind::Cds);
        let released = request.track.subscription.wildcard_released;
        let ends_wildcard = released.is_some_and(|(n, _)| Some(n) == self.seq);
        let gives_up = is_used && (ends_wildcard || !request.outcome.removed.is_empty());
        if goes_on || gives_up {
            self.arm_stream(Alarm::Unsubscribed, at);
        }
    }

    /// Sets the timers of names that the client waits for, maybe since the stream before.
    fn arm_waiting(&mut self, track: &Track) {
        let (at, timers) = (self.at, self.options.timers);
        let goes_on = track.traffic.requests == 1;
        let since = if goes_on { track.waiting.oldest().map_or(at, |since| since.min(at)) } else { at };
        self.arm(Alarm::Waiting, since.after(timers.answer).max(at));
        self.arm(Alarm::Missing, since.after(timers.exist).max(at));
    }
}

/// Moves the response that a verdict settles.
fn note_verdict(state: &mut TrackState, request: &RequestContext<'_>) {
    let outcome = request.outcome;
    if !outcome.skipped.is_empty() {
        state.responses.pending.retain(|sent| !outcome.skipped.contains(&sent.seq));
    }
    let Some(answered) = outcome.answers else { return };
    let Some(index) = state.responses.pending.iter().position(|sent| sent.seq == answered) else { return };
    let Some(sent) = state.responses.pending.remove(index) else { return };
    if outcome.kind == MessageKind::Ack {
        if state.versions.acked_versions.back() != Some(&sent.version) {
            if state.versions.acked_versions.len() == MAX_RESPONSES {
                state.versions.acked_versions.pop_front();
            }
            state.versions.acked_versions.push_back(sent.version);
        }
        // Content that was accepted later may be sent again.
        state.responses.rejected.retain(|old| old.list.fingerprint() != sent.list.fingerprint());
    } else if outcome.kind == MessageKind::Nack {
        if state.responses.rejected.len() == MAX_REJECTED {
            state.responses.rejected.pop_front();
        }
        state.responses.rejected.push_back(sent);
    }
}
