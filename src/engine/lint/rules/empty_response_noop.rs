//! An empty response has no effect for its type.
//!
//! Why: Only SotW responses of listeners and clusters delete what they leave out. For other types
//! an empty response changes nothing.
//!
//! Severity: `info`; `warn` if the server answers one ACK after the other with an empty response of
//! whatever type, ten times in a row: an exchange that never ends.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=3 n=c []
//! ```
//!
//! Advice: Remove what refers to the resource; the client then drops the resource. Treat an ACK as
//! an answer, not as a request.
//!
//! Reference: xDS protocol, "Deleting Resources".

use crate::lint::prelude::*;

rule! {
    empty-response-noop: Info, rows "E-45";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if is_empty(response)
        && let Some(run) = ctx.exchange_loop(response)
    {
        let text = "server answers each ACK with an empty response, and client ACKs each";
        let draft = FindingDraft::new(Blame::Both, text, &[]);
        return ctx.report_loop(&RULE, run, draft);
    }
    let named = response.track.kind.is_some() && !response.is_full_state() && !response.view.is_delta;
    if named && is_empty(response) {
        ctx.report(&RULE, FindingDraft::new(Blame::Server, "empty response: changes nothing", &[]));
    }
}

/// Whether a response neither sends nor removes anything.
pub(super) fn is_empty(response: &ResponseContext<'_>) -> bool {
    response.view.resources.is_empty()
        && response.view.removed.is_empty()
        && response.outcome.removed.is_empty()
}
