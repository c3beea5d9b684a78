//! A server repeats a response to a stale request.
//!
//! Why: A server should not answer a request with a stale nonce: the client has not yet answered
//! the newer response.
//!
//! Example:
//! ```text
//! < eds v=Y n=B [foo bar]
//! > eds v=X n=A names=[foo bar]
//! < eds v=Y n=B2 [foo bar]
//! ```
//!
//! Advice: Ignore requests until one has the newest nonce.
//!
//! Reference: xDS protocol, "Resource updates".

use crate::lint::prelude::*;

rule! {
    sotw-answer-to-stale: Warn, rows "E-12";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_stale = ctx.state.requests.stale_requests_since_response > 0
        && ctx.state.requests.stale_requests_since_response == ctx.state.requests.requests_since_response;
    if is_stale && super::sotw_needless_update::repeats(ctx, response) {
        let before = ctx.state.responses.newest.as_ref().map(|before| before.seq);
        let text = format!("version {} sent again in response to a stale request", response.view.version);
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).evidence(before.as_slice()));
    }
}
