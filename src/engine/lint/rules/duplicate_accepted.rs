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

rule! {
    duplicate-accepted: Warn, rows "E-43",
    ends(Ending::Names);
    checks: Request(check)
}

use crate::session::MessageKind;

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(answered) = request.outcome.answers.filter(|_| request.outcome.kind == MessageKind::Ack) else {
        return;
    };
    let twice = ctx.state.pending(answered).map(|sent| sent.duplicates.clone()).unwrap_or_default();
    let twice: Vec<_> = twice.into_iter().filter(|name| crate::session::nameless(*name).is_none()).collect();
    if !twice.is_empty() {
        let text = "accepted, but more than once in the response".to_owned();
        let evidence = [answered];
        ctx.report(
            &RULE,
            FindingDraft { text, names: &twice, evidence: &evidence, ..FindingDraft::default() },
        );
    }
}
