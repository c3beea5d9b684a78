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

use crate::lint::prelude::*;

rule! {
    sotw-nonce-regression: Error, rows "E-10",
    ends(Ending::Message(CorrectMessage::Ack)), about(Subject::AcceptedFault);
    checks: Request(check)
}

use crate::session::RequestClass;

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.has_class(RequestClass::OlderNonce) {
        let text = format!("nonce {} is older than the nonce of an earlier request", request.nonce());
        let text = super::support::with_stated_error(text, request);
        let reason = super::support::stated_reason(request);
        let evidence: Vec<_> = request.outcome.referenced.iter().map(|about| about.seq).collect();
        ctx.report(&RULE, FindingDraft { text, reason, evidence: &evidence, ..FindingDraft::default() });
    }
}
