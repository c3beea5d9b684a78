//! Streams of tools, which ask once and leave.

use super::ClosedStream;
use super::end_kind::{is_bare, is_left_by_client};
use crate::session::Track;

/// Whether a client has read what it asked for and left, as tools do: it asked once for each type,
/// stated no versions, got its answers or left before any was late, and ended the stream itself.
/// Envoy and gRPC clients are no such tools.
pub(super) fn is_single_query(closed: &ClosedStream<'_>) -> bool {
    let stream = closed.stream;
    let is_query = |track: &Track| track.traffic.requests == 1;
    let is_served = stream.has_response && !stream.is_owed();
    let is_early = !stream.has_response && stream.interventions.is_empty() && !is_late(closed);
    (is_served || is_early) && is_left_by_tool(closed) && stream.tracks_shown().all(is_query)
}

/// Whether a tool has refused what it asked for, and left: it asked once for each type, and each
/// answer has its verdict. Nobody continues without what was refused.
pub(super) fn is_refusing_query(closed: &ClosedStream<'_>) -> bool {
    let is_query = |track: &Track| track.traffic.requests <= 2 && track.traffic.pushes <= 1;
    let stream = closed.stream;
    let is_settled = !stream.is_owed() && !stream.owes_verdict();
    is_settled && is_left_by_tool(closed) && stream.tracks_shown().all(is_query)
}

/// Whether a client that states no versions, and is known as neither Envoy nor gRPC, has ended a
/// stream itself.
fn is_left_by_tool(closed: &ClosedStream<'_>) -> bool {
    let &ClosedStream { stream, end, .. } = closed;
    let is_tool = stream.client_kind().is_none() && !stream.tracks_shown().any(Track::states_versions);
    let is_cut = stream.not_kept.cut_response().is_some();
    is_tool && !stream.open.partial && !is_cut && is_left_by_client(end)
}

/// Whether a verb of xdscope has ended its stream before the server was late with an answer.
pub(super) fn is_own_query(closed: &ClosedStream<'_>) -> bool {
    let &ClosedStream { stream, end, .. } = closed;
    // A client that cannot read a response says so.
    let has_reason = end.reset.is_none() && !is_bare(end);
    stream.is_of_xdscope() && is_left_by_client(end) && !has_reason && !is_late(closed)
}

/// Whether the server owed an answer for too long when a stream closed.
fn is_late(closed: &ClosedStream<'_>) -> bool {
    let &ClosedStream { stream, at, limits, .. } = closed;
    let age = at.since(stream.opened);
    stream.is_owed() && limits.resource_timeout.is_some_and(|limit| age >= limit)
}
