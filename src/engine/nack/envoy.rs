//! Parser for Envoy's NACK texts: `Error adding/updating cluster(s) a: reason, b: reason`, or a
//! reason only.

use std::collections::HashSet;

use super::dump::WithoutDumps;
use super::{ClientKind, Extracted, Nack, NackFault, RefusedPush};

/// Maximum number of places to try as the beginning of a name.
const MAX_NAME_STARTS: usize = 4096;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// Parses a text from Envoy, or takes a text of unknown format as the reason.
///
/// Returns `None` if the text is malformed.
pub(super) fn read(text: &str, push: &dyn RefusedPush) -> Option<Nack> {
    if let Some(rest) = text.trim_start().strip_prefix("Error adding/updating ") {
        let (_, list) = rest.split_once("(s) ")?;
        let entries = named(list, push)
            .into_iter()
            .map(|(name, why)| NackFault { name: Some(Extracted::stated(name)), ..reason(why) });
        return Some(Nack { client: Some(ClientKind::Envoy), entries: entries.collect() });
    }
    let known = ["Proto constraint validation failed", "Unable to unpack as ", "Didn't find a registered"];
    let is_envoy = WithoutDumps::is_in(text) || known.iter().any(|words| text.contains(words));
    let client = is_envoy.then_some(ClientKind::Envoy);
    Some(Nack { client, entries: vec![reason(text)] })
}

/// Splits `a: reason, b: reason` in front of the names of the response.
///
/// Reasons may contain commas, colons and line breaks.
fn named<'t>(list: &'t str, push: &dyn RefusedPush) -> Vec<(&'t str, &'t str)> {
    let names: HashSet<&str> = push.names().iter().map(|name| &**name).collect();
    let seams = list.match_indices(", ").map(|(at, _)| at + 2);
    let lines = list.match_indices('\n').map(|(at, _)| at + 1);
    let mut starts: Vec<usize> = std::iter::once(0).chain(seams).chain(lines).collect();
    starts.sort_unstable();
    starts.truncate(MAX_NAME_STARTS);
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for start in starts {
        if let Some(name) = name_at(list, start, &names) {
            parts.push((start, start + name));
        }
    }
    if parts.is_empty() {
        // Without the response, only the first name is certain.
        return list.split_once(": ").into_iter().collect();
    }
    let mut named = Vec::new();
    for (i, (start, colon)) in parts.iter().enumerate() {
        let end = parts.get(i + 1).map_or(list.len(), |(next, _)| *next);
        if let (Some(name), Some(reason)) = (list.get(*start..*colon), list.get(colon + 2..end)) {
            named.push((name, reason));
        }
    }
    named
}

/// Returns the length of the longest resource name at `start` that is followed by `: `.
fn name_at(list: &str, start: usize, names: &HashSet<&str>) -> Option<usize> {
    let rest = super::prefix(list.get(start..)?, MAX_NAME_BYTES);
    let ends = rest.match_indices(": ").take(16).map(|(at, _)| at);
    ends.filter(|at| rest.get(..*at).is_some_and(|name| names.contains(name))).last()
}

/// Reads a reason. Removes dumps, and takes the name of the resource from a dump.
fn reason(text: &str) -> NackFault {
    let WithoutDumps { words, name, duration } = WithoutDumps::new(text);
    let words = words.trim().trim_start_matches(": ").trim_end_matches([' ', ':', ',', '\n']);
    let mut reason = words.to_owned();
    if let (Some(value), None) = (duration, &name) {
        reason.push_str(&format!(": {value}"));
    }
    NackFault { name: name.map(Extracted::stated), reason, ..NackFault::default() }
}
