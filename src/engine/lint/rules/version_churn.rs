//! The version changed, and nothing else.
//!
//! Why: Each new version makes the client look at everything again and answer.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=2 n=b [foo]
//! ```
//!
//! Instead: change the version only when content changes.
//!
//! Protocol: "Resource versions"; row E-16.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "version-churn",
    severity: Severity::Info,
    rows: "E-16",
    source: include_str!("version_churn.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(before) = &case.memo.previous else { return };
    let (was, seq) = (before.version.clone(), before.seq);
    let muted = answer.heartbeat() || case.memo.added_since || !case.whole();
    if answer.view.is_delta || was == *answer.view.version || muted {
        return;
    }
    if super::sotw_needless_update::same_content(case, answer) && !answer.view.resources.is_empty() {
        let text = format!("version {was} became {}, contents and names are the same", answer.view.version);
        let evidence = [seq];
        case.raise(&RULE, Found { blame: Blame::Server, text, evidence: &evidence, ..Found::default() });
    }
}
