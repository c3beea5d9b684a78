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

use std::time::Duration;

use super::support::and_more;
use crate::lint::prelude::*;
use crate::session::key;

rule! {
    ttl-invalid: Warn, rows "G-02",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let is_invalid = |ttl: &i64| *ttl <= 0 || *ttl == i64::MAX;
    let ttls = response.scan.ttl.iter().filter_map(|id| Some((key(catalog, *id), catalog.entry(*id).ttl?)));
    let (names, ttls): (Vec<_>, Vec<_>) = ttls.filter(|(_, ttl)| is_invalid(ttl)).unzip();
    let Some(first) = ttls.first() else { return };
    let more = and_more(ttls.len() - 1);
    let text = format!("TTL is zero, negative or out of range: {}{more}", length(*first));
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}

/// Returns a TTL in words: `-2s`, `0s`.
fn length(nanos: i64) -> String {
    if nanos == i64::MAX {
        return "more than 292 years".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}s", Duration::from_nanos(nanos.unsigned_abs()).as_secs_f64())
}
