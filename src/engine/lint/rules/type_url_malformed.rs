//! A type URL lacks the prefix `type.googleapis.com/` or a full message name.
//!
//! Why: The type URL selects the subscription. A server does not answer an unknown type URL, and a
//! client rejects one that does not match. URLs of another form, as in
//! `networking.istio.io/v1alpha3/ServiceEntry`, are legal if they name no published type: both
//! sides have agreed on them.
//!
//! Example:
//! ```text
//! > type=envoy.config.cluster.v3.Cluster
//! ```
//!
//! Advice: Write `type.googleapis.com/` and the full name of the message, as in
//! `type.googleapis.com/envoy.config.cluster.v3.Cluster`.
//!
//! Reference: xDS protocol, "Resource Types".

use crate::lint::prelude::*;
use xdscope_wire::event::{Kind, TYPE_PREFIX};

rule! {
    type-url-malformed: Error, rows "A-01",
    about(Subject::UnanswerableRequest);
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, Blame::Client, request.message.type_url().as_str());
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    check(ctx, Blame::Server, response.view.type_url.as_str());
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, url: &str) {
    if Kind::of_type_url(url).is_none() && is_malformed(ctx, url) {
        let text = format!("not a type URL: `{url}`; use type.googleapis.com/ and a full message name");
        ctx.report(&RULE, FindingDraft::new(blame, text, &[]));
    }
}

/// Whether a type URL names a published type in another form than the published one, or has no full
/// message name behind the prefix.
pub(super) fn is_malformed(ctx: &RuleContext<'_>, url: &str) -> bool {
    let is_full_name = |name: &str| name.contains('.') && name.split('.').all(|part| !part.is_empty());
    match url.strip_prefix(TYPE_PREFIX) {
        Some(name) => !is_full_name(name),
        None => is_published(ctx, url.rsplit('/').next().unwrap_or(url)),
    }
}

/// Whether a message name is that of a type with a descriptor.
fn is_published(ctx: &RuleContext<'_>, name: &str) -> bool {
    let is_kind = Kind::of_type_url(&format!("{TYPE_PREFIX}{name}")).is_some();
    is_kind || (name.contains('.') && ctx.options.types.as_ref().is_some_and(|known| known(name)))
}
