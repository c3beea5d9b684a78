//! A resource is sent again as it was, and nothing asked for it.
//!
//! Why: Delta sends what changed. A resource at the version that the client has is load without use.
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! > n=1
//! < n=2 [a@1]
//! ```
//!
//! Instead: remember per stream which versions were sent.
//!
//! Protocol: "Incremental xDS"; row F-35.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-redundant-resource",
    severity: Severity::Info,
    rows: "F-35",
    source: include_str!("delta_redundant_resource.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let answered = |name: &crate::wire::event::Sym| {
        // Given up under a wildcard: the answer that is owed. Refused: another rule's.
        case.memo.reclassify.contains_key(name) || answer.track.refused.contains(name)
    };
    let names: Vec<_> = answer.outcome.repeated.iter().copied().filter(|name| !answered(name)).collect();
    if !names.is_empty() && case.whole() {
        let text = "sent again at the same version, unasked".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
