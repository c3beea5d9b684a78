//! One request subscribes to a name and unsubscribes from it.
//!
//! Why: Which of the two wins is not defined.
//!
//! Example:
//! ```text
//! > sub=[d] unsub=[d]
//! ```
//!
//! Instead: send one of them.
//!
//! Protocol: "Incremental xDS"; row F-12.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-sub-unsub-overlap",
    severity: Severity::Warn,
    rows: "F-12",
    source: include_str!("delta_sub_unsub_overlap.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.delta().filter(|request| !request.unsubscribe.is_empty()) else { return };
    let leaves: crate::engine::session::SymSet = request.unsubscribe.iter().copied().collect();
    let names: Vec<_> = request.subscribe.iter().copied().filter(|name| leaves.contains(name)).collect();
    if !names.is_empty() {
        let text = "subscribed to and unsubscribed from in one request".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
