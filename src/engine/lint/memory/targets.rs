//! Targets of redirects and members of lists, which the client should request next.

use super::track::{PendingTarget, TargetOrigin};
use crate::lint::alarm::Alarm;
use crate::lint::context::RuleContext;
use crate::lint::exchange::{RequestContext, ResponseContext};
use crate::lint::structured::{LOCATOR, ListEntry, Locator, alternative, entries, value};
use crate::session::{MessageKind, ResourceEntry, Track};
use xdscope_wire::event::Sym;

/// Targets to remember per type.
const MAX_TARGETS: usize = 4096;

impl RuleContext<'_> {
    /// Whether the client requests the name on an open stream, or has very many streams.
    pub(crate) fn is_requested(&self, canonical: &str) -> bool {
        let catalog = self.catalog();
        let name = catalog.strings().find(canonical).map(|name| catalog.first_spelling(name));
        let Some(mut streams) = self.store.engine().open_of_client(self.stream) else { return true };
        let requests = |track: &Track| {
            name.is_some_and(|name| track.subscribed.names.contains(name))
                || !track.subscription.globs.with_member_named(canonical).is_empty()
        };
        streams.any(|(_, stream)| stream.known_tracks().any(requests))
    }

    /// Remembers what the client should request after the response.
    pub(crate) fn note_targets(&mut self, response: &ResponseContext<'_>) {
        for (name, locator) in &response.scan.redirects {
            self.note_target(TargetOrigin::Redirect, *name, locator);
        }
        for (name, entries) in &response.scan.collections {
            for entry in entries {
                if let ListEntry::Locator(locator) = entry {
                    self.note_target(TargetOrigin::List, *name, locator);
                }
            }
        }
    }

    /// Whether the resource that the client has still leads to the target: a redirect that became
    /// content, or a list without the member, does not.
    pub(crate) fn is_current(&self, target: &PendingTarget) -> bool {
        let (catalog, Some(track)) = (self.catalog(), self.current_track()) else { return false };
        let entry = track.accepted.get(catalog, target.resource).filter(ResourceEntry::is_present);
        let Some(payload) = entry.and_then(|entry| catalog.entry(entry.blob?).payload) else { return false };
        let Some(any) = catalog.bytes(payload) else { return true };
        let value = value(&any);
        if target.origin == TargetOrigin::Redirect {
            let redirects = catalog.text(catalog.entry(payload).type_url) == LOCATOR;
            return redirects && Locator::read(value).is_some_and(|locator| locator.target() == target.name);
        }
        entries(value).iter().any(|entry| match entry {
            ListEntry::Locator(locator) => locator.target() == target.name,
            _ => false,
        })
    }

    /// Remembers a target that the client has to request, and its alternative.
    fn note_target(&mut self, origin: TargetOrigin, resource: Sym, locator: &Locator) {
        let Some(seq) = self.seq else { return };
        if self.state.references.targets.len() < MAX_TARGETS {
            let name = locator.target();
            self.state.references.targets.push(PendingTarget { name, resource, seq, origin, accepted: None });
        }
        if let Some(alternative) = alternative(&locator.uri) {
            self.source_state.note_alternative(&locator.uri, &alternative);
        }
    }

    /// Starts the timer for the targets of an accepted response, and drops those of a rejected one.
    pub(crate) fn settle_targets(&mut self, request: &RequestContext<'_>) {
        let Some(answered) = request.outcome.answers else { return };
        if self.state.references.targets.is_empty() {
            return;
        }
        let at = self.at;
        if request.outcome.kind != MessageKind::Ack {
            return self.state.references.targets.retain(|target| target.seq != answered);
        }
        for target in self.state.references.targets.iter_mut().filter(|target| target.seq == answered) {
            target.accepted = Some(at);
        }
        self.arm(Alarm::Targets, at.after(self.options.timers.answer));
    }

    /// Drops the targets that were checked, and sets the timer for the others.
    pub(crate) fn drop_expired_targets(&mut self) {
        let (at, limit) = (self.at, self.options.timers.answer);
        self.state
            .references
            .targets
            .retain(|target| target.accepted.is_none_or(|since| at.since(since) < limit));
        if let Some(next) = self.state.references.targets.iter().filter_map(|target| target.accepted).min() {
            self.arm(Alarm::Targets, next.after(limit));
        }
    }
}
