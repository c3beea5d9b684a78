//! A server does not answer names that came with an old nonce.
//!
//! Why: A delta server applies changes of the subscription whatever nonce the request has. Delta
//! has no stale requests.
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! < n=2 [b@1]
//! > n=1 sub=[z]
//! advance 15s
//! ```
//!
//! Advice: Apply the names first, and use the nonce for the verdict only.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;

rule! {
    delta-stale-sub-ignored: Warn, rows "F-07",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    super::delta_subscribe_unanswered::unanswered(
        ctx,
        &RULE,
        "subscribed with an old nonce, and not answered",
        |ctx, overdue| ctx.state.requests.added_by_stale_requests.contains(&overdue.name),
    );
}
