//! A resource changed, but its version did not.
//!
//! Why: A version identifies one content. A client that has the version assumes that it has the
//! content. For structured names and entries of lists this is an error, for others a warning.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1]
//! > n=1
//! < n=2 [a~2@1]
//! ```
//!
//! Advice: Derive the version from the content, or increment it with each change.
//!
//! Reference: API reference, `Resource.version`.

use super::support::{and_more, sort_unique};
use crate::lint::prelude::*;
use crate::session::{ResourceEntry, Track};
use xdscope_wire::event::Sym;

rule! {
    resource-version-reused: Error, rows "F-35, K-16",
    ends(Ending::Content), about(Subject::AcceptedFault);
    checks: Response(check)
}

/// Inline entries that a finding names.
const MAX_ENTRIES: usize = 3;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_versioned = |name: &&Sym| response.view.is_delta || response.scan.wrapped.contains(*name);
    // `delta-version-empty` covers resources without a version.
    let has_version = |name: &&Sym| {
        let entry = response.track.sent.get(ctx.catalog(), **name);
        entry.is_some_and(|entry| entry.version != Sym::EMPTY)
    };
    let rewritten = response.outcome.rewritten.iter().filter(is_versioned).filter(has_version);
    let mut names: Vec<_> = rewritten.copied().collect();
    let mut entries = Vec::new();
    if !response.scan.structured.is_empty() {
        let changed = ctx.changed_contents(response);
        names.extend(changed.own);
        entries = changed.own_entries;
    }
    names.extend(changed_since_last_stream(ctx, response));
    sort_unique(&mut names);
    // An entry cannot change without its list.
    entries.retain(|(list, _)| !names.contains(list));
    report_entries(ctx, &entries);
    let Some(first) = names.first() else { return };
    let is_structured = ctx.text(*first).starts_with("xdstp:");
    let severity = (!is_structured).then_some(Severity::Warn);
    let text = "content changed, but the version of the resource did not";
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).severity(severity));
}

/// Reports inline entries of lists that have a version of their own.
fn report_entries(ctx: &mut RuleContext<'_>, entries: &[(Sym, String)]) {
    let mut lists: Vec<Sym> = entries.iter().map(|(list, _)| *list).collect();
    lists.dedup();
    if lists.is_empty() {
        return;
    }
    let first: Vec<&str> = entries.iter().take(MAX_ENTRIES).map(|(_, name)| name.as_str()).collect();
    let more = and_more(entries.len() - first.len());
    let (noun, versions) = match entries.len() {
        1 => ("entry", "its version"),
        _ => ("entries", "their versions"),
    };
    let text = format!("content of inline {noun} {}{more} changed, but {versions} did not", first.join(", "));
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &lists));
}

/// Returns the new and changed resources of a stream that had another content at the same version
/// on the client's stream before.
fn changed_since_last_stream(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let catalog = ctx.catalog();
    let has_versions = response.view.is_delta || !response.scan.wrapped.is_empty();
    if !has_versions || response.new_names().next().is_none() {
        return Vec::new();
    }
    let Some(before) = ctx.previous_track(&response.track.type_url) else { return Vec::new() };
    // A client that has resumed with its versions has an older content of a changed resource.
    let content = |track: &Track, name: Sym| {
        let present = track.sent.get(catalog, name).filter(ResourceEntry::is_present)?;
        let entry = catalog.entry(present.blob?);
        // Content under another spelling of the name may repeat the spelling.
        let is_versioned = entry.name == name && entry.version != Sym::EMPTY;
        is_versioned.then_some((entry.version, entry.payload?))
    };
    let is_changed = |name: &Sym| match (content(before, *name), content(response.track, *name)) {
        (Some((old_version, old)), Some((version, new))) => old_version == version && old != new,
        _ => false,
    };
    response.new_names().filter(is_changed).collect()
}
