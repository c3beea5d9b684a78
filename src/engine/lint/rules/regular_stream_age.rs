//! Streams end at the same age.
//!
//! Why: A server or proxy has a maximum connection age. Clients reconnect, so this is harmless.
//!
//! Example:
//! ```text
//! stream 1 ads
//! +300s 1 close status=14
//! stream 2 ads
//! +600s 2 close status=14
//! stream 3 ads
//! +900s 3 close status=14
//! ```
//!
//! Advice: No action is needed.
//!
//! Reference: gRFC A9, "Server-side Connection Management".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "regular-stream-age", "P", include_str!("regular_stream_age.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Close(check)];

use std::time::Duration;

use crate::wire::event::Side;

fn check(ctx: &mut RuleContext<'_>) {
    let Some((at, end)) = ctx.stream.closed.as_ref().filter(|_| ctx.has_timestamps()) else { return };
    let by_server = end.by != Some(Side::Client) && !ctx.stream.open.partial;
    let Some(server) = ctx.stream.open.server.clone().filter(|_| by_server) else { return };
    let age = at.since(ctx.stream.opened);
    if age < Duration::from_secs(10) || ctx.source_state.stream_ages.len() > 4096 {
        return;
    }
    let ages = ctx.source_state.stream_ages.entry(server).or_default();
    ages.push_back(age);
    if ages.len() > 16 {
        ages.pop_front();
    }
    let close = |other: &&Duration| {
        let (a, b) = (age.as_secs_f64(), other.as_secs_f64());
        (a - b).abs() <= 0.05 * a.max(b)
    };
    if ages.iter().filter(close).count() >= 3 {
        let text = format!("streams end at an age of {}s: a maximum connection age", age.as_secs());
        ctx.report(
            &RULE,
            FindingDraft { blame: Blame::Server, text, guess: true, ..FindingDraft::default() },
        );
    }
}
