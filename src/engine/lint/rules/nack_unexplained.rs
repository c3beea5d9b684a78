//! A client rejected a response that breaks no constraint of the API.
//!
//! Why: Every resource of the response fulfils the constraints of the API. Clients reject for
//! other reasons too: a missing reference, an unknown extension, a rule of their own.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c]
//! > cds n=1 nack="unknown extension"
//! ```
//!
//! Advice: Read the message of the client. Check the release of the client and its build.
//!
//! Reference: xDS protocol, "Protoc-Gen-Validate Annotations".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "nack-unexplained", "J-03", include_str!("nack_unexplained.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check)];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if ctx.options.constraints.is_none() || !request.is_nack() {
        return;
    }
    let Some(sent) = request.outcome.answers.and_then(|seq| ctx.state.pending(seq)) else { return };
    let (catalog, seq) = (ctx.catalog(), sent.seq);
    let mut payloads = sent.list.blobs().iter().filter_map(|id| catalog.entry(*id).payload);
    // Silent unless each resource was checked.
    let fine = payloads.all(|payload| {
        let broken = ctx.source_state.constraint_violations.get(&payload).and_then(Option::as_ref);
        broken.is_some_and(|broken| broken.is_empty())
    });
    if fine {
        let text = "rejected, although no constraint of the API is broken".to_owned();
        ctx.report(&RULE, FindingDraft { text, evidence: &[seq], ..FindingDraft::default() });
    }
}
