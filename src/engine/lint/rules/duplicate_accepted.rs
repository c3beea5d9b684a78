//! The client accepted a response that holds a name twice.
//!
//! Why: It should refuse it: which of the two it uses is undefined.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo foo]
//! > eds v=1 n=a names=[foo]
//! ```
//!
//! Instead: refuse responses with repeated names.
//!
//! Protocol: "Resource names"; row E-43.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-accepted",
    severity: Severity::Warn,
    rows: "E-43",
    source: include_str!("duplicate_accepted.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::MessageKind;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(answered) = asking.outcome.answers.filter(|_| asking.outcome.kind == MessageKind::Ack) else {
        return;
    };
    let twice = case.memo.pending(answered).map(|sent| sent.twice.clone()).unwrap_or_default();
    let twice: Vec<_> =
        twice.into_iter().filter(|name| crate::engine::session::nameless(*name).is_none()).collect();
    if !twice.is_empty() {
        let text = "accepted, though it was in the response more than once".to_owned();
        let evidence = [answered];
        case.raise(&RULE, Found { text, names: &twice, evidence: &evidence, ..Found::default() });
    }
}
