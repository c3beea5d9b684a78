//! An empty response of a type in which absence means nothing.
//!
//! Why: Only SotW LDS and CDS delete by leaving out. For all other types an empty response has no effect.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=3 n=c []
//! ```
//!
//! Instead: remove what refers to the resource; the client drops it then.
//!
//! Protocol: "Deleting resources"; row E-45.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "empty-response-noop",
    severity: Severity::Info,
    rows: "E-45",
    source: include_str!("empty_response_noop.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let named = answer.track.kind.is_some() && !answer.full() && !answer.view.is_delta;
    if named && answer.view.resources.is_empty() && answer.outcome.removed.is_empty() {
        let text = "empty response: it changes nothing".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
