//! A server sends a resource at the version that the client already holds.
//!
//! Why: A client states its held versions so that the server need not send them again.
//!
//! Example:
//! ```text
//! > sub=[a] irv={a:1}
//! < n=1 [a@1]
//! ```
//!
//! Advice: Compare the stated versions with the current versions before answering the first
//! request.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;

rule! {
    delta-irv-resent: Info, rows "F-17";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = &response.outcome.claimed_resent;
    ctx.report_names(&RULE, Blame::Server, "sent at the version that the client already holds", names);
}
