//! A locator or a name in a resource has an unknown or repeated directive.
//!
//! Why: The directives are `alt` and `entry`, each at most once. A client cannot follow others.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://b/T/y#alt=xdstp://c/T/z,alt=xdstp://d/T/z"@1]
//! ```
//!
//! Advice: Use at most one `alt` and one `entry`.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use crate::lint::prelude::*;

rule! {
    xdstp-directive-bad: Error, rows "K-11",
    ends(Ending::Content);
    checks: Response(check)
}

use super::super::structured::ListEntry;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let redirects = response.scan.redirects.iter().filter(|(_, locator)| locator.bad_directive);
    let listed = response.scan.collections.iter().filter(|(_, entries)| {
        entries.iter().any(|entry| matches!(entry, ListEntry::Locator(locator) if locator.bad_directive))
    });
    let mut names: Vec<_> = redirects.map(|(name, _)| *name).chain(listed.map(|(name, _)| *name)).collect();
    let bad = &ctx.source_state.graphs.bad_directives;
    if !bad.is_empty() {
        let new = super::support::new_payloads(ctx, response);
        names.extend(new.into_iter().filter(|(_, payload)| bad.contains(payload)).map(|(name, _)| name));
    }
    if !names.is_empty() {
        let text = "locator with an unknown or repeated directive".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
