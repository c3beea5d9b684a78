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

use crate::lint::prelude::*;

rule! {
    xdstp-entry-empty: Error, rows "K-12",
    ends(Ending::Content), about(Subject::NamelessPart);
    checks: Response(check)
}

use super::super::structured::ListEntry;

/// Entries in the sentence of a finding; the others are counted.
const MAX_SHOWN_ENTRIES: usize = 3;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    for (list, entries) in &response.scan.collections {
        let empty = || entries.iter().enumerate().filter(|(_, entry)| **entry == ListEntry::Empty);
        let more = empty().count().saturating_sub(MAX_SHOWN_ENTRIES);
        let shown: Vec<String> =
            empty().take(MAX_SHOWN_ENTRIES).map(|(at, _)| format!("entries[{at}]")).collect();
        if !shown.is_empty() {
            let (shown, more) = (shown.join(", "), super::support::and_more(more));
            let text = format!("{shown}{more}: entry without a locator and without a resource");
            ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[*list]));
        }
    }
}
