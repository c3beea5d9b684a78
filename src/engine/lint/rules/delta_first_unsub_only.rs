//! The first delta request only unsubscribes.
//!
//! Why: The protocol does not say clearly whether such a request is a wildcard subscription. One
//! passage makes any stream without a subscription a wildcard; another requires both lists to be
//! empty.
//!
//! Example:
//! ```text
//! > unsub=[x]
//! ```
//!
//! Advice: Subscribe to `*` for a wildcard, or leave both lists empty.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return" and "Incremental
//! xDS".

use crate::lint::prelude::*;

rule! {
    delta-first-unsub-only: Warn, rows "F-21, L-17";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.outcome.first || request.outcome.partial {
        return;
    }
    let Some(body) = request.delta() else { return };
    let subscribes = !body.subscribe.is_empty() || !body.locators_subscribe.is_empty();
    if !subscribes && !body.unsubscribe.is_empty() {
        let text = "first request only unsubscribes: unclear whether a wildcard is meant";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &body.unsubscribe));
    }
}
