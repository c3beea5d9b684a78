//! Compares the contents of two nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use xdscope_engine::store::{ResourceState, StateFact};
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::type_label;

use crate::common::Common;
use crate::data::Data;

use super::state::OverviewScreen;

/// The versions in force, if one of the two clients has not applied what it was sent:
/// ` (sent; in force 41 against 42)`.
fn in_force_note(mine: Option<&StateFact>, theirs: Option<&StateFact>) -> String {
    let behind = |state: &StateFact| {
        state.summary.open_nack.is_some() || state.versions.in_force != state.versions.offered
    };
    if ![mine, theirs].into_iter().flatten().any(behind) {
        return String::new();
    }
    let word = |state: Option<&StateFact>| {
        let version = state.and_then(|state| state.versions.in_force.as_deref());
        version.map_or_else(|| "none".to_owned(), str::to_owned)
    };
    format!(" (sent; in force {} against {})", word(mine), word(theirs))
}

/// Returns the hashes of the resources of a type that a client has, by name.
fn contents(data: &dyn Data, url: &TypeUrl, stream: StreamId) -> BTreeMap<Arc<str>, Option<String>> {
    let mut facts = data.store().resources(stream, url);
    facts.retain(|fact| matches!(fact.state, ResourceState::Present | ResourceState::Kept));
    facts.into_iter().map(|fact| (fact.name, fact.hash)).collect()
}

/// Says how the resources of a type on two streams differ: `CDS ~1 -0 +2`.
fn compare_type(data: &dyn Data, url: &TypeUrl, mine: StreamId, theirs: StreamId) -> String {
    let (my_contents, their_contents) = (contents(data, url, mine), contents(data, url, theirs));
    let (mut differ, mut only_mine) = (0, 0);
    for (name, hash) in &my_contents {
        match their_contents.get(name) {
            Some(other) => differ += usize::from(other != hash),
            None => only_mine += 1,
        }
    }
    let only_theirs = their_contents.keys().filter(|name| !my_contents.contains_key(*name)).count();
    let (mine, theirs) = (data.state(mine, url), data.state(theirs, url));
    let version = |state: &Option<StateFact>| state.as_ref().and_then(|state| state.versions.offered.clone());
    let label = type_label(url.as_str());
    let note = in_force_note(mine.as_ref(), theirs.as_ref());
    if differ + only_mine + only_theirs > 0 {
        format!("{label} ~{differ} -{only_theirs} +{only_mine}{note}")
    } else if version(&mine) != version(&theirs) {
        format!("{label} same content, other version{note}")
    } else {
        format!("{label} same{note}")
    }
}

/// Marks a node, or says how the contents of two differ. Versions are opaque, so contents are
/// compared.
pub(super) fn compare_nodes(screen: &mut OverviewScreen, common: &mut Common, data: &dyn Data) {
    let Some(row) = screen.row() else {
        common.say("no node to mark");
        return;
    };
    let (key, name) = (row.key, row.full_name());
    let marked = screen.marked.take().filter(|marked| *marked != key);
    let rows = &screen.table.rows;
    let other = marked.and_then(|marked| rows.iter().find(|row| row.key == marked));
    let Some((row, other)) = screen.row().zip(other) else {
        screen.marked = Some(key);
        common.say(format!("{name} is marked: D on another node says how they differ"));
        return;
    };
    let mut parts = Vec::new();
    for ((url, mine), theirs) in screen.table.types.iter().zip(&row.cells).zip(&other.cells) {
        if let (Some(mine), Some(theirs)) = (mine, theirs) {
            parts.push(compare_type(data, url, mine.stream, theirs.stream));
        }
    }
    let differences =
        if parts.is_empty() { "they have no type in common".to_owned() } else { parts.join("; ") };
    let text = format!("{} against {}: {differences}", row.full_name(), other.full_name());
    common.say(text);
}
