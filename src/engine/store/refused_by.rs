//! Resources that a NACK refuses, as long as no later response has corrected them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::session::{NackFact, Refusal, ResourceEntry, ResourceState, Stream, Track};
use xdscope_wire::event::{Seq, StreamId, Sym, TypeUrl, VersionInfo};

use super::Store;

/// A refused resource, the first of several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefusedBy {
    /// Name of the resource.
    pub name: Arc<str>,
    /// The refused version; empty for a removal, and if there is none.
    pub version: Arc<str>,
    /// Whether the client refuses the removal of the resource.
    pub is_removal: bool,
    /// The version that the client uses; `None` if the client uses none that is known.
    pub in_force: Option<Arc<str>>,
    /// Whether the client uses nothing if no such version is known.
    pub knows_in_force: bool,
    /// Number of other resources.
    pub more: usize,
}

/// The kinds of refused resources, the one that a problem tells first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The NACK names the resource.
    Named,
    /// The resource is in the refused response.
    Rest,
    /// The refused response removes the resource.
    Removal,
}

/// The first refused resource of a NACK.
#[derive(Clone, Copy)]
struct First {
    rank: Rank,
    name: Sym,
    /// The refused version; empty for a removal.
    version: Sym,
    /// Number of other resources of the rank.
    more: usize,
}

/// Returns the first refused resource of each wanted NACK, in one pass over the refused names.
fn firsts(track: &Track, is_wanted: impl Fn(Seq) -> bool) -> HashMap<Seq, First> {
    let mut firsts: HashMap<Seq, First> = HashMap::new();
    let mut add = |nack: Seq, refused: First| {
        if !is_wanted(nack) {
            return;
        }
        let Some(known) = firsts.get_mut(&nack) else {
            firsts.insert(nack, refused);
            return;
        };
        match refused.rank.cmp(&known.rank) {
            Ordering::Less => *known = refused,
            Ordering::Equal if refused.name < known.name => {
                *known = First { more: known.more + 1, ..refused };
            }
            Ordering::Equal => known.more += 1,
            Ordering::Greater => {}
        }
    };
    for name in track.refused.names() {
        if let Some(refusal) = track.refused.get(name) {
            let rank = if refusal.is_named { Rank::Named } else { Rank::Rest };
            add(refusal.nack, First { rank, name, version: refusal.version, more: 0 });
        }
    }
    for name in track.refused.removed_names() {
        if let Some(removal) = track.refused.removal(name) {
            add(removal.nack, First { rank: Rank::Removal, name, version: Sym::EMPTY, more: 0 });
        }
    }
    firsts
}

impl Store {
    /// Returns the first resource that a NACK names, and that no later response has corrected; if
    /// the NACK names none, the first resource, or the first removal, of the refused response.
    pub fn refused_by(&self, stream: StreamId, type_url: &TypeUrl, nack: Seq) -> Option<RefusedBy> {
        let stream = self.engine.stream(stream)?;
        self.refused_of_track(stream, stream.find(type_url)?, nack)
    }

    /// Returns the first refused resource of each NACK, as [`Store::refused_by`] does.
    pub fn refused_by_nack(&self, stream: StreamId, type_url: &TypeUrl) -> HashMap<Seq, RefusedBy> {
        let Some(stream) = self.engine.stream(stream) else { return HashMap::new() };
        let Some(track) = stream.find(type_url) else { return HashMap::new() };
        let firsts = firsts(track, |_| true).into_iter();
        firsts.map(|(nack, first)| (nack, self.refused_fact(stream, track, first))).collect()
    }

    /// Returns a NACK of a type, also one of an earlier stream that the client continues with.
    pub fn nack(&self, stream: StreamId, type_url: &TypeUrl, n: Seq) -> Option<&NackFact> {
        self.engine.stream(stream)?.find(type_url)?.nack(n)
    }

