use crate::engine::store::{NackFact, RefusedVersion};
use crate::wire::text::shown_name;

/// Returns the refused version: `42`, or on a delta stream `c@7 d@2 …`, where each resource has its
/// own. Empty if there is none.
pub fn refused_version(nack: &NackFact) -> String {
    if nack.resources.is_empty() {
        return nack.version.to_string();
    }
    versions_of(&nack.resources)
}

/// Returns the versions of the first resources: `c@7 d@2 …`.
pub fn versions_of(resources: &[RefusedVersion]) -> String {
    let shown = resources.iter().take(MAX_SHOWN_RESOURCES);
    let mut texts: Vec<String> =
        shown.map(|own| format!("{}@{}", shown_name(&own.name), own.version)).collect();
    if resources.len() > MAX_SHOWN_RESOURCES {
        texts.push("…".to_owned());
    }
    texts.join(" ")
}

/// Resources of a refused delta response to show.
const MAX_SHOWN_RESOURCES: usize = 2;
