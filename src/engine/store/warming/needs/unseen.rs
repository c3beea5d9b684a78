//! Resources that a client may wait for, from servers whose streams are not visible.

use super::ClientNeeds;
use crate::session::{OtherNeed, ResourceKey, Track};

/// Clusters whose needs are read.
const MAX_CLUSTERS: usize = 1 << 14;
/// Resources of other servers that are returned.
const MAX_NEEDS: usize = 16;

impl ClientNeeds<'_> {
    /// Returns the first resources to which the clusters or listeners of a track refer, and that
    /// come from servers to which the client has no visible stream.
    pub(crate) fn unseen(&self, track: &Track) -> Vec<OtherNeed> {
        let mut unseen: Vec<OtherNeed> = Vec::new();
        for (_, entry) in track.sent.entries(&self.store.catalog).into_iter().take(MAX_CLUSTERS) {
            if !entry.is_present() {
                continue;
            }
            for need in self.store.engine.needs().of_others(&self.store.catalog, entry.blob).iter() {
                let is_known = unseen.iter().any(|known| known.key == need.key);
                if !is_known && !self.is_visible(need.key) {
                    unseen.push(*need);
                }
            }
            if unseen.len() >= MAX_NEEDS {
                break;
            }
        }
        unseen
    }

    /// Whether an open stream of the client has or requests a resource.
    fn is_visible(&self, key: ResourceKey) -> bool {
        self.store.engine.open_of_kind(self.stream, key.kind).any(|(_, carrier)| {
            let mut tracks = carrier.known_tracks().filter(|track| track.kind == Some(key.kind));
            tracks.any(|track| {
                let entry = track.sent.get(&self.store.catalog, key.name);
                entry.is_some() || track.covers(&self.store.catalog, key.name, None)
            })
        })
    }
}
