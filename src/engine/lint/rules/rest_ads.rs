//! A REST poll mixes types on one path.
//!
//! Why: ADS is not available over REST: each type has its own path.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! > eds names=[foo]
//! ```
//!
//! Advice: Poll each type on its own path, or use gRPC for ADS.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::{Kind, TypeUrl};

rule! {
    rest-ads: Error, rows "D-05";
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, request.track, &request.message.type_url(), Blame::Client);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    check(ctx, response.track, response.view.type_url, Blame::Server);
}

fn check(ctx: &mut RuleContext<'_>, track: &Track, stated: &TypeUrl, blame: Blame) {
    let Some(path) = ctx.stream.method.as_ref().and_then(|method| method.kind) else { return };
    let kind = Kind::of_type_url(stated.as_str()).map(|(kind, _)| kind);
    if track.polled && !stated.is_empty() && kind != Some(path) {
        let text = format!("type {stated} on the REST path of {}", path.label());
        ctx.report(&RULE, FindingDraft::new(blame, text, &[]));
    }
}
