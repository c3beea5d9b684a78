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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "sotw-nonce-missing", "E-07", include_str!("sotw_nonce_missing.rs"))
        .ends(Ending::Response)
        .about(Subject::AcceptedFault);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !response.view.is_delta && response.view.nonce.is_empty() && ctx.is_grpc() {
        let text =
            format!("response {} without a nonce", super::support::version_text(response.view.version));
        ctx.report(&RULE, FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() });
    }
}
