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

rule! {
    version-static-content-changed: Error, rows "E-15, L-04",
    ends(Ending::Message(CorrectMessage::Response)), about(Subject::AcceptedFault);
    checks: Response(check)
}

use crate::session::{Presence, ResourceEntry};
use xdscope_wire::Profile;
use xdscope_wire::event::{Sym, Variant};
use xdscope_wire::text::shown_name;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // A file has a version only if its author writes one (docs/protocol.md#c-06).
    if response.view.is_delta || ctx.stream.variant() == Some(Variant::File) {
        return;
    }
    let bare = |name: &&Sym| !response.scan.wrapped.contains(*name);
    let mut names: Vec<Sym> = response.outcome.rewritten.iter().filter(bare).copied().collect();
    let what = if names.is_empty() { "the set of resources" } else { "content" };
    let before = ctx
        .state
        .newest
        .as_ref()
        .filter(|_| response.is_full_state() && !response.is_heartbeat() && ctx.has_all_since_response());
    if before.is_some_and(|before| before.version == *response.view.version) && !ctx.state.has_changed_names {
        // A recently requested name answers that request, even if a response to an earlier request
        // came first.
        let is_recent = |at| ctx.at.since(at) < ctx.options.timers.answer;
        let was_requested = ctx.state.names_added_at.is_some_and(is_recent);
        let late = |name: &&Sym| !(was_requested && response.track.subscribed.names.contains(**name));
        names.extend(response.outcome.added.iter().filter(late).chain(&response.outcome.removed));
    }
    raise(ctx, response, &names, Some(what));
    if ctx.profile() != Profile::P002 {
        let names: Vec<_> = changed_since_previous_stream(ctx, response)
            .into_iter()
            .filter(|name| !names.contains(name))
            .collect();
        raise(ctx, response, &names, None);
    }
}

/// Reports names whose content, or whose set, changed on a stream; `None`: since the stream before.
fn raise(
    ctx: &mut RuleContext<'_>,
    response: &ResponseContext<'_>,
    names: &[Sym],
    changed: Option<&'static str>,
) {
    if names.is_empty() {
        return;
    }
    let version = shown_name(response.view.version.as_str());
    let severity = changed.is_none().then_some(Severity::Warn);
    let text = match changed {
        Some(what) => format!("{what} changed, but version {version} did not"),
        None => format!("version {version} had other content on the previous stream"),
    };
    let evidence: Vec<_> = ctx.state.newest.iter().map(|before| before.seq).collect();
    let blame = Blame::Server;
    let cause = changed;
    let draft =
        FindingDraft { blame, text, names, evidence: &evidence, severity, cause, ..FindingDraft::default() };
    let previous = severity.and_then(|_| ctx.previous_track(&response.track.type_url));
    // xdscope has changed what the client received on the previous stream.
    let cause = previous.and_then(|track| ctx.cause(track, &draft)).cloned();
    ctx.report(&RULE, draft.caused_by(cause.as_ref()));
}

/// Returns the names that had other content at this version on the previous stream.
fn changed_since_previous_stream(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let Some(prior) = ctx.previous_track(&response.track.type_url) else { return Vec::new() };
    let catalog = ctx.catalog();
    let slot = |track: &crate::session::Track, name| track.sent.get(catalog, name);
    let other = |name: &&Sym| {
        let was: Option<ResourceEntry> = slot(prior, **name).filter(|was| was.state == Presence::Present);
        let is = slot(response.track, **name);
        was.zip(is).is_some_and(|(was, is)| {
            let content = |slot: &ResourceEntry| slot.blob.map(|blob| catalog.entry(blob));
            let (a, b) = (content(&was), content(&is));
            let differ = a.and_then(|a| a.payload) != b.and_then(|b| b.payload);
            was.version == is.version && differ && !b.is_some_and(|b| b.wrapped)
        })
    };
    response.outcome.added.iter().chain(&response.outcome.changed).filter(other).copied().collect()
}
