//! Streams of a client end at the same age.
//!
//! Why: A server or proxy has a maximum connection age. Clients reconnect, so this is harmless.
//! Such ends have no status, OK, INTERNAL or UNAVAILABLE without a text, or a text that announces
//! the end, such as `goaway received`. Streams that end with another reason, or before 10 s, are
//! another rule: `stream-rejected`.
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

use std::time::Duration;

use crate::lint::findings::finding::Restated;
use crate::lint::prelude::*;
use crate::session::{AGE_TOLERANCE, MIN_PLANNED_AGE, StreamKey};
use crate::store::StreamFailure;
use xdscope_wire::event::Side;
use xdscope_wire::text::{count, period};

rule! {
    regular-stream-age: Info, rows "P",
    worded(Sentence::WithCount);
    checks: Close(check)
}

/// Newest ages that are compared.
const MAX_AGES: usize = 16;

/// Streams of one age that are regular.
const MIN_STREAMS: u64 = 3;

fn check(ctx: &mut RuleContext<'_>) {
    let Some((at, end)) = &ctx.stream.closed else { return };
    let is_by_server = end.by != Some(Side::Client) && !ctx.stream.open.partial;
    if !ctx.has_timestamps() || !is_by_server || ctx.stream.open.server.is_none() {
        return;
    }
    let age = at.since(ctx.stream.opened);
    if age < MIN_PLANNED_AGE || ctx.source_state.stream_ages.len() > 4096 {
        return;
    }
    let known = ctx.source_state.stream_ages.entry(StreamKey::from_stream(ctx.stream)).or_default();
    known.ages.push_back(age);
    if known.ages.len() > MAX_AGES {
        known.ages.pop_front();
    }
    let is_close = |other: &&Duration| {
        let (a, b) = (age.as_secs_f64(), other.as_secs_f64());
        (a - b).abs() <= AGE_TOLERANCE * a.max(b)
    };
    let alike = known.ages.iter().filter(is_close).count() as u64;
    // The end may be a fault for another reason.
    let failing = ctx.store.ended().failure_at(ctx.stream);
    let is_fault = failing.is_some_and(|failing| failing.failure != StreamFailure::Lost);
    if alike < MIN_STREAMS || is_fault {
        return;
    }
    let (first_stream, first) = *known.first.get_or_insert((ctx.stream.id, *at));
    known.regular = if known.regular == 0 { alike } else { known.regular + 1 };
    let (times, every) = (count(known.regular), period(age));
    let text = format!("streams end {times} × at an age of {every}: a maximum connection age");
    let restated = Restated { text, first, count: known.regular };
    let draft = FindingDraft { blame: Blame::Server, guess: true, ..FindingDraft::default() };
    ctx.report_series(&RULE, first_stream, draft, restated);
}
