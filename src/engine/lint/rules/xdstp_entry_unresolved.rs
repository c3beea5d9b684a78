//! A locator refers to an inline entry that the list does not have.
//!
//! Why: `collection#entry=NAME` refers to an entry of the delivered list. The list has no entry of
//! that name.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/TCollection/c#entry=nobody"@1]
//! ```
//!
//! Advice: Refer to existing entries. Entries without a name cannot be referred to.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "xdstp-entry-unresolved", "K-15", include_str!("xdstp_entry_unresolved.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use super::super::structured::{self, Locator};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let redirects = response.scan.redirects.iter();
    let lost = redirects.filter(|(_, locator)| lacks(ctx, response, locator) == Some(true));
    let names: Vec<_> = lost.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "refers to an entry that the list does not have".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}

/// Whether the list of the locator lacks the entry; `None` while the list is unknown.
fn lacks(ctx: &RuleContext<'_>, response: &ResponseContext<'_>, locator: &Locator) -> Option<bool> {
    let entry = locator.entry()?;
    let catalog = ctx.catalog();
    let list = catalog.first_spelling(catalog.strings().find(&locator.target())?);
    let slot = response.track.sent.get(catalog, list).filter(|slot| slot.is_present())?;
    let payload = catalog.entry(slot.blob?).payload?;
    let bytes = catalog.bytes(payload)?;
    let entries = structured::entries(structured::value(&bytes));
    Some(!super::support::inline_names(&entries).any(|name| name == entry))
}
