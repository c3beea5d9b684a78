//! A list of names without `*` ends a wildcard subscription.
//!
//! Why: A list without `*` means exactly these names. Servers that follow the edition of Envoy
//! 1.17 ignore the names and keep the wildcard. The next response shows which reading the server
//! has.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a names=[A]
//! ```
//!
//! Advice: Add `*` to keep the wildcard. To leave the wildcard with old servers, open a new
//! stream.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::prelude::*;
use crate::session::{Wildcard, WildcardReading};

rule! {
    wildcard-dropped-by-names: Info, rows "E-41, L-06";
    checks: Request(check), Response(check_reading)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.sotw() else { return };
    if body.resource_names.is_empty() || request.outcome.first {
        return;
    }
    let was_wildcard = !matches!(request.outcome.was, Wildcard::None | Wildcard::Unknown);
    if was_wildcard && !request.track.subscribed.is_wildcard() {
        let text =
            "names without `*` end the wildcard; servers that follow the edition of Envoy 1.17 keep it";
        let draft = FindingDraft::new(Blame::Client, text, &body.resource_names);
        ctx.state.open_findings.wildcard_finding = ctx.report(&RULE, draft);
    }
}

/// Adds how the server understood the list, once a response shows it.
fn check_reading(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(reading) = response.outcome.wildcard_reading else { return };
    let Some(finding) = ctx.state.open_findings.wildcard_finding.take() else { return };
    let note = match reading {
        WildcardReading::Kept => "; this server keeps the wildcard",
        WildcardReading::Ended => "; this server sends the names only",
    };
    ctx.findings.note(finding, ctx.at, note);
}
