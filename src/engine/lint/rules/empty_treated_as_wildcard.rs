//! A server answers an empty list as a wildcard, though names were given before.
//!
//! Why: Once a name was sent, an empty list means that nothing is wanted.
//!
//! Example:
//! ```text
//! > cds v=2 n=b names=[]
//! advance 20s
//! < cds v=3 n=c [A B]
//! ```
//!
//! Instead: remember whether the client has ever named anything on the stream.
//!
//! Protocol: "How the client specifies what resources to return"; row E-40.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "empty-treated-as-wildcard",
    severity: Severity::Warn,
    rows: "E-40",
    source: include_str!("empty_treated_as_wildcard.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(since) = case.memo.emptied.filter(|_| answer.full() && !answer.view.resources.is_empty()) else {
        return;
    };
    if case.timed() && case.at.since(since) > case.options.timers.ack && case.is_certain() {
        let names: Vec<_> = answer
            .view
            .resources
            .blobs()
            .iter()
            .map(|id| crate::engine::session::key(case.catalog(), *id))
            .collect();
        let text = "sent to a client that wants nothing: its list became empty".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
