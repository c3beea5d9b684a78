//! Most of what a server pushes is already known to the client.
//!
//! Why: In SotW a change of one listener or cluster sends all of them again. In the last pushes of
//! the type after its first, more than 90 % of the bytes, and more than 500 KB, were unchanged.
//!
//! Example:
//! ```text
//! < cds v=41 n=a [ 119 clusters, one of them changed ]
//! ```
//!
//! Advice: Use a delta variant of the protocol, which sends changes only.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;

rule! {
    delta-would-save: Info, rows "P";
    checks: Response(check)
}

/// Pushes after the first one that are judged together.
const MIN_REPEATS: usize = 2;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(push) = response.repeated_bytes() else { return };
    let pushes = || ctx.state.responses.pushes.iter().chain([&push]);
    let count = pushes().count();
    let (all, same) = pushes().fold((0u64, 0u64), |sum, push| (sum.0 + push.0, sum.1 + push.1));
    if count >= MIN_REPEATS && same > 500_000 && same.saturating_mul(10) > all.saturating_mul(9) {
        let text = format!("{} of {} KB in {count} pushes were unchanged", same / 1000, all / 1000);
        ctx.report(&RULE, FindingDraft::new(Blame::Both, text, &[]));
    }
}
