use xdscope_engine::store::{NackFact, RefusedBy, RefusedVersion};
use xdscope_wire::text::{plural, shown_name};

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

/// Returns the version in force of a refused resource: `c@7`. Empty if there is none.
pub fn kept_version(refused: &RefusedBy) -> String {
    let shown =
        |version: &str| if version.is_empty() { "(no version)".to_owned() } else { version.to_owned() };
    let version = refused.in_force.as_deref().map(shown);
    version.map(|version| format!("{}@{version}", shown_name(&refused.name))).unwrap_or_default()
}

/// Returns the names that a NACK refuses now: `removal of c`, `c and 1 other`.
pub fn refused_names(refused: &RefusedBy) -> String {
    let name = shown_name(&refused.name);
    let mut text = if refused.is_removal { format!("removal of {name}") } else { name.to_owned() };
    if refused.more > 0 {
        text.push_str(&format!(" and {}", plural(refused.more as u64, "other")));
    }
    text
}
