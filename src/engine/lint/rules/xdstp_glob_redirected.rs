//! A server redirects a glob.
//!
//! Why: Lists and members may be redirected. A glob may not, because a glob is not a resource.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! < n=1 ["xdstp://a/T/x/*"=>"xdstp://b/T/y"@1]
//! ```
//!
//! Advice: Redirect the members.
//!
//! Reference: xRFC TP1, "Server redirects".

use crate::lint::prelude::*;
use crate::lint::structured::LOCATOR;
use xdscope_wire::xdstp::is_glob;

rule! {
    xdstp-glob-redirected: Error, rows "K-28",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let globs = response.scan.structured.iter().filter(|id| {
        let entry = catalog.entry(**id);
        let is_locator = catalog.text(entry.type_url) == LOCATOR;
        is_locator && is_glob(catalog.text(entry.name))
    });
    let names: Vec<_> = globs.map(|id| catalog.entry(*id).name).collect();
    ctx.report_names(&RULE, Blame::Server, "a glob cannot be redirected", &names);
}
