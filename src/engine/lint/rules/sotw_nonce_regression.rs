//! A request has an older nonce than an earlier request.
//!
//! Why: A client that has used a newer nonce has received the newer response. An older nonce makes
//! the server take a settled response for the current one. Crossing does not explain it: the
//! requests of a client stay in order.
//!
//! Example:
//! ```text
//! > eds v=X n=A names=[foo]
//! < eds v=Y n=B [foo~2]
//! > eds v=Y n=B names=[foo]
//! > eds v=Y n=A names=[foo bar]
//! ```
//!
//! Advice: Always send the newest nonce of the type.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use super::support::{stated_reason, with_stated_error};
use crate::lint::prelude::*;
use crate::session::RequestClass;

rule! {
    sotw-nonce-regression: Error, rows "E-10",
    ends(Ending::Message(CorrectMessage::Ack)), about(Subject::AcceptedFault);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.has_class(RequestClass::OlderNonce) {
        let text = format!("nonce {} is older than the nonce of an earlier request", request.nonce());
        let text = with_stated_error(text, request);
        let response = request.outcome.referenced.map(|response| response.seq);
        let draft = FindingDraft::new(Blame::Client, text, &[]).evidence(response.as_slice());
        ctx.report(&RULE, FindingDraft { reason: stated_reason(request), ..draft });
    }
}
