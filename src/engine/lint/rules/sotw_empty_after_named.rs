//! An empty list after names were given: everything is given up.
//!
//! Why: Correct today: once a name was sent, an empty list means "nothing". Older servers answer it as a
//! wildcard.
//!
//! Example:
//! ```text
//! > cds names=[A]
//! < cds v=1 n=a [A]
//! > cds v=1 n=a names=[]
//! ```
//!
//! Instead: make sure that the server knows the rule, or end the stream.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-40, L-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-empty-after-named",
    severity: Severity::Info,
    rows: "E-40, L-06",
    source: include_str!("sotw_empty_after_named.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.sotw() else { return };
    let empty = request.resource_names.is_empty() && request.resource_locators.is_empty();
    let emptied = !asking.outcome.removed.is_empty() && asking.track.subscription.was_named;
    if empty && emptied && !asking.outcome.partial {
        let text = "the list became empty: nothing is wanted any more".to_owned();
        case.raise(&RULE, Found { text, names: &asking.outcome.removed, ..Found::default() });
    }
}
