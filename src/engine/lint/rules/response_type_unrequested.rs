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

use crate::lint::prelude::*;

rule! {
    response-type-unrequested: Error, rows "I-01",
    ends(Ending::State), about(Subject::AcceptedFault);
    checks: Response(check)
}

use crate::lint::findings::lasting::{Lasting, LastingState};
use xdscope_wire::event::TypeUrl;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let named = !response.track.type_url.is_empty();
    // `ads-type-url-missing` covers a request that the server may have read as one for the type.
    let typeless = ctx.stream.find(&TypeUrl::default());
    if typeless.is_some_and(|track| track.traffic.requests > 0) {
        return;
    }
    if ctx.is_aggregated()
        && response.track.traffic.requests == 0
        && !response.track.completeness.has_lost
        && named
        // `type-url-malformed` covers a type that no client can request.
        && !super::type_url_malformed::is_malformed(ctx, response.track.type_url.as_str())
    {
        let label = super::support::type_label(&response.track.type_url);
        let draft = FindingDraft {
            blame: Blame::Server,
            text: format!("{label} was never requested on the stream"),
            ..FindingDraft::default()
        };
        let past = Some(format!("{label} was sent {{}} before its first request on the stream"));
        ctx.report_lasting(
            &RULE,
            draft,
            Lasting { state: LastingState::UnrequestedType, since: ctx.at, past },
        );
    }
}
