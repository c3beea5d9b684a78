//! A client did not answer a response and went on to a newer one.
//!
//! Why: Each response gets a verdict. A client may go straight to the newest nonce, but then
//! nobody knows whether the client used the response in between.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! < cds v=2 n=b [A~2]
//! > cds v=2 n=b
//! ```
//!
//! Advice: No action is needed if the client is known to look at the newest response only.
//!
//! Reference: xDS protocol, "ACK and NACK semantics summary".

use crate::lint::prelude::*;

rule! {
    ack-skipped: Info, rows "E-04";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    // `response-type-unrequested` covers what a delta client drops.
    if ctx.is_delta() {
        return;
    }
    // A lost request may have had the verdict.
    let skipped = request.outcome.skipped.iter().copied().filter(|seq| ctx.has_all_since(*seq));
    let skipped: Vec<_> = skipped.collect();
    if !skipped.is_empty() && ctx.is_grpc() {
        let numbers: Vec<String> = skipped.iter().take(4).map(|seq| format!("#{}", seq.0)).collect();
        let text = format!("no verdict on {}: the client answered a newer response", numbers.join(", "));
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(&skipped));
    }
}
