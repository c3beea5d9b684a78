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

use super::support::and_more;
use crate::lint::prelude::*;

rule! {
    ttl-invalid: Warn, rows "G-02",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let invalid = |ttl: i64| ttl <= 0 || ttl == i64::MAX;
    let bad_entries = response.scan.ttl.iter().filter(|id| catalog.entry(**id).ttl.is_some_and(invalid));
    let bad_entries: Vec<_> = bad_entries.collect();
    let names: Vec<_> = bad_entries.iter().map(|id| crate::session::key(catalog, **id)).collect();
    let Some(ttl) = bad_entries.first().and_then(|id| catalog.entry(**id).ttl) else { return };
    let more = and_more(bad_entries.len() - 1);
    let text = format!("TTL is zero, negative or out of range: {}{more}", length(ttl));
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}

/// Returns a TTL in words: `-2s`, `0s`.
fn length(nanos: i64) -> String {
    if nanos == i64::MAX {
        return "more than 292 years".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}s", std::time::Duration::from_nanos(nanos.unsigned_abs()).as_secs_f64())
}
