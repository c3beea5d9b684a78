//! The pollers of one client on one path.

use std::collections::HashMap;
use std::hash::BuildHasher;

use serde_json::Value;

use xdscope_wire::event::StreamId;

/// Names of a request that identify its poller: those with the smallest hashes, so that requests
/// with many common names have some of them in common here.
const MAX_NAMES: usize = 32;

/// The tracks of one client and path.
///
/// Envoy runs one poller for each EDS or RDS resource, each with its own version.
#[derive(Default)]
pub(super) struct Pollers {
    tracks: Vec<Poller>,
    /// The newest track with a name, by the hash of the name.
    by_name: HashMap<u64, usize>,
    /// The newest track without names.
    without_names: Option<usize>,
}

struct Poller {
    id: StreamId,
    /// Hashes of names.
    names: Vec<u64>,
}

impl Pollers {
    /// Returns the newest track of the poller of a request, or `None` for a new poller.
    ///
    /// That is the newest track with overlapping names. A request with a version and only new names
    /// continues the only track there is.
    pub(super) fn find(&mut self, request: &Value, keys: &impl BuildHasher) -> Option<&mut StreamId> {
        let names = names(request, keys);
        let known = names.iter().filter_map(|name| self.by_name.get(name).copied()).max();
        let at = match (known, self.without_names) {
            (Some(at), _) => at,
            (None, Some(at)) if names.is_empty() => at,
            // A poller that changes its names keeps its version; a new poller has none.
            _ if self.tracks.len() == 1 && (version(request).is_some() || names.is_empty()) => 0,
            _ => return None,
        };
        let track = self.tracks.get_mut(at)?;
        for old in std::mem::take(&mut track.names) {
            if self.by_name.get(&old) == Some(&at) {
                self.by_name.remove(&old);
            }
        }
        self.set_names(at, names);
        self.tracks.get_mut(at).map(|track| &mut track.id)
    }

    pub(super) fn add(&mut self, id: StreamId, request: &Value, keys: &impl BuildHasher) {
        self.tracks.push(Poller { id, names: Vec::new() });
        self.set_names(self.tracks.len() - 1, names(request, keys));
    }

    /// Records the newest poller that asks for each name.
    fn set_names(&mut self, at: usize, names: Vec<u64>) {
        if names.is_empty() {
            self.without_names = self.without_names.max(Some(at));
        } else if self.without_names == Some(at) {
            self.without_names = None;
        }
        for name in &names {
            let newest = self.by_name.entry(*name).or_insert(at);
            *newest = at.max(*newest);
        }
        if let Some(track) = self.tracks.get_mut(at) {
            track.names = names;
        }
    }
}

/// Returns the smallest hashes of the requested names, in order.
fn names(request: &Value, keys: &impl BuildHasher) -> Vec<u64> {
    let names = ["resource_names", "resourceNames"].iter().find_map(|key| request.get(key)?.as_array());
    let names = names.map(Vec::as_slice).unwrap_or_default().iter();
    let mut names: Vec<u64> = names.filter_map(Value::as_str).map(|name| keys.hash_one(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMES);
    names.shrink_to_fit();
    names
}

/// Returns the version that the client already has.
fn version(request: &Value) -> Option<&str> {
    let version = ["version_info", "versionInfo"].iter().find_map(|key| request.get(key)?.as_str());
    version.filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use serde_json::json;

    use super::*;

    #[test]
    fn distinguishes_pollers_by_names() {
        let (mut pollers, keys) = (Pollers::default(), RandomState::new());
        let (a, b) = (json!({ "resource_names": ["a"] }), json!({ "resourceNames": ["b"] }));
        assert_eq!(pollers.find(&a, &keys), None);
        pollers.add(StreamId(1), &a, &keys);
        assert_eq!(pollers.find(&a, &keys).copied(), Some(StreamId(1)));
        assert_eq!(pollers.find(&b, &keys), None, "a new poller, by its names");
        pollers.add(StreamId(2), &b, &keys);
        assert_eq!(
            pollers.find(&json!({ "resource_names": ["b", "c"], "version_info": "1" }), &keys).copied(),
            Some(StreamId(2))
        );
        assert_eq!(
            pollers.find(&json!({ "resource_names": ["c"], "version_info": "1" }), &keys).copied(),
            Some(StreamId(2))
        );
        assert_eq!(pollers.find(&a, &keys).copied(), Some(StreamId(1)));
    }

    #[test]
    fn follows_poller_that_changes_names() {
        let (mut pollers, keys) = (Pollers::default(), RandomState::new());
        pollers.add(StreamId(1), &json!({ "resource_names": ["a"] }), &keys);
        assert_eq!(
            pollers.find(&json!({ "resource_names": ["b"], "version_info": "1" }), &keys).copied(),
            Some(StreamId(1))
        );
        assert_eq!(
            pollers.find(&json!({}), &keys).copied(),
            Some(StreamId(1)),
            "a poller that no longer asks for names"
        );
    }

    #[test]
    fn finds_pollers_with_many_names_in_common() {
        let (mut pollers, keys) = (Pollers::default(), RandomState::new());
        let request = |first: usize| {
            let names: Vec<_> = (first..first + 10_000).map(|name| name.to_string()).collect();
            json!({ "resource_names": names })
        };
        for poller in 0..100 {
            pollers.add(StreamId(poller), &request(poller as usize * 20_000), &keys);
        }
        assert_eq!(pollers.find(&request(50 * 20_000 + 10), &keys).copied(), Some(StreamId(50)));
        assert!(pollers.by_name.len() <= 100 * MAX_NAMES);
    }
}
