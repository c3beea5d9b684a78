//! A client polls a type again before the first poll has a response.
//!
//! Why: A client polls one request at a time, so that a nonce is not needed; with two polls the
//! responses cannot be told apart. A poll without a version may come from another process with
//! the same node, and a poll after 1 s may be a retry: neither is reported. A poll within 1 s, or
//! with a version that another process may have, is a note; only a version that was sent once, in
//! two polls within 100 ms, is certain.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! >
//! < v=1 [A]
//! > v=1
//! < v=2 [A~2]
//! > v=2
//! > v=2
//! ```
//!
//! Advice: Wait for the response, or close the connection, before the next poll.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use std::time::Duration;

use crate::lint::memory::state::OpenPoll;
use crate::lint::prelude::*;
use xdscope_wire::Message;
use xdscope_wire::event::{Dir, Variant};

rule! {
    rest-overlap: Warn, rows "D-03";
    checks: Request(check_request), Message(check_response), Passed(check_passed)
}

/// Wait after which a client may have given up on a poll: the default `request_timeout` of Envoy.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Wait after which a client with a short timeout may have given up on a poll.
const SHORT_RETRY_AFTER: Duration = Duration::from_millis(100);

/// Pending polls to remember.
const MAX_PENDING_POLLS: usize = 64;

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.track.polled {
        return;
    }
    let Some(seq) = ctx.seq else { return };
    let has_version = request.sotw().is_some_and(|sotw| !sotw.version_info.is_empty());
    if !has_version {
        ctx.stream_state.first_polls = ctx.stream_state.first_polls.saturating_add(1);
    }
    let at = ctx.at;
    let open = &mut ctx.stream_state.open_polls;
    let before = open.iter().rev().find(|poll| poll.track == ctx.track_index).copied();
    if before.is_some_and(|before| at.since(before.at) >= RETRY_AFTER) {
        // A client that gave up on a poll does not read its response.
        open.retain(|poll| poll.track != ctx.track_index);
    } else if let Some(before) = before
        && has_version
        && is_single_process(ctx, request)
        && ctx.has_all_since(before.seq)
    {
        let text = "poll sent before the previous poll was answered";
        // A process that began before the recording has the first version too.
        let version = request.sotw().map_or("", |sotw| sotw.version_info.as_str());
        let is_certain =
            at.since(before.at) < SHORT_RETRY_AFTER && request.track.responses.is_sent_once(version);
        let severity = (!is_certain).then_some(Severity::Info);
        let evidence = [before.seq];
        let draft = FindingDraft::new(Blame::Client, text, &[]).evidence(&evidence);
        ctx.report(&RULE, FindingDraft { severity, guess: !is_certain, ..draft });
    }
    if ctx.stream_state.open_polls.len() < MAX_PENDING_POLLS {
        ctx.stream_state.open_polls.push_back(OpenPoll { track: ctx.track_index, seq, at });
    }
}

/// Returns whether all polls of the track come from one process: each process begins without a
/// version, and one poll had none.
fn is_single_process(ctx: &RuleContext<'_>, request: &RequestContext<'_>) -> bool {
    ctx.has_timestamps()
        && ctx.stream_state.first_polls == 1
        && ctx.previous_track(&request.track.type_url).is_none()
}

fn check_response(ctx: &mut RuleContext<'_>, message: &Message) {
    if message.dir() == Dir::Resp {
        end_poll(ctx);
    }
}

fn check_passed(ctx: &mut RuleContext<'_>, _: Dir) {
    end_poll(ctx);
}

/// Ends a poll. A response without a message, such as 304, has no type.
fn end_poll(ctx: &mut RuleContext<'_>) {
    if ctx.stream.variant() == Some(Variant::Rest) {
        let open = &mut ctx.stream_state.open_polls;
        let own = open.iter().position(|poll| ctx.track_index.is_some() && poll.track == ctx.track_index);
        open.remove(own.unwrap_or(0));
    }
}
