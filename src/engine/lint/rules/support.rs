//! Helpers that several rules share.

use super::super::context::RuleContext;
use super::super::exchange::ResponseContext;
use super::super::finding::{Blame, FindingDraft};
use super::super::references::{OpenFinding, ReferenceGraphs};
use super::super::rule::{Rule, Severity};
use super::super::structured::ListEntry;
use crate::engine::session::{Hollow, Track};
use crate::wire::Message;
use crate::wire::event::{Dir, Kind, Seq, Sym, TypeUrl, VersionInfo};

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
    Kind::of_type_url(url)
        .map_or_else(|| url.rsplit(['/', '.']).next().unwrap_or(url), |(kind, _)| kind.label())
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
        ListEntry::Inline(name) => Some(name.as_str()),
        _ => None,
    })
}

/// Returns the accepted resources whose target the client has not requested in time, with their
/// responses.
///
/// With `listed`, targets are the members of lists, otherwise those of redirects.
pub(super) fn unfollowed(ctx: &RuleContext<'_>, listed: bool) -> Vec<(Sym, Seq)> {
    let limit = ctx.options.timers.answer;
    let overdue = ctx.state.targets.iter().filter(|target| {
        let since = target.accepted.filter(|_| target.listed == listed);
        since.is_some_and(|since| ctx.at.since(since) >= limit)
    });
    let unfollowed = overdue.filter(|target| !ctx.is_requested(&target.name) && ctx.is_current(target));
    unfollowed.map(|target| (target.of, target.seq)).collect()
}

/// Reports resources whose target the client has not requested.
pub(super) fn report_unfollowed(
    ctx: &mut RuleContext<'_>,
    rule: &'static Rule,
    text: &str,
    unfollowed: Vec<(Sym, Seq)>,
) {
    let (mut names, mut evidence): (Vec<_>, Vec<_>) = unfollowed.into_iter().unzip();
    names.dedup();
    evidence.dedup();
    if !names.is_empty() {
        let (names, evidence) = (names.as_slice(), evidence.as_slice());
        let text = text.to_owned();
        ctx.report(rule, FindingDraft { text, names, evidence, ..FindingDraft::default() });
    }
}

/// Reports new names of the type that no resource of the client refers to, unless the client
/// requested them by name.
pub(super) fn report_unreferenced(
    ctx: &mut RuleContext<'_>,
    response: &ResponseContext<'_>,
    rule: &'static Rule,
    (kind, parents): (Kind, &[Kind]),
    text: &str,
) {
    let is_known = ctx.options.links.is_some() && ctx.knows_all_of(parents) && response.track.names_known;
    let parents: Vec<_> = parents.iter().flat_map(|kind| ctx.tracks_of(*kind)).collect();
    let has_parents = parents.iter().any(|(_, track)| track.traffic.pushes > 0);
    if !is_known || !has_parents || response.track.kind != Some(kind) {
        return;
    }
    let (client, catalog) = (ctx.client(), ctx.catalog());
    let is_unreferenced = |name: &&Sym| {
        // Endpoints usually have the name of their cluster, whose references may be unknown.
        let has_namesake = parents.iter().any(|(_, track)| track.sent.is_present(catalog, **name));
        let is_requested = response.track.subscribed.names.contains(**name);
        !is_requested
            && !has_namesake
            && ctx.source_state.graphs.is_used(&client, (kind, **name)) == Some(false)
    };
    let names: Vec<Sym> = response.outcome.added.iter().filter(is_unreferenced).copied().collect();
    if !names.is_empty() {
        let (blame, text, names) = (Blame::Server, text.to_owned(), names.as_slice());
        ctx.report(rule, FindingDraft { blame, text, names, guess: true, ..FindingDraft::default() });
    }
}

/// Returns the names of the new and changed resources of a response.
pub(super) fn new_names(response: &ResponseContext<'_>) -> Vec<Sym> {
    response.outcome.added.iter().chain(&response.outcome.changed).copied().collect()
}

/// Reports clusters that new or changed resources refer to and that the client does not have, or
/// with `is_in_use` does not use.
pub(super) fn report_unknown_clusters(
    ctx: &mut RuleContext<'_>,
    track: &Track,
    (new, is_in_use): (&[Sym], bool),
    rule: &'static Rule,
    text: &str,
) {
    if new.is_empty() || ctx.options.links.is_none() {
        return;
    }
    let (names, streams) = ctx.unknown_clusters(track, new, is_in_use);
    if names.is_empty() {
        return;
    }
    let severity = (!streams.contains(&ctx.stream_index)).then_some(Severity::Info);
    let (blame, text) = (Blame::Server, text.to_owned());
    let draft = FindingDraft { blame, text, names: &names, severity, guess: true, ..FindingDraft::default() };
    let Some(finding) = ctx.report(rule, draft) else { return };
    follow_unknown_clusters(ctx, finding, names);
}

/// Follows a finding until the client has the clusters.
pub(super) fn follow_unknown_clusters(ctx: &mut RuleContext<'_>, finding: usize, names: Vec<Sym>) {
    let (client, stream, since) = (ctx.client(), ctx.stream_index, ctx.at);
    let open = OpenFinding { finding, stream, clusters: names, since };
    ReferenceGraphs::open(&mut ctx.source_state.graphs.windows, client, open);
}
