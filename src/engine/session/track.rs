pub(super) mod answer;
pub(super) mod answer_verdict;
mod answered;
mod cache;
mod carried;
pub(super) mod claims;
mod completeness;
pub(super) mod delta;
mod earlier_refusals;
pub(super) mod file;
mod in_force;
mod lifetime;
pub(super) mod polls;
pub(super) mod prior;
mod reported;
mod response;
pub(super) mod sotw;
pub(super) mod state;
mod subscription_state;
mod traffic;
mod ttl;
mod verdict;

pub use cache::CacheCounts;
pub(crate) use carried::{Carried, StrayAnswer};
pub(crate) use earlier_refusals::EarlierRefusals;
pub(crate) use reported::ReportedError;
pub(crate) use subscription_state::Subscription;
pub(crate) use traffic::Traffic;
pub(crate) use verdict::{EarlierNacks, Verdicts, latencies_of};

use std::sync::Arc;

use xdscope_wire::InterventionFacts;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Kind, Sym, Time, TypeUrl};

use super::Wildcard;
use super::subscription::{PendingNames, SubscribedNames};
use crate::session::content::compare::mark_key;
use crate::session::content::names::{SymMap, SymSet};
use crate::session::content::refusals::Refusals;
use crate::session::content::resource_set::{Presence, ResourceEntry, ResourceSet};
use crate::session::content::responses::{RESPONSE_BYTES, Responses};
use crate::session::interventions::divergence::Consequence;
use crate::session::interventions::of_track::TrackInterventions;
use crate::session::warming::batches::WarmingBatches;

use cache::CountCache;
use completeness::Completeness;
use lifetime::Lifetime;
use ttl::TimesToLive;

/// Estimated memory of a name in one of the maps of a track.
const NAME_BYTES: usize = 56;

/// One type on one stream: what the client wants, what it was sent, and what it accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(crate) type_url: TypeUrl,
    pub(crate) kind: Option<Kind>,
    pub(crate) completeness: Completeness,
    /// A REST track: each request is the verdict on the response before it, with a nonce or without
    /// (docs/protocol.md#d-02).
    pub(crate) polled: bool,
    /// The names of the current subscription.
    pub(crate) subscribed: SubscribedNames,
    pub(crate) subscription: Subscription,
    /// Names that the client requested and the server has not sent since.
    pub(crate) waiting: PendingNames,
    pub(crate) responses: Responses,
    pub(crate) verdicts: Verdicts,
    /// The server's view: everything that was sent, accepted or not.
    pub(crate) sent: ResourceSet,
    /// The client's view: everything that it has accepted.
    pub(crate) accepted: ResourceSet,
    /// Resources in responses that the client refused (docs/protocol.md#f-34).
    pub(crate) refused: Refusals,
    /// Names that were sent and never requested.
    pub(crate) unrequested: SymSet,
    /// Alias to name (docs/protocol.md#f-30).
    pub(crate) aliases: SymMap<Sym>,
    pub(crate) ttl: TimesToLive,
    pub(crate) interventions: TrackInterventions,
    pub(crate) lifetime: Lifetime,
    /// Errors that the server has reported, by the name of the resource.
    pub(crate) errors: SymMap<ReportedError>,
    /// Whether the server ever reported a name as missing.
    pub(crate) had_absent: bool,
    pub(crate) traffic: Traffic,
    pub(crate) carried: Carried,
    /// Resources that wait for others before the client uses them (docs/protocol.md#h-01).
    pub(crate) warming: WarmingBatches,
    pub(super) counts: CountCache,
}

impl Track {
    /// Returns a track that begins at a time. `partial`: messages before that are missing.
    pub(crate) fn new(type_url: TypeUrl, partial: bool, at: Time) -> Track {
        let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
        let traffic = Traffic { began: at, ..Traffic::default() };
        let mut track = Track { type_url, kind, traffic, ..Track::default() };
        if partial {
            track.lose_messages();
        }
        track
    }

