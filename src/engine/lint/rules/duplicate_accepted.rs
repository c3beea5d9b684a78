//! A client accepted a response that holds a name twice.
//!
//! Why: A client should reject such a response, because the protocol does not define which of the
//! two applies.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo foo]
//! > eds v=1 n=a names=[foo]
//! ```
//!
//! Advice: Reject responses with duplicate names.
//!
//! Reference: xDS protocol, "Duplicate Resource Names".

use crate::lint::prelude::*;
use crate::session::{MessageKind, nameless};
use xdscope_wire::event::Sym;

rule! {
    duplicate-accepted: Warn, rows "E-43",
    ends(Ending::Names);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(sent) = request.outcome.answers.and_then(|answered| ctx.state.pending(answered)) else { return };
    let is_named = |name: &Sym| nameless(*name).is_none();
    let twice: Vec<Sym> = sent.duplicates.iter().copied().filter(is_named).collect();
    if request.outcome.kind == MessageKind::Ack && !twice.is_empty() {
        let text = "accepted, but more than once in the response";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &twice).evidence(request.answered()));
    }
}
