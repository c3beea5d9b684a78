//! A request after a NACK looks like an ACK.
//!
//! Why: After a NACK the response stays rejected. A server may read a later request with the nonce
//! and the version of the response, but without the error, as an ACK.
//!
//! Example:
//! ```text
//! < eds v=1 n=2 [B]
//! > eds v=1 n=2 names=[A B] nack="B is invalid"
//! > eds v=1 n=2 names=[A B]
//! ```
//!
//! Advice: Repeat `error_detail`, or wait for the next response with changes of names.
//!
//! Reference: xDS protocol, "NACK".

use crate::lint::prelude::*;
use crate::session::Status;

rule! {
    nack-then-plain-request: Info, rows "E-26";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let (Some(rejected), Some(body)) = (request.outcome.referenced, request.sotw()) else { return };
    if rejected.was != Status::Nacked || body.error_detail.is_some() {
        return;
    }
    if request.answered_version() == Some(&body.version_info) && !body.version_info.is_empty() {
        let text = format!(
            "repeats nonce and version of the rejected version {} without error_detail: it looks like an ACK",
            body.version_info
        );
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(&[rejected.seq]));
    }
}
