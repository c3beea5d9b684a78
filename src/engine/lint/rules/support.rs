//! Helpers that several rules share.

use std::collections::HashSet;
use std::sync::Arc;

use crate::applied::{MissingReference, missing_references};
use crate::lint::client::{RouteUse, UnknownClusters};
use crate::lint::findings::traffic_gaps::ORDER_UNCERTAIN;
use crate::lint::memory::references::ReferenceGraphs;
use crate::lint::memory::track::{PendingTarget, TargetOrigin};
use crate::lint::prelude::*;
use crate::lint::structured::{ListEntry, Locator};
use crate::nack::{StatedFaults, without_random_words};
use crate::session::{Hollow, Track};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{DenseHash, Dir, Kind, Sym, TypeUrl, VersionInfo};
use xdscope_wire::text::shown_name;
use xdscope_wire::{Message, Open};

/// Returns the version as text.
pub(super) fn version_text(version: &VersionInfo) -> &str {
    version_or_none(version.as_str())
}

/// Returns the version, or what stands for an empty one.
pub(super) fn version_or_none(version: &str) -> &str {
    if version.is_empty() { "(no version)" } else { version }
}

/// Returns the label of a type, such as `CDS`, or the last part of its URL.
pub(super) fn type_label(type_url: &TypeUrl) -> &str {
    let url = type_url.as_str();
    match Kind::of_type_url(url) {
        Some((kind, _)) => kind.label(),
        None => url.rsplit(['/', '.']).next().unwrap_or(url),
    }
}

/// Returns a text about a request, followed by the error that the request states, if any.
pub(super) fn with_stated_error(text: String, request: &RequestContext<'_>) -> String {
    let error = request.error().map(|error| error.message.trim()).filter(|error| !error.is_empty());
    match error {
        Some(error) => format!("{text}; error_detail: {}", StatedFaults::read(error, &[])),
        None => text,
    }
}

/// Returns the error that a request states, without words that the client chooses at random.
pub(super) fn stated_reason(request: &RequestContext<'_>) -> Option<Arc<str>> {
    request.error().map(|error| without_random_words(error.message.trim()).into())
}

/// Returns the sender of a message.
pub(super) fn sender(message: &Message) -> Blame {
    match message.dir() {
        Dir::Req => Blame::Client,
        Dir::Resp => Blame::Server,
    }
}

/// Returns the names of the entries without payload that have the given meaning.
pub(super) fn names_without_payload(response: &ResponseContext<'_>, meaning: Hollow) -> Vec<Sym> {
    let entries = response.outcome.hollow.iter().filter(|(_, own)| *own == meaning);
    entries.map(|(name, _)| *name).collect()
}

