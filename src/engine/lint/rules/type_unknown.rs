//! A type is missing from the descriptors.
//!
//! Why: xdscope follows versions and nonces, but cannot read names and contents, so rules about
//! names are silent.
//!
//! Example:
//! ```text
//! > type.googleapis.com/istio.workload.Address
//! ```
//!
//! Advice: Load the descriptors with --protoset or --proto. If the type is published, check its
//! spelling.
//!
//! Reference: xDS protocol, "Resource Types".

use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::TYPE_PREFIX;

rule! {
    type-unknown: Info, rows "A-01";
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.outcome.first {
        check(ctx, Blame::Client, request.track);
    }
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.outcome.order == 0 && response.track.traffic.requests == 0 {
        check(ctx, Blame::Server, response.track);
    }
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, track: &Track) {
    let url = track.type_url.as_str();
    if track.kind.is_some() || url.is_empty() || super::type_url_malformed::is_malformed(ctx, url) {
        return;
    }
    let name = url.strip_prefix(TYPE_PREFIX).unwrap_or(url);
    if !ctx.options.types.as_ref().is_some_and(|known| known(name)) {
        let text = format!("{name} is missing from the descriptors: resources are shown as bytes");
        ctx.report(&RULE, FindingDraft::new(blame, text, &[]));
    }
}
