//! Endpoints with which an Envoy continues if the server does not send them again after an
//! update of their cluster (Envoy, version history of 1.28.0 and 1.32.0,
//! `use_eds_cache_for_ads`).

use xdscope_wire::event::Sym;

use super::WarmingView;
use super::batches::{WarmingBatch, WarmingCause};
use super::needs::ResourceKey;
use crate::session::content::resource_set::Presence;
use crate::session::track::Track;

/// The first version of Envoy that keeps the endpoints of ADS streams by default.
const FIRST_CACHING_VERSION: (u32, u32) = (1, 32);

impl WarmingView<'_> {
    /// Whether a cluster of a batch continues with the endpoints that the client has, once the
    /// client has waited for them until its timeout (docs/protocol.md#h-05).
    ///
    /// An Envoy keeps endpoints of ADS streams only, SotW and delta, and forgets those of a cluster
    /// that is removed.
    pub(super) fn has_cached_endpoints(&self, key: ResourceKey, batch: &WarmingBatch) -> bool {
        self.needs_resend(key.kind, batch)
            && batch.cause == WarmingCause::Update
            && self.caches_endpoints()
            && self.has_accepted_on_ads(key)
    }

    /// Whether the client uses a resource that it has from an ADS stream.
    fn has_accepted_on_ads(&self, key: ResourceKey) -> bool {
        let streams = self.streams.iter().filter(|stream| stream.is_aggregated());
        let mut tracks = streams.flat_map(|stream| &stream.tracks);
        tracks.any(|track| track.kind == Some(key.kind) && self.uses(track, key.name))
    }

    fn uses(&self, track: &Track, name: Sym) -> bool {
        let entry = track.sent.get(self.catalog, name).filter(|entry| entry.is_present());
        entry.is_some_and(|entry| {
            entry.state == Presence::Kept || track.in_force(self.catalog, name).is_some()
        })
    }

    /// Whether the version of the client keeps endpoints. An unknown version may do so.
    fn caches_endpoints(&self) -> bool {
        let node = self.streams.iter().find_map(|stream| stream.peers.node.as_ref());
        let version = node.and_then(|node| minor_version(&node.user_agent_version));
        version.is_none_or(|version| version >= FIRST_CACHING_VERSION)
    }
}

/// Returns the first two numbers of a version such as `1.32.0-dev`; `None` for other texts.
fn minor_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??);
    (version != (0, 0)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::minor_version;

    #[test]
    fn reads_versions_of_user_agents() {
        let texts = ["1.40.0", "1.31.10-dev", "0.0.0", "hash/1.11.2/Clean/RELEASE", ""];
        assert_eq!(texts.map(minor_version), [Some((1, 40)), Some((1, 31)), None, None, None]);
    }
}
