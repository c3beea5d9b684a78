//! An update without a time to live where the version before had one.
//!
//! Why: It ends the time: the resource stays for ever. That is the way to remove a TTL, and a way to lose one.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=10s]
//! < n=2 [r~2@2]
//! ```
//!
//! Instead: repeat the TTL with each update.
//!
//! Protocol: "TTL"; row G-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ttl-dropped-by-update",
    severity: Severity::Info,
    rows: "G-05",
    source: include_str!("ttl_dropped_by_update.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if case.memo.ttl.is_empty() {
        return;
    }
    let catalog = case.catalog();
    let entries = answer.view.resources.blobs().iter().map(|id| catalog.entry(*id));
    let dropped = entries.filter(|entry| {
        let before = case.memo.ttl.get(&entry.name);
        entry.payload.is_some()
            && entry.ttl.is_none()
            && before.is_some_and(|version| *version != entry.version)
    });
    let names: Vec<_> = dropped.map(|entry| entry.name).collect();
    if !names.is_empty() {
        let text = "new version without the TTL that the one before had".to_owned();
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, names: &names, guess: true, ..Found::default() },
        );
    }
}
