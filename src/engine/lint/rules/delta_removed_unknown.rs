//! A server removes a name that the client neither holds nor requested.
//!
//! Why: Clients ignore such a removal. The server may be confusing its clients.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1] rm=[never]
//! ```
//!
//! Advice: No action is needed.
//!
//! Reference: xDS protocol, "Deleting Resources".

use crate::lint::prelude::*;

rule! {
    delta-removed-unknown: Info, rows "F-27";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let unknown = response.outcome.unknown_removals.iter().copied();
    let names: Vec<_> = unknown.filter(|name| !ctx.state.requests.unsubscribed.contains_key(name)).collect();
    if !response.track.completeness.has_lost && response.track.traffic.requests > 0 {
        let text = "removed, but neither held nor requested by the client";
        ctx.report_names(&RULE, Blame::Server, text, &names);
    }
}
