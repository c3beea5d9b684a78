//! An empty response deletes all listeners or all clusters.
//!
//! Why: In SotW LDS and CDS what is left out is deleted. An empty response is more often a server that has lost
//! its data than a wish.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a
//! < cds v=2 n=b []
//! ```
//!
//! Instead: do not answer before the data is loaded.
//!
//! Protocol: "Deleting resources"; row E-44.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "lds-cds-emptied",
    severity: Severity::Warn,
    rows: "E-44",
    source: include_str!("lds_cds_emptied.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.full() && answer.view.resources.is_empty() && !answer.outcome.removed.is_empty() {
        let text = format!("empty response: all {} are deleted", answer.outcome.removed.len());
        let (blame, names) = (Blame::Server, answer.outcome.removed.as_slice());
        case.raise(&RULE, Found { blame, text, names, guess: true, ..Found::default() });
    }
}
