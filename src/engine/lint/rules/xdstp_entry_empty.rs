//! An entry of a list has neither a locator nor a resource.
//!
//! Why: Each entry has exactly one of both.
//!
//! Example:
//! ```text
//! < n=1 [list with an entry {}]
//! ```
//!
//! Advice: Leave out empty entries.
//!
//! Reference: xRFC TP1, "List".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "xdstp-entry-empty", "K-12", include_str!("xdstp_entry_empty.rs"))
        .ends(Ending::Content);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use super::super::structured::ListEntry;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let empty = response.scan.collections.iter().filter(|(_, entries)| entries.contains(&ListEntry::Empty));
    let names: Vec<_> = empty.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "entry without a locator and without a resource".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
