//! A locator or a name in a resource has an unknown or repeated directive.
//!
//! Why: The directives are `alt` and `entry`, each at most once. A client cannot follow others.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://b/T/y#alt=xdstp://c/T/z,alt=xdstp://d/T/z"@1]
//! ```
//!
//! Advice: Use at most one `alt` and one `entry`.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::support::{names_with_locator, new_names_with_payload};
use crate::lint::prelude::*;

rule! {
    xdstp-directive-bad: Error, rows "K-11",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let mut names = names_with_locator(response, |locator| locator.bad_directive);
    names.extend(new_names_with_payload(ctx, response, &ctx.source_state.graphs.bad_directives));
    ctx.report_names(&RULE, Blame::Server, "locator with an unknown or repeated directive", &names);
}
