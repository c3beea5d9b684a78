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
    let strangers = response.outcome.unknown_removals.iter().copied();
    let names: Vec<_> = strangers.filter(|name| !ctx.state.unsubscribed.contains_key(name)).collect();
    if !names.is_empty() && !response.track.completeness.has_lost && response.track.traffic.requests > 0 {
        let text = "removed, but neither held nor requested by the client".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
