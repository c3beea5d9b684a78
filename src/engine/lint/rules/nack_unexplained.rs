//! A NACK cites a constraint of the API that no resource of the response breaks.
//!
//! Why: Constraints change from release to release. Every resource of the response fulfils the
//! constraints of the descriptors in use, so the client was built with other ones.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{connect_timeout: 1s}]
//! > cds n=1 nack="ConnectTimeout: value must be greater than 2s"
//! ```
//!
//! Advice: Compare the API release of the control plane with that of the client. Load the
//! descriptors of the client's release with `--protoset`.
//!
//! Reference: xDS protocol, "Protoc-Gen-Validate Annotations".

use crate::lint::prelude::*;

rule! {
    nack-unexplained: Info, rows "J-03";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let message = request.error().map_or("", |error| &error.message);
    if ctx.options.constraints.is_none() || !request.is_nack() || !cites_constraint(message) {
        return;
    }
    let Some(sent) = request.outcome.answers.and_then(|seq| ctx.state.pending(seq)) else { return };
    let catalog = ctx.catalog();
    let mut resources = sent.list.blobs().iter().filter(|id| catalog.entry(**id).payload.is_some());
    // Silent unless each resource was checked.
    if resources.all(|id| ctx.violations(*id).is_some_and(|violations| violations.is_empty())) {
        let text = "the NACK cites a constraint that no resource of the response breaks";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(request.answered()));
    }
}

/// Whether the text of a NACK is that of a broken constraint.
fn cites_constraint(text: &str) -> bool {
    let marks = ["constraint validation failed", "ValidationError.", "value must ", "value is required"];
    marks.iter().any(|mark| text.contains(mark))
}
