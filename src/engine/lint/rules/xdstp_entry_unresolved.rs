//! A reference to an inlined entry that its list does not have.
//!
//! Why: `collection#entry=NAME` leads to an entry of the list that was delivered. There is none of that name.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/TCollection/c#entry=nobody"@1]
//! ```
//!
//! Instead: refer to entries that the list has; those without a name can't be referred to.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-15.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-entry-unresolved",
    severity: Severity::Warn,
    rows: "K-15",
    source: include_str!("xdstp_entry_unresolved.rs"),
    on: &[On::Response(check)],
};

use super::super::structured::{self, Locator};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let redirects = answer.scan.redirects.iter();
    let lost = redirects.filter(|(_, locator)| lacks(case, answer, locator) == Some(true));
    let names: Vec<_> = lost.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "leads to an entry that the list does not have".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}

/// Whether the list that the locator leads to lacks the entry; `None` while the list is not known.
fn lacks(case: &RuleContext<'_>, answer: &ResponseContext<'_>, locator: &Locator) -> Option<bool> {
    let entry = locator.entry()?;
    let catalog = case.catalog();
    let list = catalog.strings().find(locator.uri.split('#').next()?)?;
    let slot = answer.track.sent.get(catalog, list).filter(|slot| slot.is_present())?;
    let payload = catalog.entry(slot.blob?).payload?;
    let bytes = catalog.bytes(payload)?;
    let entries = structured::entries(structured::value(&bytes));
    Some(!super::inlined(&entries).any(|name| name == entry))
}
