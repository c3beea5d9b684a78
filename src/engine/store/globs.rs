//! Subscribed glob collections and their members (docs/protocol.md#k-18).

use std::collections::HashMap;
use std::sync::Arc;

use crate::session::{ResourceState, Stream, Track, nameless};
use xdscope_wire::event::{StreamId, Sym, TypeUrl};
use xdscope_wire::xdstp::{Name, named};

use super::{ResourceFact, Store};

/// Present resources that a glob covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobMembers {
    /// Members one level below the path of the glob.
    pub direct: u64,
    /// Members further below. Whether a glob spans several levels is left open by the protocol
    /// (docs/protocol.md#k-19).
    pub deeper: u64,
    /// Members in refused pushes of which no version is in force.
    pub refused: u64,
}

impl GlobMembers {
    /// Returns the number of members.
    pub fn total(self) -> u64 {
        self.direct + self.deeper
    }

    /// Returns the number of members that the client uses, or has yet to accept or refuse.
    pub fn in_use(self) -> u64 {
        self.total() - self.refused
    }
}

/// The glob collections to which a client subscribes, of one type on a stream.
#[derive(Clone, Copy)]
pub struct GlobCollections<'a> {
    store: &'a Store,
    /// `None` for a type without globs.
    place: Option<(&'a Stream, &'a Track)>,
}

impl<'a> GlobCollections<'a> {
    pub(super) fn new(store: &'a Store, stream: StreamId, type_url: &TypeUrl) -> GlobCollections<'a> {
        let place = store.engine.stream(stream).and_then(|stream| Some((stream, stream.find(type_url)?)));
        GlobCollections { store, place: place.filter(|(_, track)| !track.subscription.globs.is_empty()) }
    }

    /// Returns the globs that were answered with members, in no particular order.
    ///
    /// [`Store::resources`] has the others: globs that wait, and those that the server reported as
    /// empty.
    pub fn facts(&self) -> Vec<ResourceFact> {
        let Some((stream, track)) = self.place else { return Vec::new() };
        let (catalog, members) = (&self.store.catalog, self.members());
        let fact = |text: &Arc<str>| {
            let name = track.canonical(catalog, named(catalog, text)?);
            let fact = self.store.fact_without_hash(stream, track, name, None, self.store.now);
            let is_empty = members.get(text).is_none_or(|members| members.total() == 0);
            Some(if is_empty { ResourceFact { state: ResourceState::Empty, ..fact } } else { fact })
        };
        self.names().iter().filter_map(fact).collect()
    }

    /// Returns the number of globs.
    pub fn count(&self) -> u64 {
        self.place.map_or(0, |(_, track)| track.subscription.globs.names().count() as u64)
    }

    /// Returns the names of the globs that were answered with members.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let Some((_, track)) = self.place else { return Vec::new() };
        let is_answered = |name: &Sym| {
            track.sent.get(&self.store.catalog, *name).is_none() && track.waiting.get(*name).is_none()
        };
        let globs = track.subscription.globs.names().filter(is_answered);
        let mut names: Vec<Arc<str>> = globs.map(|name| self.store.text(name)).collect();
        names.sort_unstable();
        names
    }

    /// Returns the glob that covers a name, the narrowest if there are several.
    pub fn covering(&self, name: &str) -> Option<Arc<str>> {
        let (_, track) = self.place?;
        let glob = track.glob_of(&self.store.catalog, named(&self.store.catalog, name)?)?;
        Some(self.store.text(glob))
    }

    /// Counts the members of each glob, in one pass over the resources.
    pub fn members(&self) -> HashMap<Arc<str>, GlobMembers> {
        let Some((_, track)) = self.place else { return HashMap::new() };
        let (catalog, now, limits) = (&self.store.catalog, self.store.now, self.store.limits);
        let globs = track.subscription.globs.names();
        let mut counts: HashMap<Sym, GlobMembers> =
            globs.map(|name| (name, GlobMembers::default())).collect();
        for (name, entry) in track.sent.entries(catalog) {
            if !entry.is_present() || nameless(name).is_some() {
                continue;
            }
            let (state, _) = track.resource_state(catalog, name, Some(&entry), now, limits);
            if matches!(state, ResourceState::Expired | ResourceState::Released) {
                continue;
            }
            for glob in track.subscription.globs.with_member(catalog, name) {
                let Some(count) = counts.get_mut(&glob) else { continue };
                let is_direct = depth(catalog.text(name)) == depth(catalog.text(glob));
                *if is_direct { &mut count.direct } else { &mut count.deeper } += 1;
                count.refused += u64::from(track.is_out_of_use(catalog, name));
            }
        }
        counts.into_iter().map(|(glob, count)| (self.store.text(glob), count)).collect()
    }
}

/// Returns the number of levels in the id of a name.
fn depth(name: &str) -> Option<usize> {
    Name::parse(name).map(|name| name.id.matches('/').count())
}
