//! A file could not be read, and less than a second later it could.
//!
//! Why: It was read while it was being written: it is not replaced as a whole. A client that reads in between refuses the
//! update, or stays without one.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < raw=/w==
//! < v=1 [c]
//! ```
//!
//! Instead: write a new file and rename it over the old one.
//!
//! Protocol: "Filesystem subscriptions"; row C-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "fs-partial-write",
    severity: Severity::Info,
    rows: "C-02",
    source: include_str!("fs_partial_write.rs"),
    on: &[On::Message(check)],
};

use std::time::Duration;

use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    if case.stream.variant() != Some(Variant::File) {
        return;
    }
    let failed = super::super::undecodable(message).is_some();
    let (at, seq, before) = (case.at, case.seq, case.stream_memo.unreadable.take());
    if failed {
        case.stream_memo.unreadable = seq.map(|seq| (at, seq));
    } else if let Some((since, first)) = before.filter(|_| case.timed())
        && at.since(since) <= Duration::from_secs(1)
    {
        let text = "could not be read a moment before: it is not replaced as a whole".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, evidence: &[first], ..Found::default() });
    }
}
