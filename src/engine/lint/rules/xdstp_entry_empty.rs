//! An entry of a list with neither a locator nor a resource.
//!
//! Why: Each entry is exactly one of both. An empty one says nothing.
//!
//! Example:
//! ```text
//! < n=1 [list with an entry {}]
//! ```
//!
//! Instead: leave empty entries out.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-12.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-entry-empty",
    severity: Severity::Error,
    rows: "K-12",
    source: include_str!("xdstp_entry_empty.rs"),
    on: &[On::Response(check)],
};

use super::super::structured::Entry;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let empty = answer.scan.collections.iter().filter(|(_, entries)| entries.contains(&Entry::Empty));
    let names: Vec<_> = empty.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "an entry has neither a locator nor a resource".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
