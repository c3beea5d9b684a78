//! A SotW request has a glob.
//!
//! Why: Members of a glob are added and removed one by one, which only delta can express. A SotW
//! server may not support globs.
//!
//! Example:
//! ```text
//! stream 1 sotw lds
//! > names=["xdstp://a/T/x/*"]
//! ```
//!
//! Advice: Use a delta variant for globs.
//!
//! Reference: xRFC TP1, "Discovery request and responses".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    xdstp-glob-sotw: Info, rows "K-26";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.sotw() else { return };
    let globs = &request.track.subscription.globs;
    if globs.is_empty() {
        return;
    }
    let is_new_glob =
        |name: &Sym| globs.contains(ctx.catalog(), *name) && request.outcome.added.contains(name);
    let names: Vec<_> = body.resource_names.iter().copied().filter(is_new_glob).collect();
    ctx.report_names(&RULE, Blame::Client, "glob in a SotW request", &names);
}
