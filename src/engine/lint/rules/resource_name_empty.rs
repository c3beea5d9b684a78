//! A resource has no name.
//!
//! Why: Resources are requested, updated and removed by name.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [""]
//! ```
//!
//! Advice: Set the field `name` of the resource (`cluster_name` in EDS), and in delta
//! `Resource.name` too.
//!
//! Reference: xDS protocol, "Resource names".

use crate::lint::prelude::*;
use xdscope_wire::text::plural;

rule! {
    resource-name-empty: Error, rows "A-18, F-31",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let count = response.scan.nameless.len();
    if count > 0 {
        let text =
            format!("{count} of {} without a name", plural(response.view.resources.len() as u64, "resource"));
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]));
    }
}
