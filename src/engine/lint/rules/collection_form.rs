//! A large list is sent again and again.
//!
//! Why: Lists are for what is small or seldom changes; for large or busy sets there are globs, which send
//! members one by one. This one has more than 1,000 entries and came more than ten times in a minute.
//!
//! Example:
//! ```text
//! < n=1 [list of 1,200 entries] … eleven times in a minute
//! ```
//!
//! Instead: use a glob.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-22.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "collection-form",
    severity: Severity::Info,
    rows: "K-22",
    source: include_str!("collection_form.rs"),
    on: &[On::Response(check)],
};

use std::time::Duration;

/// Entries of a large list, and how often it may come in a minute.
const LARGE: usize = 1000;
const OFTEN: usize = 10;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let large = answer.scan.collections.iter().filter(|(_, entries)| entries.len() > LARGE);
    let names: Vec<_> = large.map(|(name, _)| *name).collect();
    if names.is_empty() || !case.timed() {
        return;
    }
    let at = case.at;
    case.memo.lists.retain(|then| at.since(*then) <= Duration::from_secs(60));
    case.memo.lists.push_back(at);
    if case.memo.lists.len() > OFTEN {
        case.memo.lists.pop_front();
        let text = "a list of more than 1,000 entries, sent more than ten times in a minute".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
