//! A server sends a resource under the name of a glob.
//!
//! Why: A glob stands for its members; a resource has a name of its own.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! < n=1 ["xdstp://a/T/x/*"@1]
//! ```
//!
//! Advice: Send the members under their names.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use crate::lint::prelude::*;
use crate::lint::structured::LOCATOR;
use xdscope_wire::xdstp::is_glob;

rule! {
    xdstp-glob-as-name: Error, rows "K-06",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let globs = response.scan.structured.iter().filter(|id| {
        let entry = catalog.entry(**id);
        let is_locator = catalog.text(entry.type_url) == LOCATOR;
        is_glob(catalog.text(entry.name)) && entry.payload.is_some() && !is_locator
    });
    let names: Vec<_> = globs.map(|id| catalog.entry(*id).name).collect();
    ctx.report_names(&RULE, Blame::Server, "a glob is not the name of a resource", &names);
}
