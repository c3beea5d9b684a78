//! A client requests a resource with an empty name.
//!
//! Why: No resource has an empty name, so the request stays unanswered. Often a reference in
//! another resource, or a setting, is empty.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [c{eds}]
//! > eds names=[""]
//! ```
//!
//! Advice: Look for the resource whose reference is empty, such as a route without a cluster. For
//! all resources of a type request `*`, or no names at all.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    request-name-empty: Warn, rows "P",
    ends(Ending::State);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.outcome.added.contains(&Sym::EMPTY) {
        let text = "requested: no resource has an empty name";
        let draft = FindingDraft::new(Blame::Client, text, &[Sym::EMPTY]);
        ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::Requested, ctx.at));
    }
}