    /// Marks the contents and names of the track as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.subscribed.mark(used);
        self.subscription.mark(used);
        self.waiting.mark(used);
        self.responses.mark(used);
        self.sent.mark(used);
        self.accepted.mark(used);
        self.refused.mark(used);
        self.carried.mark(used);
        self.warming.mark(used);
        self.ttl.mark(used);
        let aliases = self.aliases.iter().flat_map(|(alias, name)| [alias, name]);
        let names = aliases.chain(self.errors.keys()).chain(&self.unrequested);
        names.for_each(|name| mark_key(used, *name));
    }

    /// Estimates the memory of the track, in bytes, without what tracks have in common.
    pub(super) fn memory(&self) -> usize {
        let names = self.subscribed.names.own_len()
            + self.waiting.own_len()
            + self.sent.own_len()
            + self.accepted.own_len()
            + self.refused.names().count()
            + self.carried.refusals.names().count()
            + self.unrequested.len()
            + self.aliases.len()
            + self.ttl.len()
            + self.errors.len();
        size_of::<Track>() + names * NAME_BYTES + self.responses.len() * RESPONSE_BYTES
    }

    /// Records that messages are missing.
    pub(crate) fn lose_messages(&mut self) {
        self.completeness.lose_before(self.responses.next());
        self.verdicts.forget_unseen();
        self.subscription.names_after_wildcard = None;
        // Whether the client ignores a resource depends on the names that are known.
        self.counts = CountCache::default();
        if self.traffic.requests == 0 {
            self.completeness.start_unseen = true;
            self.subscribed.wildcard = Wildcard::Unknown;
        }
    }

    /// Returns the intervention of xdscope that has caused something about the type, if one has.
    pub(crate) fn caused_by(&self, what: &Consequence<'_>) -> Option<&Arc<InterventionFacts>> {
        self.interventions.caused_by(what)
    }

    /// Whether no message about a resource is missing since the response with its entry.
    pub(crate) fn is_current(&self, entry: &ResourceEntry) -> bool {
        !self.completeness.has_lost
            || (entry.order >= self.completeness.last_gap && entry.state != Presence::Kept)
    }

    /// Whether all resources that the server has sent are known: no message is missing, or a SotW
    /// response has restated all resources since (docs/protocol.md#e-32).
    pub(crate) fn knows_all_resources(&self, is_delta: bool) -> bool {
        let is_restated = !is_delta
            && self.kind.is_some_and(Kind::full_state)
            && self.responses.newest().is_some_and(|newest| newest >= self.completeness.last_gap);
        !self.completeness.has_lost || is_restated
    }

    /// Whether the next request may be the first of the track: nothing recorded shows another one.
    pub(crate) fn may_start(&self) -> bool {
        let is_first_message = self.responses.next() == 0;
        self.traffic.requests == 0 && (is_first_message || !self.completeness.start_unseen)
    }

    /// Whether the client subscribes to the name: directly, by an alias, by a glob or by the
    /// wildcard.
    pub(crate) fn covers(&self, catalog: &Catalog, name: Sym, entry: Option<&ResourceEntry>) -> bool {
        self.subscribed.may_be_wildcard()
            || self.names(catalog, name, entry)
            || self.glob_of(catalog, name).is_some()
    }

    /// Whether the client subscribes to the name directly or by an alias.
    pub(crate) fn names(&self, catalog: &Catalog, name: Sym, entry: Option<&ResourceEntry>) -> bool {
        if self.subscribed.names.contains(catalog.first_spelling(name)) {
            return true;
        }
        if self.aliases.is_empty() {
            return false;
        }
        let Some(entry) = entry else { return false };
        let Some(blob) = entry.blob else { return false };
        for alias in catalog.entry(blob).aliases {
            let alias = catalog.first_spelling(*alias);
            // The alias of a resource that is gone may be that of another resource now.
            let is_own = entry.is_present()
                || self.aliases.get(&alias).is_none_or(|owner| *owner == catalog.first_spelling(name));
            if is_own && self.subscribed.names.contains(alias) {
                return true;
            }
        }
        false
    }

    /// Returns the subscribed glob collection that has the name as a member
    /// (docs/protocol.md#k-21).
    pub(crate) fn glob_of(&self, catalog: &Catalog, name: Sym) -> Option<Sym> {
        self.subscription.globs.with_member(catalog, name).first().copied()
    }

    /// Returns the subscribed glob collections of which the client has a member.
    pub(crate) fn globs_with_members(&self, catalog: &Catalog) -> SymSet {
        if self.subscription.globs.is_empty() {
            return SymSet::default();
        }
        let present = self.sent.present_entries(catalog);
        present.flat_map(|(name, _)| self.subscription.globs.with_member(catalog, name)).collect()
    }

    /// Returns the number of resources that the names of the subscription stand for. Several
    /// resources may have an alias in common (docs/protocol.md#f-30).
    pub(crate) fn named_resources(&self, catalog: &Catalog) -> u64 {
        let names = &self.subscribed.names;
        if self.aliases.is_empty() {
            return names.len() as u64;
        }
        let mut named: SymSet = names.iter().map(|name| self.canonical(catalog, name)).collect();
        for (name, entry) in self.sent.present_entries(catalog) {
            if self.names(catalog, name, Some(&entry)) {
                named.insert(name);
            }
        }
        named.len() as u64
    }

    /// Whether a name without a resource is known: the client waits for it, or for its
    /// reclassification (docs/protocol.md#f-26).
    pub(crate) fn is_awaited(&self, name: Sym) -> bool {
        self.waiting.get(name).is_some() || self.subscription.unclassified.contains_key(&name)
    }

    /// Returns the names that are known and were never sent.
    pub(crate) fn names_never_sent(&self, catalog: &Catalog) -> impl Iterator<Item = Sym> {
        let unclassified = self.subscription.unclassified.keys().copied();
        let unclassified = unclassified.filter(|name| self.waiting.get(*name).is_none());
        let names = self.waiting.iter().map(|(name, _)| name).chain(unclassified);
        names.filter(|name| self.sent.get(catalog, *name).is_none())
    }

    /// Returns the name of the resource that an alias stands for, or the name itself.
    pub(crate) fn canonical(&self, catalog: &Catalog, name: Sym) -> Sym {
        let name = catalog.first_spelling(name);
        match self.aliases.get(&name) {
            Some(canonical) if !self.sent.is_present(catalog, name) => *canonical,
            _ => name,
        }
    }
}
