//! A type URL lacks the prefix `type.googleapis.com/` or a full message name.
//!
//! Why: The type URL selects the subscription. A server does not answer an unknown type URL, and a
//! client rejects one that does not match.
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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "type-url-malformed", "A-01", include_str!("type_url_malformed.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

use xdscope_wire::event::Kind;

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, Blame::Client, request.message.type_url().as_str());
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    check(ctx, Blame::Server, response.view.type_url.as_str());
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, url: &str) {
    if Kind::of_type_url(url).is_none() && is_malformed(url) {
        let text = format!("not a type URL: `{url}`; use type.googleapis.com/ and a full message name");
        ctx.report(&RULE, FindingDraft { blame, text, ..FindingDraft::default() });
    }
}

/// Whether the type URL is neither empty nor in the published form.
pub(super) fn is_malformed(url: &str) -> bool {
    let name = url.strip_prefix(xdscope_wire::event::TYPE_PREFIX);
    let dotted = |name: &str| name.split('.').count() > 1 && name.split('.').all(|part| !part.is_empty());
    !url.is_empty() && !name.is_some_and(dotted)
}
