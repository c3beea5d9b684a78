//! A request refers to a response that is no longer the newest.
//!
//! Why: Requests and responses cross. The server ignores such a request and waits for one with the
//! newest nonce. This is normal, and never a NACK.
//!
//! Example:
//! ```text
//! < eds v=X n=A [foo]
//! > eds v=X n=A names=[foo]
//! < eds v=Y n=B [foo~2]
//! > eds v=X n=A names=[foo bar]
//! ```
//!
//! Advice: No action is needed. The client must repeat the names in its verdict on the newer
//! response.
//!
//! Reference: xDS protocol, "Resource updates".

use super::support::with_stated_error;
use crate::lint::prelude::*;
use crate::session::RequestClass;

rule! {
    sotw-stale-nonce: Info, rows "E-09";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.has_class(RequestClass::StaleNonce) && request.outcome.answers.is_none() {
        let text = format!("nonce {} is not the newest: the request is stale", request.nonce());
        let text = with_stated_error(text, request);
        let response = request.outcome.referenced.map(|response| response.seq);
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(response.as_slice()));
    }
}
