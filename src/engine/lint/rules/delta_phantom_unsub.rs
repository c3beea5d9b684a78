//! A client unsubscribes from a name that it had not subscribed to.
//!
//! Why: The request is harmless, but may show that the client has lost track of its subscriptions.
//!
//! Example:
//! ```text
//! > sub=[a]
//! > unsub=[zz]
//! ```
//!
//! Advice: No action is needed.
//!
//! Reference: xDS protocol, "Unsubscribing from Resources".

use crate::lint::prelude::*;

rule! {
    delta-phantom-unsub: Info, rows "F-24";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.track.completeness.has_lost {
        let names = &request.outcome.unknown_unsubscribes;
        ctx.report_names(&RULE, Blame::Client, "unsubscribed, but was not subscribed", names);
    }
}
