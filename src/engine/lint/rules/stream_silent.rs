//! An open stream on which nothing passes any more, not even the keepalive.
//!
//! Why: A side that sends a PING every so often, and then none for three times as long, is gone: its host, or
//! what is between, went away without closing the connection. The other side goes on as if it were there.
//!
//! Example:
//! ```text
//! PING every 30 s, the last at 14:00:00
//! 14:01:30, the stream is still open
//! ```
//!
//! Instead: let the other side ping too, with a timeout, so that it notices.
//!
//! Protocol: "Stream life: keepalives"; row I-12.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "stream-silent",
    severity: Severity::Info,
    rows: "I-12",
    source: include_str!("stream_silent.rs"),
    on: &[On::Passed(passed), On::Alarm(Alarm::Silent, check)],
};

use crate::engine::session::Stream;
use crate::wire::event::{Dir, Side, Time};

/// Intervals without a frame.
const INTERVALS: u32 = 3;

fn passed(case: &mut RuleContext<'_>, _: Dir) {
    if let Some(keepalive) = case.stream.keepalive() {
        case.arm(Alarm::Silent, keepalive.last.after(keepalive.every * INTERVALS));
    }
}

fn check(case: &mut RuleContext<'_>) {
    let Some(keepalive) = case.stream.keepalive().filter(|_| case.whole()) else { return };
    // PINGs are told on one stream of their connection.
    let place = |stream: &Stream| (stream.open.peer.clone(), stream.open.server.clone());
    let (own, streams) = (place(case.stream), case.store.engine().streams());
    let same = |stream: &&Stream| stream.id == case.stream.id || (own.0.is_some() && place(stream) == own);
    let newest = streams.iter().filter(same).map(newest).max().unwrap_or(keepalive.last);
    let due = newest.after(keepalive.every * INTERVALS);
    if case.at < due {
        return case.arm(Alarm::Silent, due);
    }
    let blame = match keepalive.by {
        Side::Client => Blame::Client,
        Side::Server => Blame::Server,
    };
    let (by, silent, every) =
        (keepalive.by.word(), case.at.since(newest).as_secs(), keepalive.every.as_secs_f64());
    let text = format!("nothing has passed for {silent}s, though the {by} sent a PING every {every:.0}s");
    case.raise(&RULE, Found { blame, text, guess: true, ..Found::default() });
}

/// When something passed last.
fn newest(stream: &Stream) -> Time {
    let closed = stream.closed.as_ref().map(|(at, _)| *at);
    let pinged = stream.keepalive().map(|keepalive| keepalive.last);
    stream.last_message.into_iter().chain(closed).chain(pinged).fold(stream.opened, Time::max)
}
