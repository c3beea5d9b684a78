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

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(Severity::Error, "rest-ads", "D-05", include_str!("rest_ads.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, request.track, Blame::Client);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    check(ctx, response.track, Blame::Server);
}

fn check(ctx: &mut RuleContext<'_>, track: &crate::session::Track, blame: Blame) {
    let Some(path) = ctx.stream.method.as_ref().and_then(|method| method.kind) else { return };
    if track.polled && !track.type_url.is_empty() && track.kind != Some(path) {
        let text = format!("type {} on the REST path of {}", track.type_url, path.label());
        ctx.report(&RULE, FindingDraft { blame, text, ..FindingDraft::default() });
    }
}
