//! Messages of a track, counted.

use std::time::Duration;

use crate::session::content::resource_set::Change;
use crate::session::subscription::{NameRequest, RequestSpan};
use crate::session::{Context, PushFact};
use xdscope_wire::ResponseView;
use xdscope_wire::event::{Seq, Time, VersionInfo};

/// Messages of a track, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// When the first message came.
    pub(crate) began: Time,
    pub(crate) requests: u32,
    pub(crate) first_request: Option<Seq>,
    pub(crate) last_request: Option<Seq>,
    /// Requests that are not a mere ACK or NACK: a verdict restates names without asking for them.
    pub(crate) askings: u32,
    pub(crate) last_asking: Option<Seq>,
    /// SotW: whether the first request states a version.
    pub(crate) begins_with_version: bool,
    /// The `version_info` of the last request.
    pub(crate) reported_version: Option<VersionInfo>,
    /// REST: the longest time from a response to the poll that answered it.
    pub(crate) longest_poll_wait: Option<Duration>,
    /// The last request that asked for something new, until a response answers it, and its time.
    pub(crate) unanswered: Option<Seq>,
    pub(crate) unanswered_at: Time,
    /// Whether the client waited for names that this request asks for.
    pub(crate) awaits_names: bool,
    pub(crate) pushes: u64,
    pub(crate) last_push: Option<PushFact>,
    /// Bytes of responses.
    pub(crate) bytes: u64,
    /// Bytes of the resources among them that were sent again unchanged.
    pub(crate) bytes_resent: u64,
    /// Messages that may have changed which names were sent, are wanted or are waited for.
    pub(crate) name_changes: u64,
}

impl Traffic {
    /// Returns the number of messages: a count that visits each resource is valid for that number.
    pub(super) fn messages(&self) -> u64 {
        u64::from(self.requests) + self.pushes
    }

    /// Returns the current message as a first request for a name.
    pub(crate) fn name_request(&self, ctx: &Context<'_>) -> NameRequest {
        NameRequest {
            since: ctx.at,
            first: ctx.seq,
            earlier: None,
            last: ctx.seq,
            askings_before: self.askings,
            count: 1,
            has_resource: false,
            is_resend: false,
            is_served: false,
            is_malformed: false,
            is_member: false,
        }
    }

    /// Returns when a waiting name was first requested on the stream. The client may have begun to
    /// wait for the name on an earlier stream.
    pub(crate) fn requested(&self, request: &NameRequest) -> Time {
        request.since.max(self.began)
    }

    /// Returns the requests for a waiting name.
    ///
    /// Each SotW request restates all names; ACKs and NACKs are not counted.
    pub(crate) fn request_span(&self, request: &NameRequest, is_delta: bool) -> RequestSpan {
        if is_delta {
            return RequestSpan { count: u64::from(request.count), first: request.first, last: request.last };
        }
        let count = self.askings.saturating_sub(request.askings_before).max(1);
        let last = self.last_asking.map_or(request.last, |last| last.max(request.last));
        RequestSpan { count: u64::from(count), first: request.first, last }
    }

    /// Counts the bytes and the resources of a response.
    pub(super) fn count_response(&mut self, ctx: &Context<'_>, push: &ResponseView<'_>, change: &Change) {
        self.pushes += 1;
        self.bytes += push.size;
        let bytes_same = if change.same == 0 { 0 } else { push.size.saturating_sub(change.bytes_new) };
        self.bytes_resent += bytes_same;
        self.last_push = Some(PushFact {
            n: ctx.seq.0,
            at: ctx.at,
            added: change.added.len() as u64,
            changed: change.changed.len() as u64,
            removed: change.removed.len() as u64,
            same: change.same,
            bytes: push.size,
            bytes_same,
        });
    }
}
