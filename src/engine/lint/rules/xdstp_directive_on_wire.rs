//! A name on the wire has a directive (`#…`).
//!
//! Why: Directives tell the client how to find a resource, and are not part of its name. Caches
//! and servers would read another resource.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/foo#alt=xdstp://b/T/foo"]
//! ```
//!
//! Advice: Remove directives before subscribing.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use crate::lint::prelude::*;

rule! {
    xdstp-directive-on-wire: Warn, rows "K-06",
    ends(Ending::Content);
    checks: StructuredNames(check)
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let names: Vec<_> =
        names.iter().filter(|(_, name)| name.directives.is_some()).map(|(sym, _)| *sym).collect();
    ctx.report_names(&RULE, blame, "names on the wire must not have directives", &names);
}
