//! Who polls: a client may have several pollers on one path.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::wire::event::StreamId;

/// The tracks of one client and path. Envoy has a poller for each EDS or RDS resource, each with a version of its own.
#[derive(Default)]
pub(super) struct Pollers(Vec<(StreamId, BTreeSet<String>)>);

impl Pollers {
    /// The track of the poller that this request is of: of those that ask for its names the newest, else, where it says
    /// what it has, the only one. `None`: a new poller.
    pub(super) fn of(&mut self, request: &Value) -> Option<StreamId> {
        let names = names(request);
        let known = |(_, known): &(_, BTreeSet<String>)| {
            !known.is_disjoint(&names) || (known.is_empty() && names.is_empty())
        };
        let at = match self.0.iter().rposition(known) {
            Some(at) => at,
            // A poller that asks for other names than before goes on with its version; one that begins has none.
            None if self.0.len() == 1 && (says(request).is_some() || names.is_empty()) => 0,
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

/// The version that it has.
fn says(request: &Value) -> Option<&str> {
    let version = ["version_info", "versionInfo"].iter().find_map(|key| request.get(key)?.as_str());
    version.filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pollers_are_told_apart_by_their_names() {
        let mut pollers = Pollers::default();
        let (a, b) = (json!({ "resource_names": ["a"] }), json!({ "resourceNames": ["b"] }));
        assert_eq!(pollers.of(&a), None);
        pollers.add(StreamId(1), &a);
        assert_eq!(pollers.of(&a), Some(StreamId(1)));
        assert_eq!(pollers.of(&b), None, "it begins with other names");
        pollers.add(StreamId(2), &b);
        assert_eq!(
            pollers.of(&json!({ "resource_names": ["b", "c"], "version_info": "1" })),
            Some(StreamId(2))
        );
        assert_eq!(pollers.of(&json!({ "resource_names": ["c"], "version_info": "1" })), Some(StreamId(2)));
        assert_eq!(pollers.of(&a), Some(StreamId(1)));
    }

    #[test]
    fn one_poller_may_change_its_mind() {
        let mut pollers = Pollers::default();
        pollers.add(StreamId(1), &json!({ "resource_names": ["a"] }));
        assert_eq!(pollers.of(&json!({ "resource_names": ["b"], "version_info": "1" })), Some(StreamId(1)));
        assert_eq!(pollers.of(&json!({})), Some(StreamId(1)), "nothing any more");
    }
}
