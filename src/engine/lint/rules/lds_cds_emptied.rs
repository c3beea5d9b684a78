//! An empty response deletes all listeners or all clusters.
//!
//! Why: A listener or cluster that a SotW response leaves out is deleted. An empty response
//! usually comes from a server that has lost its data. Resources with an entry in
//! `resource_errors` do not count.
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

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::session::SymSet;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.is_full_state() && response.view.resources.is_empty() && !response.outcome.removed.is_empty()
    {
        // The server states why it leaves out these resources.
        let explained: SymSet = response.view.resource_errors.iter().map(|error| error.name).collect();
        let removed = response.outcome.removed.iter().copied();
        let names: Vec<_> = removed.filter(|name| !explained.contains(name)).collect();
        let text = match names.len() {
            0 => return,
            1 => "empty response deletes the only resource".to_owned(),
            all => format!("empty response deletes all {all} resources"),
        };
        let (blame, names) = (Blame::Server, names.as_slice());
        let found = FindingDraft { blame, text, names, guess: true, ..FindingDraft::default() };
        let state = LastingState::Emptied(response.track.kind);
        ctx.report_lasting(&RULE, found, Lasting { state, since: ctx.at, past: None });
    }
}
