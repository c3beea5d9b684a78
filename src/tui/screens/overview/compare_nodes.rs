//! Compares the contents of two nodes.

use std::collections::HashMap;
use std::sync::Arc;

use xdscope_engine::store::{ResourceState, StateFact};
use xdscope_wire::text::type_label;

use crate::common::Common;
use crate::data::Data;

use super::state::OverviewScreen;

/// The versions in force, if one of the two clients has not applied what it was sent:
/// ` (sent; in force 41 against 42)`.
fn in_force_note(mine: Option<&StateFact>, theirs: Option<&StateFact>) -> String {
    let behind = |state: &StateFact| state.open_nack.is_some() || state.in_force != state.offered;
    if ![mine, theirs].into_iter().flatten().any(behind) {
        return String::new();
    }
    let word = |state: Option<&StateFact>| {
        let version = state.and_then(|state| state.in_force.as_deref());
        version.map_or_else(|| "none".to_owned(), str::to_owned)
    };
    format!(" (sent; in force {} against {})", word(mine), word(theirs))
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
    let store = data.store();
    let mut parts = Vec::new();
    for (url, cells) in screen.table.types.iter().zip(row.cells.iter().zip(&other.cells)) {
        let (Some(a), Some(b)) = cells.0.as_ref().zip(cells.1.as_ref()).unzip() else { continue };
        let contents = |stream| -> HashMap<Arc<str>, Option<String>> {
            let facts = store.resources(stream, url).into_iter();
            let facts =
                facts.filter(|fact| matches!(fact.state, ResourceState::Present | ResourceState::Kept));
            facts.map(|fact| (fact.name, fact.hash)).collect()
        };
        let (mine, theirs) = (contents(a.stream), contents(b.stream));
        let differ = mine.iter().filter(|(name, hash)| theirs.get(*name).is_some_and(|other| other != *hash));
        let differ = differ.count();
        let only = |a: &HashMap<Arc<str>, _>, b: &HashMap<Arc<str>, _>| {
            a.keys().filter(|name| !b.contains_key(*name)).count()
        };
        let (left, right) = (only(&theirs, &mine), only(&mine, &theirs));
        let (a, b) = (data.state(a.stream, url), data.state(b.stream, url));
        let version = |state: &Option<StateFact>| state.as_ref().and_then(|state| state.offered.clone());
        let label = type_label(url.as_str());
        let note = in_force_note(a.as_ref(), b.as_ref());
        parts.push(if differ + left + right > 0 {
            format!("{label} ~{differ} -{left} +{right}{note}")
        } else if version(&a) != version(&b) {
            format!("{label} same content, other version{note}")
        } else {
            format!("{label} same{note}")
        });
    }
    let differences =
        if parts.is_empty() { "they have no type in common".to_owned() } else { parts.join("; ") };
    let text = format!("{} against {}: {differences}", row.full_name(), other.full_name());
    common.say(text);
}
