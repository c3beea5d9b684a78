//! An open stream is silent, and its keepalives have stopped.
//!
//! Why: A side that sent a PING at regular intervals has sent none for three intervals. Its host
//! or the network between is gone, but the connection was not closed, so the other side does not
//! notice.
//!
//! Example:
//! ```text
//! PING every 30 s, the last at 14:00:00
//! 14:01:30, the stream is still open
//! ```
//!
//! Advice: Enable keepalives with a timeout on the other side too.
//!
//! Reference: Envoy documentation, "xDS configuration API overview".

use crate::lint::prelude::*;
use xdscope_wire::event::Dir;

rule! {
    stream-silent: Info, rows "I-12";
    checks: Passed(arm), Alarm(Alarm::Silent, check)
}

/// Keepalive intervals without a frame.
const SILENT_INTERVALS: u32 = 3;

/// Sets the timer for a silence after the newest keepalive.
fn arm(ctx: &mut RuleContext<'_>, _: Dir) {
    if let Some(keepalive) = ctx.stream.keepalive() {
        ctx.arm(Alarm::Silent, keepalive.last.after(keepalive.every * SILENT_INTERVALS));
    }
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(keepalive) = ctx.stream.keepalive() else { return };
    // PINGs are attributed to one stream of their connection.
    let newest = ctx.store.engine().last_frame(ctx.stream).unwrap_or(keepalive.last);
    if ctx.stream.losses.lost.is_some_and(|(_, lost)| lost > newest) {
        return;
    }
    let due = newest.after(keepalive.every * SILENT_INTERVALS);
    if ctx.at < due {
        return ctx.arm(Alarm::Silent, due);
    }
    let (silent, every) = (ctx.at.since(newest).as_secs(), keepalive.every.as_secs_f64());
    let sender = keepalive.by.word();
    let text = format!("no frames for {silent}s, although the {sender} sent a PING every {every:.0}s");
    ctx.report(&RULE, FindingDraft::new(Blame::of_side(Some(keepalive.by)), text, &[]).guessed());
}
