//! An alias that two resources claim, or that is the name of another.
//!
//! Why: Clients look resources up by name and by alias. Two answers to one name are one too many.
//!
//! Example:
//! ```text
//! < n=1 [rc/x@1 aliases=[rc/z]]
//! < n=2 [rc/y@1 aliases=[rc/z]]
//! ```
//!
//! Instead: give each alias to one resource.
//!
//! Protocol: "Incremental xDS"; row F-30.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-alias-collision",
    severity: Severity::Warn,
    rows: "F-30",
    source: include_str!("delta_alias_collision.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let (catalog, track) = (case.catalog(), answer.track);
    let mut names: Vec<Sym> = Vec::new();
    let mut claims = std::collections::HashMap::new();
    for id in &answer.scan.aliased {
        let entry = catalog.entry(*id);
        for alias in entry.aliases {
            let known = claims.insert(*alias, entry.name).or_else(|| case.memo.aliases.get(alias).copied());
            let other = known.filter(|other| *other != entry.name && track.sent.is_present(catalog, *other));
            let name = *alias != entry.name && track.sent.is_present(catalog, *alias);
            if other.is_some() || name {
                names.push(*alias);
            }
        }
    }
    if !names.is_empty() {
        let text = "alias of more than one resource".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
