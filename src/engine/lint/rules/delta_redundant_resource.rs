//! A server sends an unchanged resource that was not requested.
//!
//! Why: Delta responses carry changes. A resource at the version that the client holds is needless
//! load.
//!
//! Severity: `info`; `warn` if the server answers one ACK after the other with such resources, ten
//! times in a row: an exchange that never ends.
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! > n=1
//! < n=2 [a@1]
//! ```
//!
//! Advice: Track per stream which versions were sent. Treat an ACK as an answer, not as a request.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    delta-redundant-resource: Info, rows "F-35";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let has_cause = |name: &Sym| {
        // `nack-resend-loop` covers rejected names. Envoy needs the endpoints of an updated cluster
        // again: docs/protocol.md#h-05
        response.track.refused.contains(*name) || response.outcome.needed_again.contains(name)
    };
    let names: Vec<_> = response.outcome.repeated.iter().copied().filter(|name| !has_cause(name)).collect();
    if names.is_empty() {
        return;
    }
    let cause = ctx.cause_in_parents();
    if let Some(run) = ctx.exchange_loop(response) {
        let text = "sent again after each ACK, unrequested and at an unchanged version";
        let draft = FindingDraft::new(Blame::Server, text, &names);
        return ctx.report_loop(&RULE, run, draft.caused_by(cause.as_ref()));
    }
    let text = "sent again unrequested at an unchanged version";
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).caused_by(cause.as_ref()));
}
