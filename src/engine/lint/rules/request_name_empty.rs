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

use crate::lint::prelude::*;

rule! {
    request-name-empty: Warn, rows "P",
    ends(Ending::State);
    checks: Request(check)
}

use crate::lint::findings::lasting::{Lasting, LastingState};
use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.outcome.added.contains(&Sym::EMPTY) {
        let text = "requested: no resource has an empty name".to_owned();
        let found = FindingDraft::new(Blame::Client, text, &[Sym::EMPTY]);
        let state = LastingState::Requested;
        ctx.report_lasting(&RULE, found, Lasting { state, since: ctx.at, past: None });
    }
}
