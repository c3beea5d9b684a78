//! An inlined entry whose name has letters that are not surely allowed.
//!
//! Why: The text and the annotation of the message allow different letters: `/` only the one, `~` and `:` only
//! the other. With a letter that neither allows it is a warning.
//!
//! Example:
//! ```text
//! < n=1 [list with an entry named a~b]
//! ```
//!
//! Instead: use letters, digits, `_`, `-` and `.`.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-14.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-entry-name",
    severity: Severity::Info,
    rows: "K-14",
    source: include_str!("xdstp_entry_name.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let sure = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let maybe = |c: char| sure(c) || "/~:".contains(c);
    let odd = |allowed: &dyn Fn(char) -> bool| -> Vec<_> {
        let lists = answer.scan.collections.iter();
        let odd = lists.filter(|(_, entries)| super::inlined(entries).any(|name| !name.chars().all(allowed)));
        odd.map(|(list, _)| *list).collect()
    };
    let (bad, doubtful) = (odd(&maybe), odd(&sure));
    for (names, severity) in [(&bad, Some(Severity::Warn)), (&doubtful, None)] {
        let names: Vec<_> =
            names.iter().copied().filter(|name| severity.is_some() || !bad.contains(name)).collect();
        if !names.is_empty() {
            let text = "an inlined entry's name has letters that are not surely allowed".to_owned();
            case.raise(
                &RULE,
                Found { blame: Blame::Server, text, names: &names, severity, ..Found::default() },
            );
        }
    }
}
