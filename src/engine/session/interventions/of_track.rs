//! Interventions of xdscope in one type, and whether both sides agree again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::divergence::{Agreement, Consequence, Divergence, SettlingMessage};
use super::doubled_request::DoubledRequest;
use crate::session::outcome::{Outcome, SessionEvent};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time};
use xdscope_wire::{InterventionFacts, Message, MessageBody};

/// Interventions of xdscope in a type on a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackInterventions {
    /// Both sides believe different things, because of xdscope.
    pub(crate) diverged: Option<Divergence>,
    /// The newest request that xdscope has sent twice, or without what the client has.
    pub(super) doubled: Option<DoubledRequest>,
    /// The last time at which both sides agreed again.
    pub(crate) agreed: Option<Agreement>,
}

impl TrackInterventions {
    /// Returns the intervention of xdscope that has caused something about the type, if one has.
    pub(in crate::session) fn caused_by(&self, what: &Consequence<'_>) -> Option<&Arc<InterventionFacts>> {
        let doubled = self.doubled.as_ref().and_then(DoubledRequest::cause);
        self.diverged.as_ref().map(|diverged| diverged.cause_of(what)).or(doubled)
    }

    /// Whether the client has not received a push of the type that xdscope has changed.
    pub(super) fn awaits_changed_push(&self) -> bool {
        self.diverged.as_ref().is_some_and(Divergence::awaits_changed_push)
    }

    /// Takes a push for the changed one. Returns the divergence of the type that the push states.
    pub(super) fn claim_changed_push(&mut self, n: Option<Seq>) -> Option<Divergence> {
        self.diverged.as_mut().map(|diverged| diverged.claim(n))
    }

    /// Ends the divergence once both sides agree again.
    pub(super) fn note_agreement(&mut self, outcome: &Outcome, message: &Message, catalog: &Catalog) {
        let Some(diverged) = &mut self.diverged else { return };
        let text = |name: &Sym| catalog.text(*name);
        let nonce = message.response().map_or("", |response| response.nonce.as_str());
        match &outcome.what {
            _ if !diverged.has_lost() => {}
            SessionEvent::Response(_) if diverged.is_altered(nonce) => {}
            SessionEvent::Response(_) => {
                for name in &names_of(message, catalog) {
                    diverged.served(text(name));
                }
            }
            SessionEvent::Request(request) => {
                for name in &request.removed {
                    diverged.give_up(text(name));
                }
                for (name, _) in &changes_of(message) {
                    diverged.asked(text(name));
                }
                if let MessageBody::SotwRequest(request) = &message.body {
                    let names: BTreeSet<&str> = request.resource_names.iter().map(text).collect();
                    diverged.restated(|name| names.contains(name));
                }
            }
            _ => return,
        }
        let (kind, answers) = match &outcome.what {
            SessionEvent::Response(response) => (response.kind, None),
            SessionEvent::Request(request) => (request.kind, request.answers),
            _ => return,
        };
        let message = SettlingMessage { kind, nonce, n: outcome.seq, answers };
        if let Some(over) = self.diverged.take_if(|diverged| diverged.settles_with(&message)) {
            self.agree(over.since, outcome.at);
        }
    }

    /// Notes that both sides agree again.
    pub(super) fn agree(&mut self, since: Time, at: Time) {
        let longest = self.agreed.map_or(at.since(since), |before| before.longest.max(at.since(since)));
        self.agreed = Some(Agreement { at, longest });
    }
}

/// Returns the names of the resources of a response, and of those that it removes.
fn names_of(message: &Message, catalog: &Catalog) -> Vec<Sym> {
    let Some(response) = message.response() else { return Vec::new() };
    let sent = response.resources.blobs().iter().map(|id| catalog.name(*id));
    sent.chain(response.removed.iter().copied()).collect()
}

/// Returns the names that a delta request changes, with whether it subscribes them.
pub(super) fn changes_of(message: &Message) -> BTreeSet<(Sym, bool)> {
    let MessageBody::DeltaRequest(request) = &message.body else { return BTreeSet::new() };
    let comes = request.subscribe.iter().chain(&request.locators_subscribe).map(|name| (*name, true));
    let leaves = request.unsubscribe.iter().chain(&request.locators_unsubscribe).map(|name| (*name, false));
    leaves.chain(comes).collect()
}