    /// Returns the first refused resource of a NACK on a track, as [`Store::refused_by`] does.
    pub(crate) fn refused_of_track(&self, stream: &Stream, track: &Track, nack: Seq) -> Option<RefusedBy> {
        let first = firsts(track, |other| other == nack).remove(&nack)?;
        Some(self.refused_fact(stream, track, first))
    }

    /// Returns the resource that the client uses under a name, unless its time to live has
    /// ended.
    pub(crate) fn used_by_client(&self, track: &Track, name: Sym) -> Option<ResourceEntry> {
        let entry = track.sent.get(&self.catalog, name);
        let (state, _) = track.resource_state(&self.catalog, name, entry.as_ref(), self.now(), self.limits());
        self.used_in_state(track, name, state)
    }

    /// Whether the times to live of all resources that the client has accepted, and not given up
    /// since, are over.
    pub(crate) fn has_all_expired(&self, track: &Track) -> bool {
        if track.ttl.deadlines.is_empty() || track.accepted.count() == 0 {
            return false;
        }
        let mut has_expired = false;
        for (name, entry) in track.accepted.present_entries(&self.catalog) {
            if track.is_given_up(&self.catalog, name, &entry) {
                continue;
            }
            if self.used_by_client(track, name).is_some() {
                return false;
            }
            has_expired = true;
        }
        has_expired
    }

    /// Returns the version that the client uses: none once all that it has accepted has expired
    /// (docs/protocol.md#g-02).
    pub(crate) fn version_in_use<'t>(&self, track: &'t Track) -> Option<&'t VersionInfo> {
        if self.has_all_expired(track) { None } else { track.version_in_force() }
    }

    /// Returns the resource that the client uses under a name whose state is known: the client
    /// drops a resource at the end of its time to live (docs/protocol.md#g-02).
    pub(super) fn used_in_state(
        &self,
        track: &Track,
        name: Sym,
        state: ResourceState,
    ) -> Option<ResourceEntry> {
        if state == ResourceState::Expired { None } else { track.in_force(&self.catalog, name) }
    }

    /// Returns a resource that the client still refuses, with the number of others.
    pub(crate) fn still_refused(
        &self,
        stream: &Stream,
        track: &Track,
        name: Sym,
        refusal: &Refusal,
        more: usize,
    ) -> RefusedBy {
        let is_removal = track.refused.removal(name) == Some(*refusal);
        let rank = match (is_removal, refusal.is_named) {
            (true, _) => Rank::Removal,
            (false, true) => Rank::Named,
            (false, false) => Rank::Rest,
        };
        self.refused_fact(stream, track, First { rank, name, version: refusal.version, more })
    }

    /// Returns a refused resource with what the client uses in its place.
    fn refused_fact(&self, stream: &Stream, track: &Track, first: First) -> RefusedBy {
        let in_force = self.used_by_client(track, first.name);
        RefusedBy {
            name: self.text(first.name),
            version: self.text(first.version),
            is_removal: first.rank == Rank::Removal,
            in_force: in_force.map(|entry| self.text(entry.version)),
            knows_in_force: stream.knows_in_force(track),
            more: first.more,
        }
    }

    /// Whether the client has accepted a later version of what a NACK refused.
    ///
    /// A delta stream accepts each resource by itself: of the first refused resources, the client
    /// must have accepted one in a later response.
    pub fn has_accepted_later(&self, stream: StreamId, type_url: &TypeUrl, nack: &NackFact) -> bool {
        let track = self.engine.stream(stream).and_then(|stream| stream.find(type_url));
        let (Some(track), Some(refused)) = (track, nack.refused) else { return false };
        let is_later = |name: &Arc<str>| {
            let name = xdscope_wire::xdstp::named(&self.catalog, name)?;
            let entry = track.accepted.get(&self.catalog, name)?;
            Some(track.responses.get(entry.order)?.seq > refused)
        };
        nack.resources.is_empty()
            || nack.resources.iter().any(|refused| is_later(&refused.name).unwrap_or(false))
    }
}
