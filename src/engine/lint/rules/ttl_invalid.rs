//! A TTL is zero, negative or out of range.
//!
//! Why: The protocol does not define what a client does: the resource may expire at once, or
//! never, or be rejected.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=0s]
//! ```
//!
//! Advice: Leave `ttl` unset for a resource that does not expire.
//!
//! Reference: API reference, `Resource.ttl`.

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "ttl-invalid", "G-02", include_str!("ttl_invalid.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let invalid = |ttl: i64| ttl <= 0 || ttl == i64::MAX;
    let bad_entries = response.scan.ttl.iter().filter(|id| catalog.entry(**id).ttl.is_some_and(invalid));
    let names: Vec<_> = bad_entries.map(|id| crate::engine::session::key(catalog, *id)).collect();
    if !names.is_empty() {
        let text = "TTL is zero, negative or out of range".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
