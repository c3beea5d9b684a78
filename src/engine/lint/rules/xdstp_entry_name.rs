//! The name of an inline entry has characters that may not be allowed.
//!
//! Why: The text of the proposal and the annotation of the message allow different characters: `/`
//! only in the text, `~` and `:` only in the annotation. With a character that neither allows, the
//! finding is a warning.
//!
//! Example:
//! ```text
//! < n=1 [list with an entry named a~b]
//! ```
//!
//! Advice: Use letters, digits, `_`, `-` and `.`.
//!
//! Reference: xRFC TP1, "List".

use super::support::inline_names;
use crate::lint::prelude::*;

rule! {
    xdstp-entry-name: Info, rows "K-14";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_allowed_by_both = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_allowed_by_one = |c: char| is_allowed_by_both(c) || "/~:".contains(c);
    let (mut bad, mut doubtful) = (Vec::new(), Vec::new());
    for (list, entries) in &response.scan.collections {
        if inline_names(entries).any(|name| !name.chars().all(is_allowed_by_one)) {
            bad.push(*list);
        } else if inline_names(entries).any(|name| !name.chars().all(is_allowed_by_both)) {
            doubtful.push(*list);
        }
    }
    // A list may occur twice in one response.
    doubtful.retain(|list| !bad.contains(list));
    for (names, severity) in [(bad, Some(Severity::Warn)), (doubtful, None)] {
        if !names.is_empty() {
            let text = "name of an inline entry has characters that may not be allowed";
            ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).severity(severity));
        }
    }
}
