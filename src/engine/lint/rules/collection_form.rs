//! A large list collection is sent again and again.
//!
//! Why: Lists suit small collections that rarely change; globs send the members of large or busy
//! collections one by one. The list has more than 1,000 entries and was sent more than ten times
//! in a minute.
//!
//! Example:
//! ```text
//! < n=1 [list of 1,200 entries] … eleven times in a minute
//! ```
//!
//! Advice: Use a glob collection.
//!
//! Reference: xRFC TP1, "Use cases".

use std::time::Duration;

use crate::lint::prelude::*;
use xdscope_wire::text::count;

rule! {
    collection-form: Info, rows "K-22";
    checks: Response(check)
}

/// A list with more entries is large.
const MAX_ENTRIES: usize = 1000;
/// Responses with a large list that are acceptable in a minute.
const MAX_RESPONSES_PER_MINUTE: usize = 10;
/// Responses that are counted.
const MAX_COUNTED: usize = 1000;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let sizes = response.scan.collections.iter().map(|(name, entries)| (*name, entries.len()));
    let (names, sizes): (Vec<_>, Vec<_>) = sizes.filter(|(_, size)| *size > MAX_ENTRIES).unzip();
    let Some(largest) = sizes.into_iter().max() else { return };
    if !ctx.has_timestamps() {
        return;
    }
    let at = ctx.at;
    ctx.state.responses.recent_large_lists.retain(|then| at.since(*then) <= Duration::from_secs(60));
    ctx.state.responses.recent_large_lists.push_back(at);
    let times = ctx.state.responses.recent_large_lists.len();
    if times > MAX_RESPONSES_PER_MINUTE {
        if times > MAX_COUNTED {
            ctx.state.responses.recent_large_lists.pop_front();
        }
        let text = format!("list of {} entries, sent {times} times in a minute", count(largest as u64));
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
