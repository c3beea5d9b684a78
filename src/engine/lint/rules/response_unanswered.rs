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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "response-unanswered", "E-04, F-36", include_str!("response_unanswered.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Unanswered, check)];

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let limit = ctx.options.timers.ack;
    let delta = ctx.stream.variant().is_some_and(|variant| variant.is_delta());
    // SotW: the verdict on the newest response settles the older ones too.
    let waited = match delta {
        true => track.responses.pending().next(),
        false => track.responses.pending().last(),
    };
    let Some(waited) = waited.filter(|waited| ctx.has_all_since(waited.seq)) else { return };
    let due = track.verdict_due_from(waited.at).after(limit);
    if ctx.at < due {
        return ctx.arm(Alarm::Unanswered, due);
    }
    // The client may withhold its verdict until the server has sent what the resources need.
    let warming = ctx.store.warming_of_track(ctx.stream, track);
    if warming.iter().any(|fact| fact.withheld.is_some()) {
        return ctx.arm(Alarm::Unanswered, ctx.at.after(limit));
    }
    let text = format!(
        "no verdict on response {} for {}s",
        super::support::version_text(&waited.version),
        limit.as_secs()
    );
    let evidence = [waited.seq];
    ctx.report(
        &RULE,
        FindingDraft { text, evidence: &evidence, part: waited.nonce.as_str(), ..FindingDraft::default() },
    );
}