/// Returns the names of the inline entries. Empty for anonymous entries.
pub(super) fn inline_names(entries: &[ListEntry]) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(|entry| match entry {
        ListEntry::Inline { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

/// Returns `, and 3 more`, or nothing.
pub(super) fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}

/// Sorts a list, and removes repeated items.
pub(super) fn sort_unique<T: Ord>(items: &mut Vec<T>) {
    items.sort_unstable();
    items.dedup();
}

/// Names in the sentence of a finding; the others are counted.
const MAX_SHOWN_NAMES: usize = 3;

/// Reports accepted resources whose target the client has not requested in time.
pub(super) fn report_unfollowed(
    ctx: &mut RuleContext<'_>,
    rule: &'static Rule,
    origin: TargetOrigin,
    text: &str,
) {
    let limit = ctx.options.timers.answer;
    let is_unfollowed = |target: &&PendingTarget| {
        let is_overdue = target.accepted.is_some_and(|since| ctx.at.since(since) >= limit);
        let is_due = target.origin == origin && is_overdue;
        is_due && !ctx.is_requested(&target.name) && ctx.is_current(target)
    };
    let unfollowed: Vec<&PendingTarget> = ctx.state.references.targets.iter().filter(is_unfollowed).collect();
    let mut names: Vec<_> = unfollowed.iter().map(|target| target.resource).collect();
    let mut evidence: Vec<_> = unfollowed.iter().map(|target| target.seq).collect();
    names.dedup();
    evidence.dedup();
    if names.is_empty() {
        return;
    }
    let first = unfollowed.iter().take(MAX_SHOWN_NAMES);
    let first: Vec<_> = first.map(|target| shown_name(&target.name)).collect();
    let more = and_more(unfollowed.len().saturating_sub(MAX_SHOWN_NAMES));
    let text = format!("{text}: {}{more}", first.join(", "));
    ctx.report(rule, FindingDraft::new(Blame::Client, text, &names).evidence(&evidence));
}

/// Reports new names of the type that no resource of the client refers to, unless the client
/// requested them by name.
pub(super) fn report_unreferenced(
    ctx: &mut RuleContext<'_>,
    response: &ResponseContext<'_>,
    rule: &'static Rule,
    kind: Kind,
    parents: &[Kind],
    text: &str,
) {
    let is_known =
        ctx.options.links.is_some() && ctx.knows_all_of(parents) && response.track.completeness.names_known;
    let parents: Vec<_> = parents.iter().flat_map(|kind| ctx.tracks_of(*kind)).collect();
    let has_parents = parents.iter().any(|(_, track)| track.traffic.pushes > 0);
    if !is_known || !has_parents || response.track.kind != Some(kind) {
        return;
    }
    let catalog = ctx.catalog();
    let is_unreferenced = |name: &&Sym| {
        // Endpoints usually have the name of their cluster, whose references may be unknown.
        let has_namesake = parents.iter().any(|(_, track)| track.sent.is_present(catalog, **name));
        let entry = response.track.sent.get(catalog, **name);
        !response.track.names(catalog, **name, entry.as_ref())
            && !has_namesake
            && ctx.is_referenced(response.track, **name) == Some(false)
    };
    let names: Vec<Sym> = response.outcome.added.iter().filter(is_unreferenced).copied().collect();
    if !names.is_empty() {
        ctx.report(rule, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}

/// Returns the names of the resources of a response that the client may begin to use: new and
/// changed ones, and those with a content that the client has refused before.
pub(super) fn names_to_use(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    response.new_names().chain(ctx.refused_names_sent_again(response)).collect()
}

/// Returns the names of the new and changed resources of a response whose payload is in a set.
pub(super) fn new_names_with_payload(
    ctx: &RuleContext<'_>,
    response: &ResponseContext<'_>,
    payloads: &HashSet<BlobId, DenseHash>,
) -> Vec<Sym> {
    if payloads.is_empty() {
        return Vec::new();
    }
    let catalog = ctx.catalog();
    let payload = |name: Sym| catalog.entry(response.track.sent.get(catalog, name)?.blob?).payload;
    let has_payload = |name: &Sym| payload(*name).is_some_and(|payload| payloads.contains(&payload));
    response.new_names().filter(has_payload).collect()
}

/// Returns the redirects and the lists of a response that have such a locator.
pub(super) fn names_with_locator(
    response: &ResponseContext<'_>,
    is_wanted: impl Fn(&Locator) -> bool,
) -> Vec<Sym> {
    let has_locator = |entries: &[ListEntry]| locators(entries).any(&is_wanted);
    let redirects = response.scan.redirects.iter().filter(|(_, locator)| is_wanted(locator));
    let lists = response.scan.collections.iter().filter(|(_, entries)| has_locator(entries));
    redirects.map(|(name, _)| *name).chain(lists.map(|(name, _)| *name)).collect()
}

/// Returns the locators among the entries of a list.
pub(super) fn locators(entries: &[ListEntry]) -> impl Iterator<Item = &Locator> {
    entries.iter().filter_map(|entry| match entry {
        ListEntry::Locator(locator) => Some(locator),
        _ => None,
    })
}

/// Reports clusters that new or changed routes refer to and that the client does not have.
pub(super) fn report_unknown_clusters(
    ctx: &mut RuleContext<'_>,
    rule: &'static Rule,
    track: &Track,
    routes: &[Sym],
    route_use: RouteUse,
) {
    if routes.is_empty() || ctx.options.links.is_none() {
        return;
    }
    let UnknownClusters { names, users, streams } = ctx.unknown_clusters(track, routes, route_use);
    if names.is_empty() {
        return;
    }
    let (noun, nouns) = user_nouns(track.kind);
    let (users, clusters) = (listed(ctx, noun, nouns, &users), listed_clusters(ctx, &names));
    let verb = if users.starts_with(nouns) { "point" } else { "points" };
    let is_refused = ctx.has_refused_clusters(&names);
    let reason = if is_refused {
        "which the client refused and does not have"
    } else {
        "which the client does not have"
    };
    let text = format!("{users} {verb} to {clusters}, {reason}");
    // A dump has the clusters of the bootstrap, too, and no bootstrap has a cluster of the server.
    let is_certain = ctx.stream.is_dump() || is_refused;
    let draft = gap_draft(&text, &names, is_certain || streams.contains(&ctx.stream_index));
    let cause = ctx.cause_in_kind(Kind::Cds, &names);
    let draft = FindingDraft { guess: !is_certain, ..draft }.caused_by(cause.as_ref());
    let Some(finding) = ctx.report(rule, draft) else { return };
    follow_unknown_clusters(ctx, finding, names);
}

/// Returns a sentence about the first references of a dump to missing resources of a type. `None`
/// without any. `verb` stands between the two, and `noun` before the missing resource.
pub(super) fn missing_in_dump(open: &Open, kind: Kind, verb: &str, noun: &str) -> Option<String> {
    let missing = missing_references(open).into_iter().filter(|missing| missing.kind == kind);
    let clause = |missing: MissingReference| {
        let origin = if missing.is_static { "static " } else { "" };
        let (user, _) = user_nouns(Some(missing.user_kind));
        let (name, missing) = (shown_name(&missing.user), shown_name(&missing.name));
        format!("{origin}{user} {name} {verb} {noun} {missing}")
    };
    let clauses: Vec<String> = missing.map(clause).collect();
    let more = and_more(clauses.len().saturating_sub(MAX_SHOWN_NAMES));
    let first = clauses.iter().take(MAX_SHOWN_NAMES).map(String::as_str).collect::<Vec<_>>().join("; ");
    if clauses.is_empty() { None } else { Some(format!("{first}{more}")) }
}

/// Returns the noun for resources of a type that refer to others, and its plural.
pub(super) fn user_nouns(kind: Option<Kind>) -> (&'static str, &'static str) {
    match kind {
        Some(Kind::Cds) => ("cluster", "clusters"),
        Some(Kind::Lds) => ("listener", "listeners"),
        Some(Kind::Srds) => ("scope", "scopes"),
        Some(Kind::Vhds) => ("virtual host", "virtual hosts"),
        Some(Kind::Rds) => ("route", "routes"),
        _ => ("resource", "resources"),
    }
}

/// Returns `cluster a`, or `clusters a, b, c and 2 more`.
pub(super) fn listed_clusters(ctx: &RuleContext<'_>, names: &[Sym]) -> String {
    listed(ctx, "cluster", "clusters", names)
}

/// Returns a noun with its names.
pub(super) fn listed(ctx: &RuleContext<'_>, noun: &str, nouns: &str, names: &[Sym]) -> String {
    format!("{} {}", if names.len() == 1 { noun } else { nouns }, listed_names(ctx, names))
}

/// Returns `a`, or `a, b, c and 2 more`.
pub(super) fn listed_names(ctx: &RuleContext<'_>, names: &[Sym]) -> String {
    let first: Vec<_> = names.iter().take(MAX_SHOWN_NAMES).map(|name| shown_name(ctx.text(*name))).collect();
    let more = match names.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// Creates the report of clusters that routes point to and that the client does not have. A finding
/// about separate streams is a note.
pub(super) fn gap_draft<'a>(text: &str, names: &'a [Sym], is_same_stream: bool) -> FindingDraft<'a> {
    let order = if is_same_stream { "" } else { ORDER_UNCERTAIN };
    FindingDraft::new(Blame::Server, format!("{text}{order}"), names)
        .severity((!is_same_stream).then_some(Severity::Info))
}

/// Follows a finding until the client has the clusters.
pub(super) fn follow_unknown_clusters(ctx: &mut RuleContext<'_>, finding: usize, names: Vec<Sym>) {
    let (client, open) = (ctx.client(), ctx.open_finding(finding, names));
    ReferenceGraphs::open(&mut ctx.source_state.graphs.windows, client, open);
}
