//! Resources that a client has from the stream before.

use indexmap::IndexMap;

use crate::wire::event::{DenseHash, Sym, Time, TypeUrl};

use super::engine::Engine;
use super::events::TtlRecord;
use super::names::SymMap;
use super::resource_set::ResourceSet;

/// Resources of a type at the end of the previous stream of the session.
#[derive(Default)]
pub(crate) struct Prior {
    /// Resources that the client had accepted.
    pub(crate) accepted: ResourceSet,
    /// Resources that the server had sent.
    pub(crate) sent: ResourceSet,
    /// When resources with a time to live expire.
    pub(crate) deadlines: IndexMap<Sym, Time, DenseHash>,
    /// The times to live.
    pub(crate) ttls: SymMap<TtlRecord>,
}

impl Prior {
    /// Whether the client has dropped a resource whose time to live was over.
    pub(crate) fn is_expired(&self, name: Sym, now: Time) -> bool {
        self.deadlines.get(&name).is_some_and(|deadline| *deadline <= now)
    }
}

impl Engine {
    /// Returns what the client had of a type at the end of its newest earlier stream with the type.
    pub(super) fn prior(&self, index: usize, type_url: &TypeUrl) -> Option<Prior> {
        let stream = self.streams.get(index)?;
        let found = self.before(stream).find_map(|before| before.find(type_url))?;
        if found.accepted.count() == 0
            && (found.verdicts.has_unseen || found.carried.claimed_version.is_some())
        {
            // The client has resources from before the recording.
            return None;
        }
        Some(Prior {
            accepted: found.accepted.clone(),
            sent: found.sent.clone(),
            deadlines: found.deadlines.clone(),
            ttls: found.ttls.clone(),
        })
    }

    /// Records that a stream takes over a type from the newest earlier stream with the type, if
    /// that has ended.
    pub(super) fn take_over(&mut self, index: usize, type_url: &TypeUrl, at: Time) {
        let Some(stream) = self.streams.get(index) else { return };
        let before = self.before(stream).find(|before| before.find(type_url).is_some());
        let before = before.filter(|before| before.closed.is_some()).map(|before| before.id);
        let Some(before) = before.and_then(|id| self.index(id)) else { return };
        let track = self.streams.get_mut(before).and_then(|before| before.find_mut(type_url));
        if let Some(track) = track {
            track.replaced.get_or_insert(at);
        }
    }
}
