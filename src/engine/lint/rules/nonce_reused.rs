//! A server uses a nonce for a second response of the type.
//!
//! Why: A nonce identifies one response; with a reused nonce a verdict is ambiguous. In SotW the
//! newest response counts, so the finding is a warning there.
//!
//! Example:
//! ```text
//! < eds v=1 n=A [foo]
//! > eds v=1 n=A names=[foo]
//! < eds v=2 n=A [foo~2]
//! ```
//!
//! Advice: Use a counter or random nonces.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use crate::lint::prelude::*;

rule! {
    nonce-reused: Error, rows "F-03",
    ends(Ending::Response), about(Subject::AcceptedFault);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.outcome.nonce_reused && ctx.is_grpc() {
        let text = format!("nonce {} was already used", response.view.nonce);
        let severity = (!response.view.is_delta).then_some(Severity::Warn);
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).severity(severity));
    }
}
