//! Subscribed glob collections and their members (docs/protocol.md#k-18).

use std::collections::HashMap;
use std::sync::Arc;

use crate::session::{ResourceState, nameless};
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

impl Store {
    /// Returns the subscribed globs of a type that were answered with members, in no particular
    /// order.
    ///
    /// [`Store::resources`] has the others: globs that wait, and those that the server reported as
    /// empty.
    pub fn globs(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<ResourceFact> {
        let names = self.glob_names(stream, type_url);
        let stream = self.engine.stream(stream);
        let Some((stream, track)) = stream.and_then(|stream| Some((stream, stream.find(type_url)?))) else {
            return Vec::new();
        };
        let members = self.glob_members(stream.id, type_url);
        let fact = |text: &Arc<str>| {
            let name = track.canonical(&self.catalog, named(&self.catalog, text)?);
            let fact = self.fact_without_hash((stream, track), name, None, self.now);
            let is_empty = members.get(text).is_none_or(|members| members.total() == 0);
            Some(if is_empty { ResourceFact { state: ResourceState::Empty, ..fact } } else { fact })
        };
        names.iter().filter_map(fact).collect()
    }

    /// Returns the number of subscribed globs of a type.
    pub fn glob_count(&self, stream: StreamId, type_url: &TypeUrl) -> u64 {
        let track = self.engine.stream(stream).and_then(|stream| stream.find(type_url));
        track.map_or(0, |track| track.subscription.globs.names().count() as u64)
    }

    /// Returns the names of the subscribed globs of a type that were answered with members.
    pub(super) fn glob_names(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<Arc<str>> {
        let track = self.engine.stream(stream).and_then(|stream| stream.find(type_url));
        let Some(track) = track.filter(|track| !track.subscription.globs.is_empty()) else {
            return Vec::new();
        };
        let is_answered =
            |name: &Sym| track.sent.get(&self.catalog, *name).is_none() && track.waiting.get(*name).is_none();
        let globs = track.subscription.globs.names().filter(is_answered);
        let mut names: Vec<Arc<str>> = globs.map(|name| self.text(name)).collect();
        names.sort_unstable();
        names
    }

    /// Returns the subscribed glob that covers a name, the narrowest if there are several.
    pub fn glob_of(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<Arc<str>> {
        let track = self.engine.stream(stream)?.find(type_url)?;
        let glob = track.glob_of(&self.catalog, named(&self.catalog, name)?)?;
        Some(self.text(glob))
    }

    /// Counts the members of each subscribed glob of a type, in one pass over its resources.
    pub fn glob_members(&self, stream: StreamId, type_url: &TypeUrl) -> HashMap<Arc<str>, GlobMembers> {
        let stream = self.engine.stream(stream);
        let track = stream.and_then(|stream| stream.find(type_url));
        let Some(track) = track.filter(|track| !track.subscription.globs.is_empty()) else {
            return HashMap::new();
        };
        let (catalog, now) = (&self.catalog, self.now);
        let globs = track.subscription.globs.names();
        let mut counts: HashMap<Sym, GlobMembers> =
            globs.map(|name| (name, GlobMembers::default())).collect();
        for (name, slot) in track.sent.slots(catalog) {
            if !slot.is_present() || nameless(name).is_some() {
                continue;
            }
            let (state, _) = track.resource_state(catalog, name, Some(&slot), now, self.limits);
            if matches!(state, ResourceState::Expired | ResourceState::Released) {
                continue;
            }
            for glob in track.subscription.globs.of(catalog, name) {
                let Some(count) = counts.get_mut(&glob) else { continue };
                let is_direct = depth(catalog.text(name)) == depth(catalog.text(glob));
                *if is_direct { &mut count.direct } else { &mut count.deeper } += 1;
                count.refused += u64::from(track.is_out_of_use(catalog, name));
            }
        }
        counts.into_iter().map(|(glob, count)| (self.text(glob), count)).collect()
    }
}

/// Returns the number of levels in the id of a name.
fn depth(name: &str) -> Option<usize> {
    Name::parse(name).map(|name| name.id.matches('/').count())
}
