//! A SotW response has no nonce.
//!
//! Why: The nonce ties a verdict to its response. Without a nonce an ACK, a NACK and a stale
//! request cannot be told apart.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 [foo]
//! ```
//!
//! Advice: Give each response of a stream a nonce of its own.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use super::support::version_text;
use crate::lint::prelude::*;

rule! {
    sotw-nonce-missing: Error, rows "E-07",
    ends(Ending::Response), about(Subject::AcceptedFault);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !response.view.is_delta && response.view.nonce.is_empty() && ctx.is_grpc() {
        let text = format!("response {} without a nonce", version_text(response.view.version));
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]));
    }
}
