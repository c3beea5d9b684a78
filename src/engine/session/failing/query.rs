//! Streams of tools, which ask once and leave.

use std::time::Duration;

use super::ClosedStream;
use super::end_kind::{is_bare, is_left_by_client};
use crate::session::Track;

/// Time after its last message within which a tool leaves: a client that stays waits for updates.
const MAX_STAY: Duration = Duration::from_secs(5);

/// Whether a client has read what it asked for and left, as tools do: it asked once for each type,
/// stated no versions, and ended the stream itself. Envoy and gRPC clients are no such tools.
pub(super) fn is_single_query(closed: &ClosedStream<'_>) -> bool {
    let stream = closed.stream;
    let is_query = |track: &Track| track.traffic.requests == 1;
    // An intervention of xdscope may have kept the response from the client.
    let is_untouched = stream.traffic.has_response || stream.interventions.is_empty();
    is_untouched && is_left_by_tool(closed) && stream.tracks_shown().all(is_query)
}

/// Whether a tool has refused what it asked for, and left: it asked once for each type, each answer
/// has its verdict, and the tool did not stay. Nobody continues without what was refused.
pub(super) fn is_refusing_query(closed: &ClosedStream<'_>) -> bool {
    let is_query = |track: &Track| track.traffic.requests <= 2 && track.traffic.pushes <= 1;
    let &ClosedStream { stream, at, limits, .. } = closed;
    let is_settled = !stream.is_owed() && !stream.owes_verdict();
    let last_message = stream.traffic.last_message.unwrap_or(stream.opened);
    let has_stayed = limits.timed && at.since(last_message) >= MAX_STAY;
    !has_stayed && is_settled && is_left_by_tool(closed) && stream.tracks_shown().all(is_query)
}

/// Whether a client that states no versions, and is known as neither Envoy nor gRPC, has ended a
/// stream itself.
fn is_left_by_tool(closed: &ClosedStream<'_>) -> bool {
    let &ClosedStream { stream, end, .. } = closed;
    let is_tool = stream.client_kind().is_none() && !stream.tracks_shown().any(Track::states_versions);
    let is_cut = stream.losses.not_kept.cut_response().is_some();
    is_tool && !stream.open.partial && !is_cut && is_left_by_client(end)
}

/// Whether a verb of xdscope has ended its stream before the server was late with an answer.
pub(super) fn is_own_query(closed: &ClosedStream<'_>) -> bool {
    let ClosedStream { stream, end, at, limits, .. } = closed;
    // A client that cannot read a response says so.
    let has_reason = end.reset.is_none() && !is_bare(end);
    stream.is_of_xdscope() && is_left_by_client(end) && !has_reason && !stream.is_overdue(*at, *limits)
}
