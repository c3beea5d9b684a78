//! Two inlined entries of a list have one name.
//!
//! Why: `collection#entry=NAME` refers to an entry by its name, which is unique in its list.
//!
//! Example:
//! ```text
//! < n=1 [list with two entries named bar]
//! ```
//!
//! Instead: name each entry once, or leave the name empty.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-14.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-entry-duplicate",
    severity: Severity::Error,
    rows: "K-14",
    source: include_str!("xdstp_entry_duplicate.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let mut names = Vec::new();
    for (list, entries) in &answer.scan.collections {
        let mut inline: Vec<_> = super::inlined(entries).filter(|name| !name.is_empty()).collect();
        let count = inline.len();
        inline.sort_unstable();
        inline.dedup();
        if inline.len() < count {
            names.push(*list);
        }
    }
    if !names.is_empty() {
        let text = "two inlined entries have one name".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
