//! A client polls a type again before the first poll has a response.
//!
//! Why: A client polls one request at a time, so that a nonce is not needed; with two polls the
//! responses cannot be told apart. A client that timed out and polled again looks alike.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! >
//! >
//! ```
//!
//! Advice: Wait for the response, or close the connection, before the next poll.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "rest-overlap", "D-03", include_str!("rest_overlap.rs"));

pub(super) static CHECKS: &[Check] =
    &[Check::Request(check_request), Check::Message(check_response), Check::Passed(passed)];

use crate::wire::event::{Dir, Variant};

/// Pending polls to remember.
const MAX_PENDING_POLLS: usize = 64;

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.track.polled {
        return;
    }
    let Some(seq) = ctx.seq else { return };
    let open = &ctx.stream_state.open_polls;
    let before = open.iter().rev().find(|(track, _)| *track == ctx.track_index).map(|(_, seq)| *seq);
    if let Some(before) = before.filter(|before| ctx.has_all_since(*before)) {
        let text = "poll sent before the previous poll was answered".to_owned();
        ctx.report(&RULE, FindingDraft { text, evidence: &[before], ..FindingDraft::default() });
    }
    if ctx.stream_state.open_polls.len() < MAX_PENDING_POLLS {
        ctx.stream_state.open_polls.push_back((ctx.track_index, seq));
    }
}

fn check_response(ctx: &mut RuleContext<'_>, message: &crate::wire::Message) {
    if message.dir() == Dir::Resp {
        end_poll(ctx);
    }
}

fn passed(ctx: &mut RuleContext<'_>, _: Dir) {
    end_poll(ctx);
}

/// Ends a poll. A response without a message, such as 304, has no type.
fn end_poll(ctx: &mut RuleContext<'_>) {
    if ctx.stream.variant() == Some(Variant::Rest) {
        let open = &mut ctx.stream_state.open_polls;
        let own = open.iter().position(|(track, _)| ctx.track_index.is_some() && *track == ctx.track_index);
        open.remove(own.unwrap_or(0));
    }
}
