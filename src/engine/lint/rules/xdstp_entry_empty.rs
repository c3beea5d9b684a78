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

use super::support::and_more;
use crate::lint::prelude::*;
use crate::lint::structured::ListEntry;

rule! {
    xdstp-entry-empty: Error, rows "K-12",
    ends(Ending::Content), about(Subject::NamelessPart);
    checks: Response(check)
}

/// Entries in the sentence of a finding; the others are counted.
const MAX_SHOWN_ENTRIES: usize = 3;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    for (list, entries) in &response.scan.collections {
        let empty = entries.iter().enumerate().filter(|(_, entry)| **entry == ListEntry::Empty);
        let mut places: Vec<String> = empty.map(|(index, _)| format!("entries[{index}]")).collect();
        if !places.is_empty() {
            let more = and_more(places.len().saturating_sub(MAX_SHOWN_ENTRIES));
            places.truncate(MAX_SHOWN_ENTRIES);
            let places = places.join(", ");
            let text = format!("{places}{more}: entry without a locator and without a resource");
            ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[*list]));
        }
    }
}
