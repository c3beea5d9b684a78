//! An ACK leaves out names that the next request restores.
//!
//! Why: Each SotW request lists all names; a name left out is unsubscribed. The client seems to
//! have forgotten the list in its ACK.
//!
//! Example:
//! ```text
//! > eds names=[a b]
//! < eds v=1 n=1 [a b]
//! > eds v=1 n=1 names=[a]
//! > eds v=1 n=1 names=[a b]
//! ```
//!
//! Advice: Send the full list in every request, ACKs included.
//!
//! Reference: xDS protocol, "Unsubscribing From Resources".

use std::time::Duration;

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "names-shrunk-on-ack", "E-31", include_str!("names_shrunk_on_ack.rs"));

/// Time within which a client that has forgotten names restores them.
const AT_ONCE: Duration = Duration::from_secs(1);

pub(super) static CHECKS: &[Check] = &[Check::Request(check)];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some((seq, at, names)) = &ctx.state.missing_from_ack else { return };
    if ctx.at.since(*at) > AT_ONCE {
        return;
    }
    let restored = request.outcome.added.iter().copied().filter(|name| names.contains(name));
    let (names, evidence): (Vec<_>, _) = (restored.collect(), [*seq]);
    if !names.is_empty() && request.sotw().is_some() && ctx.has_all_since(*seq) {
        let text = "missing from an ACK and requested again at once".to_owned();
        ctx.report(
            &RULE,
            FindingDraft { text, names: &names, evidence: &evidence, guess: true, ..FindingDraft::default() },
        );
    }
}
