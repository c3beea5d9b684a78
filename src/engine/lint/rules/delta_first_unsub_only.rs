//! The first delta request only unsubscribes.
//!
//! Why: Whether that is a wildcard is not clear: one passage makes every stream a wildcard on which nothing was
//! ever subscribed to, another wants both lists empty.
//!
//! Example:
//! ```text
//! > unsub=[x]
//! ```
//!
//! Instead: subscribe to `*` for a wildcard, or leave the list empty.
//!
//! Protocol: "Incremental xDS"; rows F-21, L-17.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-first-unsub-only",
    severity: Severity::Warn,
    rows: "F-21, L-17",
    source: include_str!("delta_first_unsub_only.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if !asking.outcome.first || asking.outcome.partial {
        return;
    }
    let Some(request) = asking.delta() else { return };
    let asks = !request.subscribe.is_empty() || !request.locators_subscribe.is_empty();
    if !asks && !request.unsubscribe.is_empty() {
        let text = "first request unsubscribes and subscribes to nothing: a wildcard or not?".to_owned();
        case.raise(&RULE, Found { text, names: &request.unsubscribe, ..Found::default() });
    }
}
