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
    let names = &request.outcome.unknown_unsubscribes;
    if !names.is_empty() && !request.track.completeness.has_lost {
        let text = "unsubscribed, but was not subscribed".to_owned();
        ctx.report(&RULE, FindingDraft { text, names, ..FindingDraft::default() });
    }
}
