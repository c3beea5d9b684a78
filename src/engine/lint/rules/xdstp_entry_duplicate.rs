//! Two inline entries of a list have one name.
//!
//! Why: `collection#entry=NAME` refers to an entry by its name, which is unique within its list.
//!
//! Example:
//! ```text
//! < n=1 [list with two entries named bar]
//! ```
//!
//! Advice: Use each name once, or leave the name empty.
//!
//! Reference: xRFC TP1, "List".

use super::support::inline_names;
use crate::lint::prelude::*;

rule! {
    xdstp-entry-duplicate: Error, rows "K-14",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let mut names = Vec::new();
    for (list, entries) in &response.scan.collections {
        let mut inline: Vec<_> = inline_names(entries).filter(|name| !name.is_empty()).collect();
        let count = inline.len();
        inline.sort_unstable();
        inline.dedup();
        if inline.len() < count {
            names.push(*list);
        }
    }
    ctx.report_names(&RULE, Blame::Server, "two inline entries have the same name", &names);
}
