//! The pollers of one client on one path.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::wire::event::StreamId;

/// The tracks of one client and path.
///
/// Envoy runs one poller for each EDS or RDS resource, each with its own version.
#[derive(Default)]
pub(super) struct Pollers(Vec<(StreamId, BTreeSet<String>)>);

impl Pollers {
    /// Returns the track that a request belongs to, or `None` for a new poller.
    ///
    /// That is the newest track with overlapping names. A request with a version and only new names
    /// continues the only track there is.
    pub(super) fn find(&mut self, request: &Value) -> Option<StreamId> {
        let names = names(request);
        let known = |(_, known): &(_, BTreeSet<String>)| {
            !known.is_disjoint(&names) || (known.is_empty() && names.is_empty())
        };
        let at = match self.0.iter().rposition(known) {
            Some(at) => at,
            // A poller that changes its names keeps its version; a new poller has none.
            None if self.0.len() == 1 && (version(request).is_some() || names.is_empty()) => 0,
            None => return None,
        };
        let (id, known) = self.0.get_mut(at)?;
        *known = names;
        Some(*id)
    }

    pub(super) fn add(&mut self, id: StreamId, request: &Value) {
        self.0.push((id, names(request)));
    }
}

fn names(request: &Value) -> BTreeSet<String> {
    let names = ["resource_names", "resourceNames"].iter().find_map(|key| request.get(key)?.as_array());
    let names = names.map(Vec::as_slice).unwrap_or_default().iter();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the version that the client already has.
fn version(request: &Value) -> Option<&str> {
    let version = ["version_info", "versionInfo"].iter().find_map(|key| request.get(key)?.as_str());
    version.filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn distinguishes_pollers_by_names() {
        let mut pollers = Pollers::default();
        let (a, b) = (json!({ "resource_names": ["a"] }), json!({ "resourceNames": ["b"] }));
        assert_eq!(pollers.find(&a), None);
        pollers.add(StreamId(1), &a);
        assert_eq!(pollers.find(&a), Some(StreamId(1)));
        assert_eq!(pollers.find(&b), None, "a new poller, by its names");
        pollers.add(StreamId(2), &b);
        assert_eq!(
            pollers.find(&json!({ "resource_names": ["b", "c"], "version_info": "1" })),
            Some(StreamId(2))
        );
        assert_eq!(pollers.find(&json!({ "resource_names": ["c"], "version_info": "1" })), Some(StreamId(2)));
        assert_eq!(pollers.find(&a), Some(StreamId(1)));
    }

    #[test]
    fn follows_poller_that_changes_names() {
        let mut pollers = Pollers::default();
        pollers.add(StreamId(1), &json!({ "resource_names": ["a"] }));
        assert_eq!(pollers.find(&json!({ "resource_names": ["b"], "version_info": "1" })), Some(StreamId(1)));
        assert_eq!(pollers.find(&json!({})), Some(StreamId(1)), "a poller that no longer asks for names");
    }
}
