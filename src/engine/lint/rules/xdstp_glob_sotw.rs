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

rule! {
    xdstp-glob-sotw: Info, rows "K-26";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.sotw().filter(|_| !request.track.subscription.globs.is_empty()) else { return };
    let glob = |name: &xdscope_wire::event::Sym| {
        request.track.subscription.globs.contains(ctx.catalog(), *name)
            && request.outcome.added.contains(name)
    };
    let names: Vec<_> = body.resource_names.iter().copied().filter(glob).collect();
    if !names.is_empty() {
        let text = "glob in a SotW request".to_owned();
        ctx.report(&RULE, FindingDraft { text, names: &names, ..FindingDraft::default() });
    }
}
