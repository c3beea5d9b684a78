//! `D` where one thing is held by several: variants of a resource, nodes against each other.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::store::{ResourceState, StateFact};
use crate::wire::text::type_label;

use crate::tui::data::Data;
use crate::tui::shell::commands::{here, to_diff};
use crate::tui::shell::model::Model;

/// Shows how the content of a resource differs from what another stream has under its name.
pub fn variants(model: &mut Model, data: &dyn Data) {
    let detail = &model.resources.detail;
    let here_is = detail.fact.as_ref();
    let other = here_is.and_then(|fact| detail.holders.iter().find(|other| other.hash != fact.hash));
    let Some((fact, other)) = here_is.zip(other).map(|(fact, other)| (fact.clone(), other.stream)) else {
        model.say("every stream that has it has the same content");
        return;
    };
    let step = here(model);
    if crate::tui::screens::diff::open_variants(model, data, (fact.stream, other), fact.type_url, fact.name) {
        to_diff(model, step);
    } else {
        model.say("the messages that brought it are not held any more");
    }
}

/// What is compared is what was sent; where one of two has not applied that, what each runs: ` (sent; in force 41 against
/// 42)`.
fn applied(mine: Option<&StateFact>, theirs: Option<&StateFact>) -> String {
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

/// Marks a node, or says how the contents of two differ: by content, for version text is opaque.
pub fn compare_nodes(model: &mut Model, data: &dyn Data) {
    let Some(row) = model.overview.row() else {
        model.say("no node to mark");
        return;
    };
    let (key, name) = (row.key, row.name.clone());
    let marked = model.overview.marked.take().filter(|marked| *marked != key);
    let rows = &model.overview.table.rows;
    let other = marked.and_then(|marked| rows.iter().find(|row| row.key == marked));
    let Some((row, other)) = model.overview.row().zip(other) else {
        model.overview.marked = Some(key);
        model.say(format!("{name} is marked: D on another node says how they differ"));
        return;
    };
    let Some((store, _)) = data.source() else { return };
    let mut parts = Vec::new();
    for (url, cells) in model.overview.table.types.iter().zip(row.cells.iter().zip(&other.cells)) {
        let (Some(a), Some(b)) = cells.0.as_ref().zip(cells.1.as_ref()).unzip() else { continue };
        let held = |stream| -> HashMap<Arc<str>, Option<String>> {
            let facts = store.resources(stream, url).into_iter();
            let facts =
                facts.filter(|fact| matches!(fact.state, ResourceState::Present | ResourceState::Kept));
            facts.map(|fact| (fact.name, fact.hash)).collect()
        };
        let (mine, theirs) = (held(a.stream), held(b.stream));
        let differ = mine.iter().filter(|(name, hash)| theirs.get(*name).is_some_and(|other| other != *hash));
        let differ = differ.count();
        let only = |a: &HashMap<Arc<str>, _>, b: &HashMap<Arc<str>, _>| {
            a.keys().filter(|name| !b.contains_key(*name)).count()
        };
        let (left, right) = (only(&theirs, &mine), only(&mine, &theirs));
        let (a, b) = (data.state(a.stream, url), data.state(b.stream, url));
        let version = |state: &Option<StateFact>| state.as_ref().and_then(|state| state.offered.clone());
        let label = type_label(url.as_str());
        let applied = applied(a.as_ref(), b.as_ref());
        parts.push(if differ + left + right > 0 {
            format!("{label} ~{differ} -{left} +{right}{applied}")
        } else if version(&a) != version(&b) {
            format!("{label} same content, other version{applied}")
        } else {
            format!("{label} same{applied}")
        });
    }
    let said = if parts.is_empty() { "they have no type in common".to_owned() } else { parts.join("; ") };
    let text = format!("{} against {}: {said}", row.name, other.name);
    model.say(text);
}
