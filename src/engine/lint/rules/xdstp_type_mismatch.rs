//! A structured name has another type than its message.
//!
//! Why: The name contains its type. With another type URL in the message it is unclear which
//! applies. Collections of the type match.
//!
//! Example:
//! ```text
//! stream 1 delta cds
//! > sub=["xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/foo"]
//! ```
//!
//! Advice: Request each name under its own type.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "xdstp-type-mismatch", "K-04", include_str!("xdstp_type_mismatch.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let names = super::super::structured_names::requested_names(ctx, request);
    check(ctx, request.track, Blame::Client, names);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = super::super::structured_names::delivered_names(ctx, response);
    check(ctx, response.track, Blame::Server, names);
}

fn check(
    ctx: &mut RuleContext<'_>,
    track: &crate::engine::session::Track,
    blame: Blame,
    names: Vec<ParsedName<'_>>,
) {
    let Some(own) = track.type_url.as_str().strip_prefix(crate::wire::event::TYPE_PREFIX) else { return };
    let other = |kind: &str| kind != own && kind.strip_suffix("Collection") != Some(own);
    let names: Vec<_> = names.into_iter().filter(|(_, name)| other(name.kind)).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = format!("the type in the name differs from {own}");
        ctx.report(&RULE, FindingDraft { blame, text, names: &names, ..FindingDraft::default() });
    }
}
