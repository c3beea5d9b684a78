//! An ACK leaves out names that the next request restores.
//!
//! Why: Each SotW request lists all names; a name left out is unsubscribed. The client seems to
//! have forgotten the list in its ACK.
//!
//! Severity: `info`; `warn` if one ACK after the other leaves names out and restores them, ten
//! times in a row, and the server answers each: an exchange that never ends.
//!
//! Example:
//! ```text
//! > eds names=[a b]
//! < eds v=1 n=1 [a b]
//! > eds v=1 n=1 names=[a]
//! > eds v=1 n=1 names=[a b]
//! ```
//!
//! Advice: Send the full list in every request, ACKs included.
//!
//! Reference: xDS protocol, "Unsubscribing From Resources".

use std::time::Duration;

use crate::lint::memory::track::EchoRun;
use crate::lint::prelude::*;

rule! {
    names-shrunk-on-ack: Info, rows "E-31";
    checks: Request(check)
}

/// Time within which a client that has forgotten names restores them.
const AT_ONCE: Duration = Duration::from_secs(1);

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some((seq, at, names)) = &ctx.state.requests.missing_from_ack else { return };
    if ctx.at.since(*at) > AT_ONCE {
        return;
    }
    let restored = request.outcome.added.iter().copied().filter(|name| names.contains(name));
    let (names, evidence): (Vec<_>, _) = (restored.collect(), [*seq]);
    if names.is_empty() || request.sotw().is_none() || !ctx.has_all_since(*seq) {
        return;
    }
    // A server that changes contents has another cause to answer.
    let has_changes = ctx.state.responses.newest.as_ref().is_none_or(|newest| newest.has_changes);
    let is_answer = request.outcome.answers.is_some() && !has_changes && ctx.has_timestamps();
    let before = if is_answer { ctx.state.runs.restorations } else { EchoRun::default() };
    ctx.state.runs.restorations = before.next(ctx.at);
    if ctx.state.runs.restorations.is_loop() {
        let text = "left out of one ACK and requested again in the next, and server answers each";
        let draft = FindingDraft::new(Blame::Both, text, &names).evidence(&evidence);
        return ctx.report_loop(&RULE, ctx.state.runs.restorations, draft);
    }
    let text = "missing from an ACK and requested again at once";
    let draft = FindingDraft::new(Blame::Client, text, &names).evidence(&evidence);
    ctx.report(&RULE, draft.guessed());
}
