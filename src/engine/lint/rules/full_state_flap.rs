//! A resource is missing from one response and back, unchanged, in the next.
//!
//! Why: A listener or cluster that a SotW response leaves out is deleted. A server that sends only
//! changes makes the client drop the rest for a moment.
//!
//! Severity: `info`; `warn` if the resource comes and goes ten times in a row, at intervals of no
//! more than a second.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A B]
//! < cds v=2 n=b [A~2]
//! < cds v=3 n=c [A~2 B]
//! ```
//!
//! Advice: Include everything that the client needs in each response of listeners or clusters.
//!
//! Reference: xDS protocol, "Grouping Resources into Responses".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    full-state-flap: Info, rows "E-32";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !response.is_full_state() || ctx.state.responses.left_out.is_empty() || !ctx.has_all_since_response() {
        return;
    }
    let catalog = ctx.catalog();
    let is_back = |name: &&Sym| {
        let before = ctx.state.responses.left_out.get(*name).and_then(|blob| catalog.entry(*blob).payload);
        let blob = response.track.sent.get(catalog, **name).and_then(|entry| entry.blob);
        before.is_some() && before == blob.and_then(|blob| catalog.entry(blob).payload)
    };
    let names: Vec<_> = response.outcome.added.iter().filter(is_back).copied().collect();
    if names.is_empty() {
        return;
    }
    ctx.state.runs.flaps = ctx.state.runs.flaps.next(ctx.at);
    if ctx.state.runs.flaps.is_loop() && ctx.has_timestamps() {
        let text = "missing from one response and back, unchanged, in the next, again and again";
        let draft = FindingDraft::new(Blame::Server, text, &names).guessed();
        return ctx.report_loop(&RULE, ctx.state.runs.flaps, draft);
    }
    let text = "missing from one response and back, unchanged, in the next";
    let before = ctx.state.responses.newest.as_ref().map(|before| before.seq);
    let draft = FindingDraft::new(Blame::Server, text, &names).evidence(before.as_slice()).guessed();
    ctx.report(&RULE, draft);
}
