//! A name is unsubscribed that was not subscribed.
//!
//! Why: Harmless; it may show that the client has lost track of what it wants.
//!
//! Example:
//! ```text
//! > sub=[a]
//! > unsub=[zz]
//! ```
//!
//! Instead: nothing.
//!
//! Protocol: "Unsubscribing from resources"; row F-24.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-phantom-unsub",
    severity: Severity::Info,
    rows: "F-24",
    source: include_str!("delta_phantom_unsub.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let names = &asking.outcome.phantoms;
    if !names.is_empty() && !asking.outcome.partial && case.is_certain() {
        let text = "unsubscribed without having been subscribed".to_owned();
        case.raise(&RULE, Found { text, names, ..Found::default() });
    }
}
