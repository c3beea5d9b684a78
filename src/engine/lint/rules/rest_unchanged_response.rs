//! A poll is answered with what the poll before was answered with.
//!
//! Why: With long polling the server holds the request until something changes. Answers that say nothing new
//! are load without use.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! >
//! < v=1 [A]
//! > v=1
//! < v=1 [A]
//! ```
//!
//! Instead: hold the request open until there is a change, or answer 304.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-07.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-unchanged-response",
    severity: Severity::Warn,
    rows: "D-07",
    source: include_str!("rest_unchanged_response.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(before) = case.memo.previous.as_ref().filter(|_| answer.track.polled) else { return };
    if before.version == *answer.view.version
        && answer.unchanged()
        && !case.memo.changed_since
        && case.whole()
    {
        let text = format!("the answer is that of the poll before, version {}", answer.view.version);
        let evidence = [before.seq];
        let found = Found { blame: Blame::Server, text, evidence: &evidence, ..Found::default() };
        case.raise(&RULE, found);
    }
}
