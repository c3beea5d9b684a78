//! A client unsubscribes from everything with an empty list.
//!
//! Why: Current servers read an empty list as "nothing" once a name was requested. Older servers
//! answer as for a wildcard.
//!
//! Example:
//! ```text
//! > cds names=[A]
//! < cds v=1 n=a [A]
//! > cds v=1 n=a names=[]
//! ```
//!
//! Advice: Make sure that the server follows the current rule, or end the stream.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::prelude::*;

rule! {
    sotw-empty-after-named: Info, rows "E-40, L-06";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.sotw() else { return };
    let is_empty = body.resource_names.is_empty() && body.resource_locators.is_empty();
    let was_named = !request.outcome.removed.is_empty() && request.track.subscription.was_named;
    if is_empty && was_named {
        let text = "the list became empty: the client unsubscribes from everything";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &request.outcome.removed));
    }
}
