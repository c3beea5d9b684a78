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

use crate::lint::prelude::*;
use crate::lint::structured_names::{delivered_names, is_given, requested_names};
use crate::session::Track;
use xdscope_wire::event::{Sym, TYPE_PREFIX};

rule! {
    xdstp-type-mismatch: Error, rows "K-04",
    ends(Ending::Content);
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let names = bad_names(request.track, requested_names(ctx, request));
    let is_given = |name: &Sym| is_given(ctx, request.track.kind, *name);
    let (given, chosen): (Vec<Sym>, Vec<Sym>) = names.into_iter().partition(is_given);
    report(ctx, request.track, Blame::Client, "", &chosen);
    report(ctx, request.track, Blame::Server, "; a resource of the server refers to the name", &given);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = bad_names(response.track, delivered_names(ctx, response));
    report(ctx, response.track, Blame::Server, "", &names);
}

/// Returns the type of a track without the prefix of type URLs.
fn own_type(track: &Track) -> Option<&str> {
    track.type_url.as_str().strip_prefix(TYPE_PREFIX)
}

fn bad_names(track: &Track, names: Vec<ParsedName<'_>>) -> Vec<Sym> {
    let Some(own) = own_type(track) else { return Vec::new() };
    let is_other = |kind: &str| kind != own && kind.strip_suffix("Collection") != Some(own);
    names.into_iter().filter(|(_, name)| is_other(&name.decoded_kind())).map(|(sym, _)| sym).collect()
}

fn report(ctx: &mut RuleContext<'_>, track: &Track, blame: Blame, remark: &str, names: &[Sym]) {
    if let Some(own) = own_type(track)
        && !names.is_empty()
    {
        let text = format!("the type in the name differs from {own}{remark}");
        ctx.report(&RULE, FindingDraft::new(blame, text, names));
    }
}
