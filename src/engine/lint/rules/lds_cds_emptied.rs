//! An empty response deletes all listeners or all clusters.
//!
//! Why: A listener or cluster that a SotW response leaves out is deleted. An empty response
//! usually comes from a server that has lost its data.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a
//! < cds v=2 n=b []
//! ```
//!
//! Advice: Do not answer before the data is loaded.
//!
//! Reference: xDS protocol, "Deleting Resources".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "lds-cds-emptied", "E-44", include_str!("lds_cds_emptied.rs"))
        .ends(Ending::State);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use super::super::lasting::{Lasting, LastingState};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.is_full_state() && response.view.resources.is_empty() && !response.outcome.removed.is_empty()
    {
        let text = match response.outcome.removed.len() {
            1 => "empty response deletes the only resource".to_owned(),
            all => format!("empty response deletes all {all} resources"),
        };
        let (blame, names) = (Blame::Server, response.outcome.removed.as_slice());
        let found = FindingDraft { blame, text, names, guess: true, ..FindingDraft::default() };
        let state = LastingState::Emptied(response.track.kind);
        ctx.report_lasting(&RULE, found, Lasting { state, since: ctx.at, past: None });
    }
}
