//! Virtual hosts are requested or sent on a SotW method.
//!
//! Why: VHDS exists in delta only. SotW cannot send virtual hosts one by one.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > vhds names=["rc/foo.com"]
//! ```
//!
//! Advice: Use a delta variant for VHDS.
//!
//! Reference: xDS protocol, "RPC Services and Methods for Each Variant".

use crate::lint::prelude::*;
use xdscope_wire::event::Kind;

rule! {
    vhds-on-sotw: Error, rows "A-05",
    about(Subject::UnanswerableRequest);
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.sotw().is_some() && request.outcome.first {
        check(ctx, request.track.kind, Blame::Client, "requested");
    }
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !response.view.is_delta && response.track.traffic.requests == 0 {
        check(ctx, response.track.kind, Blame::Server, "sent");
    }
}

fn check(ctx: &mut RuleContext<'_>, kind: Option<Kind>, blame: Blame, what: &str) {
    if kind == Some(Kind::Vhds) {
        let text = format!("virtual hosts {what} on a SotW method: VHDS is delta only");
        ctx.report(&RULE, FindingDraft::new(blame, text, &[]));
    }
}
