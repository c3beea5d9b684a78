//! A server sends a type that the client never requested on the stream.
//!
//! Why: Each type has its own subscription, which the client starts.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > cds
//! < lds v=1 n=a [l]
//! ```
//!
//! Advice: Answer requested types only.
//!
//! Reference: xDS protocol, "Aggregated Discovery Service".

use super::support::type_label;
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use xdscope_wire::event::TypeUrl;

rule! {
    response-type-unrequested: Error, rows "I-01",
    ends(Ending::State), about(Subject::AcceptedFault);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let track = response.track;
    // `ads-type-url-missing` covers a request that the server may have read as one for the type.
    let typeless = ctx.stream.find(&TypeUrl::default());
    if typeless.is_some_and(|track| track.traffic.requests > 0) {
        return;
    }
    // `type-url-malformed` covers a type that no client can request.
    let is_requestable =
        !track.type_url.is_empty() && !super::type_url_malformed::is_malformed(ctx, track.type_url.as_str());
    let is_unrequested = track.traffic.requests == 0 && !track.completeness.has_lost;
    if ctx.is_aggregated() && is_unrequested && is_requestable {
        let label = type_label(&track.type_url);
        let text = format!("{label} was never requested on the stream");
        let past = Some(format!("{label} was sent {{}} before its first request on the stream"));
        let lasting = Lasting { past, ..Lasting::new(LastingState::UnrequestedType, ctx.at) };
        ctx.report_lasting(&RULE, FindingDraft::new(Blame::Server, text, &[]), lasting);
    }
}
