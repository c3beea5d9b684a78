//! A second poll of a type while the first one has no answer.
//!
//! Why: REST polls go one at a time, so a nonce is not needed; with two at once an answer can't be told from the other. A
//! client that gave up waiting and asked again looks the same.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! >
//! >
//! ```
//!
//! Instead: wait for the answer, or close the connection, before the next poll.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-overlap",
    severity: Severity::Warn,
    rows: "D-03",
    source: include_str!("rest_overlap.rs"),
    on: &[On::Request(asked), On::Message(answered), On::Passed(passed)],
};

use crate::wire::event::{Dir, Variant};

/// Polls that are remembered.
const OPEN: usize = 64;

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if !asking.track.polled {
        return;
    }
    let Some(seq) = case.seq else { return };
    let open = &case.stream_memo.open_polls;
    let before = open.iter().rev().find(|(track, _)| *track == case.track).map(|(_, seq)| *seq);
    if let Some(before) = before.filter(|_| case.whole()) {
        let text = "asks again before the poll before it was answered".to_owned();
        case.raise(&RULE, Found { text, evidence: &[before], ..Found::default() });
    }
    if case.stream_memo.open_polls.len() < OPEN {
        case.stream_memo.open_polls.push_back((case.track, seq));
    }
}

fn answered(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    if message.dir() == Dir::Resp {
        passed(case, Dir::Resp);
    }
}

/// An answer ends a poll, also one without a message, whose type is not known.
fn passed(case: &mut RuleContext<'_>, dir: Dir) {
    if dir == Dir::Resp && case.stream.variant() == Some(Variant::Rest) {
        let open = &mut case.stream_memo.open_polls;
        let own = open.iter().position(|(track, _)| case.track.is_some() && *track == case.track);
        open.remove(own.unwrap_or(0));
    }
}
