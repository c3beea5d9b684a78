//! A delta request has a nonce but is not a verdict.
//!
//! Why: In delta a nonce marks the verdict on a response; all other requests leave the nonce
//! empty. SotW does the opposite.
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! > n=1
//! > n=1 sub=[b]
//! ```
//!
//! Advice: Leave the nonce empty in requests that only change the subscription.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;
use crate::session::RequestClass;

rule! {
    delta-nonce-not-ack: Warn, rows "F-06, L-15";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    // `late-nack` is about a second verdict.
    if request.has_class(RequestClass::SettledNonce) && !request.outcome.is_late_nack() {
        let text = format!("the response with nonce {} already has a verdict", request.nonce());
        let response = request.outcome.referenced.map(|response| response.seq);
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(response.as_slice()));
    }
}
