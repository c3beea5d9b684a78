//! A type URL does not match its single-type method.
//!
//! Why: The method implies the type. A server that goes by the method answers another request than
//! was meant.
//!
//! Example:
//! ```text
//! stream 1 sotw cds
//! > eds names=[foo]
//! ```
//!
//! Advice: Use the method of the type, or ADS. The v2 and v3 forms of one type match.
//!
//! Reference: xDS protocol, "RPC Services and Methods for Each Variant".

use crate::lint::prelude::*;
use xdscope_wire::event::{Kind, TypeUrl};

rule! {
    type-service-mismatch: Error, rows "A-14",
    about(Subject::UnanswerableRequest);
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, &request.message.type_url(), Blame::Client);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    check(ctx, response.view.type_url, Blame::Server);
}

fn check(ctx: &mut RuleContext<'_>, stated: &TypeUrl, blame: Blame) {
    let Some(method) = ctx.stream.method.as_ref().and_then(|method| method.kind) else { return };
    let url = stated.as_str();
    // A collection uses the method of its members: docs/protocol.md#a-13
    let base = url.strip_suffix("Collection").unwrap_or(url);
    let kind = Kind::of_type_url(base).map(|(kind, _)| kind);
    if ctx.is_grpc() && kind != Some(method) && !url.is_empty() {
        let text = format!("type {url} on the method of {}", method.label());
        ctx.report(&RULE, FindingDraft::new(blame, text, &[]));
    }
}
