//! Content changed, but the version of the response did not.
//!
//! Why: The version of a type changes whenever any resource of the type changes. A client may skip
//! a version that it holds, and misses changes after a reconnect. Across streams of a server the
//! finding is a warning, because several servers may be behind the address.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=1 n=b [foo~2]
//! ```
//!
//! Advice: Derive the version from the content, or increment it with each change.
//!
//! Reference: xDS protocol, "ACK/NACK and resource type instance version".

use crate::lint::prelude::*;
use crate::session::{Presence, ResourceEntry};
use xdscope_wire::Profile;
use xdscope_wire::event::Sym;
use xdscope_wire::text::shown_name;

rule! {
    version-static-content-changed: Error, rows "E-15, L-04",
    ends(Ending::Message(CorrectMessage::Response)), about(Subject::AcceptedFault);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // A file has a version only if its author writes one (docs/protocol.md#c-06).
    if response.view.is_delta || ctx.is_file() {
        return;
    }
    let is_bare = |name: &&Sym| !response.scan.wrapped.contains(*name);
    let mut names: Vec<Sym> = response.outcome.rewritten.iter().filter(is_bare).copied().collect();
    let what = if names.is_empty() { "the set of resources" } else { "content" };
    if repeats_version(ctx, response) {
        // A recently requested name answers that request, even if a response to an earlier request
        // came first.
        let is_recent = |at| ctx.at.since(at) < ctx.options.timers.answer;
        let was_requested = ctx.state.requests.names_added_at.is_some_and(is_recent);
        let is_unasked = |name: &&Sym| !(was_requested && response.track.subscribed.names.contains(**name));
        names.extend(response.outcome.added.iter().filter(is_unasked).chain(&response.outcome.removed));
    }
    report_on_stream(ctx, response, &names, what);
    if ctx.profile() != Profile::P002 {
        let mut earlier = changed_since_previous_stream(ctx, response);
        earlier.retain(|name| !names.contains(name));
        report_since_previous_stream(ctx, response, &earlier);
    }
}

/// Whether a response that states the full set has the version of the one before, and the client
/// has not changed its subscription in between.
fn repeats_version(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> bool {
    let Some(before) = &ctx.state.responses.newest else { return false };
    before.version == *response.view.version
        && response.is_full_state()
        && !response.is_heartbeat()
        && ctx.has_all_since_response()
        && !ctx.state.requests.has_changed_names
}

/// Reports names whose content, or whose set, changed on a stream.
fn report_on_stream(
    ctx: &mut RuleContext<'_>,
    response: &ResponseContext<'_>,
    names: &[Sym],
    what: &'static str,
) {
    if !names.is_empty() {
        let version = shown_name(response.view.version.as_str());
        let text = format!("{what} changed, but version {version} did not");
        let before = ctx.state.responses.newest.as_ref().map(|before| before.seq);
        let draft = FindingDraft::new(Blame::Server, text, names).evidence(before.as_slice());
        ctx.report(&RULE, FindingDraft { cause: Some(what), ..draft });
    }
}

/// Reports names whose content changed since the stream before.
fn report_since_previous_stream(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>, names: &[Sym]) {
    if names.is_empty() {
        return;
    }
    let version = shown_name(response.view.version.as_str());
    let text = format!("version {version} had other content on the previous stream");
    let before = ctx.state.responses.newest.as_ref().map(|before| before.seq);
    let draft = FindingDraft::new(Blame::Server, text, names).evidence(before.as_slice());
    let draft = draft.severity(Some(Severity::Warn));
    // xdscope has changed what the client received on the previous stream.
    let previous = ctx.previous_track(&response.track.type_url);
    let cause = previous.and_then(|track| ctx.cause(track, &draft)).cloned();
    ctx.report(&RULE, draft.caused_by(cause.as_ref()));
}

/// Returns the names that had other content at this version on the previous stream.
fn changed_since_previous_stream(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let Some(prior) = ctx.previous_track(&response.track.type_url) else { return Vec::new() };
    let catalog = ctx.catalog();
    let is_changed = |name: &Sym| {
        let (Some(old), Some(new)) =
            (prior.sent.get(catalog, *name), response.track.sent.get(catalog, *name))
        else {
            return false;
        };
        let payload = |entry: &ResourceEntry| entry.blob.and_then(|blob| catalog.entry(blob).payload);
        let is_wrapped = new.blob.is_some_and(|blob| catalog.entry(blob).wrapped);
        old.state == Presence::Present
            && old.version == new.version
            && payload(&old) != payload(&new)
            && !is_wrapped
    };
    response.new_names().filter(is_changed).collect()
}
