//! The name in a resource differs from the name in its `Resource` wrapper.
//!
//! Why: Subscriptions use `Resource.name`, while the resource itself has its own name. Clients may
//! reject the difference.
//!
//! Example:
//! ```text
//! < n=1 [a{name: b}@1]
//! ```
//!
//! Advice: Use one name for both.
//!
//! Reference: xDS protocol, "Resource names".

use super::support::and_more;
use crate::lint::prelude::*;
use xdscope_wire::text::shown_name;

rule! {
    delta-name-payload-differs: Info, rows "F-31";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let misnamed = &response.scan.misnamed;
    let Some((_, inner)) = misnamed.first() else { return };
    let names: Vec<_> = misnamed.iter().map(|(name, _)| *name).collect();
    let (inner, more) = (shown_name(ctx.text(*inner)), and_more(misnamed.len() - 1));
    let text = format!("the name in the payload differs: {inner}{more}");
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}
