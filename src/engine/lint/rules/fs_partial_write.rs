//! A file could not be read, and less than a second later it could.
//!
//! Why: The file was read during a write, so the file is not replaced atomically. A client that
//! reads at that moment rejects the update or misses it.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < raw=/w==
//! < v=1 [c]
//! ```
//!
//! Advice: Write a new file and rename it over the old one.
//!
//! Reference: xDS protocol, "Filesystem subscriptions".

use crate::lint::prelude::*;

rule! {
    fs-partial-write: Info, rows "C-02";
    checks: Message(check)
}

use std::time::Duration;

use xdscope_wire::event::Variant;

fn check(ctx: &mut RuleContext<'_>, message: &xdscope_wire::Message) {
    if ctx.stream.variant() != Some(Variant::File) {
        return;
    }
    let failed = super::super::exchange::undecodable(message).is_some();
    let (at, seq, before) = (ctx.at, ctx.seq, ctx.stream_state.unreadable_at.take());
    if failed {
        ctx.stream_state.unreadable_at = seq.map(|seq| (at, seq));
    } else if let Some((since, first)) = before.filter(|_| ctx.has_timestamps())
        && at.since(since) <= Duration::from_secs(1)
    {
        let text = "unreadable less than a second before: the file is not replaced atomically".to_owned();
        ctx.report(
            &RULE,
            FindingDraft { blame: Blame::Server, text, evidence: &[first], ..FindingDraft::default() },
        );
    }
}
