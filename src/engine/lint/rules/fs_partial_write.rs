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

use std::time::Duration;

use crate::lint::exchange::undecodable;
use crate::lint::prelude::*;
use xdscope_wire::Message;

rule! {
    fs-partial-write: Info, rows "C-02";
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    if !ctx.is_file() {
        return;
    }
    let unreadable = ctx.stream_state.unreadable_at.take();
    if undecodable(message).is_some() {
        ctx.stream_state.unreadable_at = ctx.seq.map(|seq| (ctx.at, seq));
    } else if let Some((since, first)) = unreadable
        && ctx.has_timestamps()
        && ctx.at.since(since) <= Duration::from_secs(1)
    {
        let text = "unreadable less than a second before: the file is not replaced atomically";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).evidence(&[first]));
    }
}
