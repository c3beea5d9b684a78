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

use crate::lint::prelude::*;

rule! {
    xdstp-entry-name: Info, rows "K-14";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let allowed_by_both = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let allowed_by_one = |c: char| allowed_by_both(c) || "/~:".contains(c);
    let odd = |allowed: &dyn Fn(char) -> bool| -> Vec<_> {
        let lists = response.scan.collections.iter();
        let odd = lists.filter(|(_, entries)| {
            super::support::inline_names(entries).any(|name| !name.chars().all(allowed))
        });
        odd.map(|(list, _)| *list).collect()
    };
    let (bad, doubtful) = (odd(&allowed_by_one), odd(&allowed_by_both));
    for (names, severity) in [(&bad, Some(Severity::Warn)), (&doubtful, None)] {
        let names: Vec<_> =
            names.iter().copied().filter(|name| severity.is_some() || !bad.contains(name)).collect();
        if !names.is_empty() {
            let text = "name of an inline entry has characters that may not be allowed".to_owned();
            ctx.report(&RULE, FindingDraft { severity, ..FindingDraft::new(Blame::Server, text, &names) });
        }
    }
}
