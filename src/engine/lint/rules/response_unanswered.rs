//! A client has neither accepted nor rejected a response.
//!
//! Why: A client sends its verdict as soon as it has one, and a server may hold back updates until
//! then. Envoy withholds the verdict on clusters while they warm.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! advance 6s
//! ```
//!
//! Advice: Check whether the client is stuck, or waits for resources that do not arrive.
//!
//! Reference: xDS protocol, "ACK and NACK semantics summary".

use super::support::version_or_none;
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::store::PushedVersion;

rule! {
    response-unanswered: Info, rows "E-04, F-36",
    ends(Ending::State);
    checks: Alarm(Alarm::Unanswered, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let limit = ctx.options.timers.ack;
    // The state of the type is about the oldest response, too.
    let Some(waited) = track.responses.pending().next() else { return };
    // A client may ignore a type that it did not ask for.
    let is_requested = track.traffic.requests > 0 || track.completeness.has_lost;
    if !is_requested || !ctx.has_all_since(waited.seq) {
        return;
    }
    let verdict = track.verdict_on(waited);
    if ctx.at < verdict.due(limit) {
        return ctx.arm(Alarm::Unanswered, verdict.due(limit));
    }
    if ctx.store.is_verdict_withheld(ctx.stream, track) {
        // The steps grow, so that their number does not depend on the length of the wait.
        let step = limit.max(ctx.at.since(waited.at) / 16);
        return ctx.arm(Alarm::Unanswered, ctx.at.after(step));
    }
    let what = match ctx.store.pushed_version(ctx.stream, waited) {
        PushedVersion::Whole(version) => version_or_none(&version).to_owned(),
        version => format!("#{} ({version})", waited.seq.0),
    };
    let text = format!("no verdict on response {what} within {}s", limit.as_secs());
    let evidence = [waited.seq];
    let draft = FindingDraft::new(Blame::Client, text, &[]).evidence(&evidence);
    let draft = FindingDraft { part: waited.nonce.as_str(), ..draft };
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::NoVerdict(waited.seq), waited.at));
}
