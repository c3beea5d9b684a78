//! A resource is sent at the version that the client said to have.
//!
//! Why: Initial versions are there so that the server need not send again what the client has.
//!
//! Example:
//! ```text
//! > sub=[a] irv={a:1}
//! < n=1 [a@1]
//! ```
//!
//! Instead: compare the versions with your own before you answer the first request.
//!
//! Protocol: "Incremental xDS"; row F-17.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-irv-resent",
    severity: Severity::Info,
    rows: "F-17",
    source: include_str!("delta_irv_resent.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = &answer.outcome.held;
    if !names.is_empty() {
        let text = "sent at the version that the client said to have".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names, ..Found::default() });
    }
}
