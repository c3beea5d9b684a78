//! A resource calls itself otherwise than the response calls it.
//!
//! Why: Subscriptions go by the name in `Resource`; the resource itself goes by its own. Clients may refuse the
//! difference.
//!
//! Example:
//! ```text
//! < n=1 [a{name: b}@1]
//! ```
//!
//! Instead: use one name for both.
//!
//! Protocol: "Incremental xDS"; row F-31.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-name-payload-differs",
    severity: Severity::Info,
    rows: "F-31",
    source: include_str!("delta_name_payload_differs.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = &answer.scan.misnamed;
    if !names.is_empty() {
        let text = "the resource's own name is another".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names, ..Found::default() });
    }
}
