//! Facts that all views show: screens, tables and JSON.
//!
//! Words and fields follow the JSON contract. Facts are plain data with resolved texts, built on
//! demand for a query, never for a whole source at once.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use crate::session::{
    AbsentBy, ClaimOutcome, Divergence, Keepalive, MessageKind, NackFact, Origin, OtherReading, PlaneFact,
    PushFact, ReconnectCounts, RefusedVersion, RequestClass, ResourceState, TypeState, Wildcard,
};
use crate::session::{EndKind, NotKept, is_keepalive_timeout, is_too_many_pings};
use xdscope_wire::InterventionFacts;
use xdscope_wire::xdstp::is_malformed;

use crate::nack::RestUse;
use crate::store::rows::details::{MessageDetails, ResourceErrorFact, TtlFact};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{ApiVersion, Code, Dir, Seq, Side, StreamId, Time, TypeUrl, Variant};
use xdscope_wire::{End, NodeInfo, Open, Tls};

use crate::store::rows::row_note::RowNote;

/// The common part of all facts about a row of the timeline. `open` and `close` rows have no `n`.
#[derive(Clone, Debug)]
pub struct RowFact {
    /// Number of the message.
    pub n: Option<Seq>,
    /// When the message was sent, or the stream opened or closed.
    pub at: Time,
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The direction of a message.
    pub dir: Option<Dir>,
    /// Type URL, taken from the method if the message has none; empty for `open` and `close`.
    pub type_url: TypeUrl,
    /// The kind of row.
    pub kind: MessageKind,
    /// How a request relates to the responses of its type.
    pub class: Option<RequestClass>,
    /// A NACK by version alone (docs/protocol.md#e-22).
    pub implied: bool,
    /// The reading of a request that does not count, if there are two.
    pub other_reading: Option<OtherReading>,
    /// `version_info` of a request or SotW response, or `system_version_info`.
    pub version: Arc<str>,
    /// Nonce of a response, or the one that a request carries.
    pub nonce: Arc<str>,
    /// The response that a request answers, or the request that a response is the first answer to.
    pub answers: Option<Seq>,
    /// Time from that message to this one.
    pub latency: Option<Duration>,
    /// Response: resources sent again unchanged.
    pub same: u64,
    /// Resources in a response; names in a request.
    pub count: u64,
    /// Protobuf bytes.
    pub size: u64,
    /// `error_detail` of a request.
    pub error: Option<(Code, Arc<str>)>,
    /// The faults that `error` states, for a message of a store.
    pub faults: Option<Arc<str>>,
    /// SotW NACK: the version that the client keeps, if it is known.
    pub keeps: Option<Arc<str>>,
    /// Whether the start of the stream is missing.
    pub partial: bool,
    /// Fates of the versions that a request states in `initial_resource_versions`.
    pub stated: Option<ReconnectCounts>,
    /// Remark: the method or the end of a stream, or what is unusual about the message.
    pub note: Option<Arc<RowNote>>,
}

/// One row of the timeline (`message` of the JSON contract), with its names.
#[derive(Clone, Debug)]
pub struct MessageFact {
    /// The common part.
    pub row: RowFact,
    /// Request: its names (SotW list, delta subscribe). Response: names of its resources.
    pub names: Vec<Arc<str>>,
    /// Request: names added to the subscription. Response: resources new to the client.
    pub added: Vec<Arc<str>>,
    /// Response: resources whose content differs from the last one sent.
    pub changed: Vec<Arc<str>>,
    /// Request: names removed from the subscription. Response: removed resources.
    pub removed: Vec<Arc<str>>,
    /// Facts beyond the row.
    pub details: MessageDetails,
}

/// One row without its names: a [`MessageFact`] with counts in their place.
#[derive(Clone, Debug)]
pub struct LineFact {
    /// The common part.
    pub row: RowFact,
    /// Number of added names or resources.
    pub added: u64,
    /// Number of changed resources.
    pub changed: u64,
    /// Number of removed names or resources.
    pub removed: u64,
    /// The name, if exactly one was added or removed.
    pub one: Option<Arc<str>>,
}

impl StateFact {
    /// Whether the client still refuses what it refused in one of these NACKs, the newest of which
    /// is the last one of the type if `is_newest`.
    pub fn is_refusing(&self, nacks: &[NackFact], is_newest: bool) -> bool {
        let stands = |nack: &NackFact| self.standing_nacks.contains(&nack.n);
        !self.is_settled_later && ((is_newest && self.open_nack.is_some()) || nacks.iter().any(stands))
    }

    /// Whether a later version was accepted after the refusal.
    ///
    /// A delta stream accepts each resource by itself: its last NACK is not mended while a resource
    /// remains refused.
    pub fn is_mended(&self, nack: &NackFact) -> bool {
        let is_last = self.nacks.last().is_some_and(|last| last.n == nack.n);
        let is_refused =
            is_last && (self.open_nack.is_some() || self.variant.is_delta() && self.refused_unnamed > 0);
        !is_refused
            && !self.standing_nacks.contains(&nack.n)
            && nack.refused.is_some_and(|refused| self.newest_accepted > Some(refused))
    }
}

impl RowFact {
    /// Returns the faults that `error` states, in one line.
    pub fn stated_faults(&self) -> &str {
        let text = self.error.as_ref().map_or("", |(_, text)| text);
        self.faults.as_deref().unwrap_or(text)
    }
}

impl Deref for MessageFact {
    type Target = RowFact;

    fn deref(&self) -> &RowFact {
        &self.row
    }
}

impl Deref for LineFact {
    type Target = RowFact;

    fn deref(&self) -> &RowFact {
        &self.row
    }
}

impl MessageFact {
    /// Returns the row with counts in place of names.
    pub fn line(&self) -> LineFact {
        LineFact {
            row: self.row.clone(),
            added: self.added.len() as u64,
            changed: self.changed.len() as u64,
            removed: self.removed.len() as u64,
            one: match (&self.added[..], &self.removed[..]) {
                ([one], []) | ([], [one]) => Some(one.clone()),
                _ => None,
            },
        }
    }
}

/// One stream and type (`state` of the JSON contract). Types that were never requested have none.
#[derive(Clone, Debug)]
pub struct StateFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The variant of the protocol.
    pub variant: Variant,
    /// The type.
    pub type_url: TypeUrl,
    /// The state of the type.
    pub state: TypeState,
    /// State of a closed stream before it closed.
    pub last_state: Option<TypeState>,
    /// When the state began.
    pub since: Time,
    /// The version that the client uses: the one that it has accepted last on the stream, or that
    /// a SotW client states in its requests.
    pub in_force: Option<Arc<str>>,
    /// The request that accepted this version, and its time; `None` if the client only states it.
    pub in_force_since: Option<(Seq, Time)>,
    /// The version of the newest response.
    pub offered: Option<Arc<str>>,
    /// The `version_info` of the newest request.
    pub reported: Option<Arc<str>>,
    /// Newest nonce issued.
    pub nonce: Option<Arc<str>>,
    /// Nonces of the responses without a verdict.
    pub pending: Vec<Arc<str>>,
    /// The wildcard subscription.
    pub wildcard: Wildcard,
    /// The subscribed names.
    pub names: Vec<Arc<str>>,
    /// Number of resources that the names stand for: several aliases may stand for one.
    pub named_resources: u64,
    /// `Some` only if it differs from `names`; `*` stands for a wildcard.
    pub effective: Option<Vec<Arc<str>>>,
    /// Requested names that were never sent.
    pub missing: Vec<Arc<str>>,
    /// Number of missing names that the server has not sent in time.
    pub overdue: u64,
    /// Names of resources that the client has, and the server owes again.
    pub owed_again: Vec<Arc<str>>,
    /// Number of requested names that the server does not send, because of an error that it
    /// reports. A name that does not exist is absent.
    pub errors: u64,
    /// Requested names that no resource can have (docs/protocol.md#k-02).
    pub malformed: u64,
    /// Requested names that the server has removed or reported as missing.
    pub absent: Vec<Arc<str>>,
    /// Number of resources that the client uses, or has yet to accept or refuse.
    pub resources: u64,
    /// The newest response that the client has accepted.
    pub newest_accepted: Option<Seq>,
    /// Number of resources whose newest version is refused, by NACKs that name them or name none.
    pub refused: u64,
    /// Number of resources that refused pushes keep out of use, and whose NACKs name others only.
    pub refused_unnamed: u64,
    /// The newest NACKs.
    pub nacks: Vec<NackFact>,
    /// The NACKs whose resources the client still refuses, oldest first.
    pub standing_nacks: Vec<Seq>,
    /// Number of all NACKs.
    pub nack_count: u64,
    /// The newest NACK, unless a later response was accepted.
    pub open_nack: Option<Seq>,
    /// NACKs since the last ACK of a later response.
    pub open_nacks: u64,
    /// Whether the stream has closed, and a later stream of the client has settled the refusal.
    pub is_settled_later: bool,
    /// Median and 99th percentile of the time from response to verdict, in milliseconds.
    pub ack_ms: Option<(f64, f64)>,
    /// Number of responses.
    pub pushes: u64,
    /// Bytes of responses.
    pub bytes: u64,
    /// Bytes of resources sent again unchanged.
    pub bytes_same: u64,
    /// The newest response.
    pub last_push: Option<PushFact>,
    /// Interventions of xdscope, until both sides agree again.
    pub diverged: Option<Divergence>,
}

/// A stream (`stream` of the JSON contract), of xDS or another protocol.
#[derive(Clone, Debug)]
pub struct StreamFact {
    /// The id of the stream.
    pub stream: StreamId,
    /// The node, once known on the stream.
    pub node: Option<Arc<NodeInfo>>,
    /// Path of the gRPC method.
    pub method: String,
    /// `None` for a stream that is not xDS.
    pub variant: Option<Variant>,
    /// The version of the transport API.
    pub transport: Option<ApiVersion>,
    /// Address of the client.
    pub peer: Option<String>,
    /// Address of the server.
    pub server: Option<String>,
    /// Parameters of TLS on each leg of the connection.
    pub tls: Tls,
    /// Identifier of the control plane.
    pub control_plane: Option<Arc<str>>,
    /// The control planes that responses name, in order, up to a limit.
    pub planes: Vec<PlaneFact>,
    /// Number of changes of the control plane.
    pub plane_changes: u64,
    /// The request that stated the node.
    pub node_from: Option<Seq>,
    /// Format of the file that the responses were read from.
    pub file_format: Option<String>,
    /// When the stream opened, or when its first frame was recorded.
    pub opened: Time,
    /// When the stream closed.
    pub closed: Option<Time>,
    /// How the stream ended.
    pub end: Option<EndFact>,
    /// The intervention of xdscope that has ended it.
    pub ended_by: Option<Arc<InterventionFacts>>,
    /// The previous stream of the session.
    pub reconnect_of: Option<StreamId>,
    /// The first stream with which the stream goes on, over all reconnects, also if the memory has
    /// dropped it; else the stream itself.
    pub first: StreamId,
    /// Number of reconnects since the first stream.
    pub reconnects: usize,
    /// Fates of the client's resources after a reconnect.
    pub account: Option<ReconnectFact>,
    /// Number of messages in both directions.
    pub messages: u64,
    /// Bytes from client to server.
    pub bytes_in: u64,
    /// Bytes from server to client.
    pub bytes_out: u64,
    /// Messages lost in the copy, or too large to be kept.
    pub gaps: u64,
    /// Messages and bytes that exceed a limit and are not kept.
    pub not_kept: NotKept,
    /// Whether the start of the stream is missing.
    pub partial: bool,
    /// When the newest message was sent.
    pub last_message: Option<Time>,
    /// Keepalive of the connection (docs/protocol.md#i-12).
    pub keepalive: Option<Keepalive>,
}

/// Fates of the resources of a client after a reconnect, over all types of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconnectFact {
    /// The counts.
    pub counts: ReconnectCounts,
    /// The first resources that the client had and did not request again.
    pub left: Vec<LeftResource>,
}

/// A resource that a client had before a reconnect and did not request again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftResource {
    /// The type.
    pub type_url: TypeUrl,
    /// The name.
    pub name: Arc<str>,
}

/// One entry of `initial_resource_versions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFact {
    /// The name.
    pub name: Arc<str>,
    /// The version that the client states.
    pub version: Arc<str>,
    /// The newest version that the server was seen to send on an earlier stream.
    pub known: Option<Arc<str>>,
    /// The first action of the server on the resource.
    pub outcome: ClaimOutcome,
}

/// The end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndFact {
    /// Whether the end was clean, planned or an error.
    pub kind: EndKind,
    /// The side that ended the stream.
    pub by: Option<Side>,
    /// The gRPC status.
    pub code: Option<Code>,
    /// The message of the gRPC status.
    pub message: Option<String>,
    /// The HTTP/2 error code of a reset.
    pub reset: Option<u32>,
    /// The reason, if the connection broke.
    pub note: Option<String>,
}

impl EndFact {
    /// Whether the stream ended because a PING was not answered.
    pub fn is_keepalive_timeout(&self) -> bool {
        is_keepalive_timeout(self.note.as_deref())
    }

    /// Whether the server closed the connection because the client sent too many PINGs.
    pub fn is_too_many_pings(&self) -> bool {
        [&self.message, &self.note].into_iter().flatten().any(|text| is_too_many_pings(text))
    }
}

/// One resource on one stream.
#[derive(Clone, Debug)]
pub struct ResourceFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The type.
    pub type_url: TypeUrl,
    /// The name, or the start of the content hash if the name is unknown.
    pub name: Arc<str>,
    /// Other names of the resource.
    pub aliases: Vec<Arc<str>>,
    /// The version that was sent last.
    pub version: Option<Arc<str>>,
    /// The version that the client has accepted last.
    pub acked_version: Option<Arc<str>>,
    /// The state of the resource.
    pub state: ResourceState,
    /// Whether the client has the resource while its stream is closed and no later stream has taken
    /// over (docs/protocol.md#g-01).
    pub is_stream_down: bool,
    /// The message that the server owes, if the client has the resource and waits for it again.
    pub owed_again: Option<OwedAgainFact>,
    /// Whether the newest content was refused, by a NACK that names the resource or names none.
    pub refused: bool,
    /// The refused push with the newest content, or with the removal, of the resource.
    pub refusal: Option<RefusalFact>,
    /// The refused push before the newest content, which the client has not answered yet.
    pub earlier_refusal: Option<Box<RefusalFact>>,
    /// The content in force. `None` if the client uses nothing yet, or if that is not known.
    pub in_force: Option<InForceFact>,
    /// Whether the newest content cannot be decoded as its type.
    pub is_unreadable: bool,
    /// Whether the client has not answered the newest content, or its newest version, yet.
    pub is_unanswered: bool,
    /// Whether the server has removed the resource, and the client, which has it, has not answered.
    pub is_removal_unanswered: bool,
    /// The source of the information that the resource is absent.
    pub absent_by: Option<AbsentBy>,
    /// The request that unsubscribed the name under a wildcard, and its time: the server owes the
    /// resource or its removal (docs/protocol.md#f-26).
    pub unclassified: Option<(Seq, Time)>,
    /// Why the resource was sent.
    pub origin: Origin,
    /// Content hash in hex: equal within one source for equal content.
    pub hash: Option<String>,
    /// Bytes of the newest content.
    pub size: u64,
    /// When the resource expires.
    pub ttl_deadline: Option<Time>,
    /// Time until then, at the time of the query.
    pub ttl_left: Option<Duration>,
    /// The time to live, and how it changed.
    pub ttl: Option<Box<TtlFact>>,
    /// Why the server does not send the resource.
    pub error: Option<Box<ResourceErrorFact>>,
    /// The newest content, for [`xdscope_wire::content::Catalog::bytes`].
    pub content: Option<BlobId>,
}

/// A resource that the client has, and the server owes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwedAgainFact {
    /// The server owes a newer version or the removal (docs/protocol.md#f-17), else the resource
    /// that the client has requested again (docs/protocol.md#f-14).
    pub is_newer: bool,
    /// The server has removed the resource before the stream, and owes the removal.
    pub is_removal: bool,
    /// When the client began to wait.
    pub since: Time,
    /// Whether the time limit is over.
    pub is_late: bool,
}

/// A refused push, and what its NACK says about one of the resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalFact {
    /// The NACK.
    pub nack: Seq,
    /// The refused push.
    pub push: Seq,
    /// Whether the NACK names the resource, or names none at all.
    pub is_named: bool,
    /// Whether the push removes the resource.
    pub is_removal: bool,
    /// Whether the client uses the resources that the NACK does not name.
    pub rest: RestUse,
    /// Whether the client uses nothing if no version is in force; else it may use one from before
    /// the stream.
    pub knows_in_force: bool,
    /// Whether the nonce of the NACK fits another push too, so that the refused one is a guess.
    pub is_guess: bool,
    /// The refused version; empty for a removal.
    pub version: Arc<str>,
    /// The refused content. `None` for a removal, and if the source lacks the content.
    pub content: Option<BlobId>,
}

/// The content of a resource that the client uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForceFact {
    /// The version; empty if the version is not known.
    pub version: Arc<str>,
    /// The content, for [`xdscope_wire::content::Catalog::bytes`]. `None` if known by version only.
    pub content: Option<BlobId>,
}

impl From<&End> for EndFact {
    fn from(end: &End) -> EndFact {
        EndFact {
            kind: EndKind::of(end),
            by: end.by,
            code: end.status.as_ref().map(|(code, _)| *code),
            message: end.status.as_ref().map(|(_, message)| message.clone()),
            reset: end.reset,
            note: end.note.clone(),
        }
    }
}

impl StreamFact {
    /// Whether this is a connection without a stream: an attempt to connect.
    pub fn is_attempt(&self) -> bool {
        self.method == Open::NOTHING
    }
}

impl ResourceFact {
    /// Whether this is a glob collection, which stands for its members.
    pub fn is_glob(&self) -> bool {
        xdscope_wire::xdstp::is_glob(&self.name)
    }

    /// Whether the client ignores the resource, which it has not requested
    /// (docs/protocol.md#e-35).
    pub fn is_ignored(&self) -> bool {
        self.origin == Origin::Unrequested && self.state == ResourceState::Present
    }

    /// Whether no resource can have the name: it begins like an `xdstp:` name, and does not have
    /// its form (docs/protocol.md#k-02).
    pub fn has_malformed_name(&self) -> bool {
        matches!(self.state, ResourceState::Waiting | ResourceState::Absent) && is_malformed(&self.name)
    }

    /// Whether the server owes a newer version than the client has.
    pub fn has_older(&self) -> bool {
        self.owed_again.is_some_and(|owed| owed.is_newer)
    }

    /// Whether the resource was requested and not sent in time.
    pub fn is_missing(&self) -> bool {
        self.state == ResourceState::Absent && self.absent_by == Some(AbsentBy::Timer)
    }

    /// Returns the content that the client uses, or is about to use: the first push without a
    /// verdict counts as used, a later one and a refused one do not.
    pub fn content_in_use(&self) -> Option<BlobId> {
        let in_force = self.in_force.as_ref().and_then(|known| known.content);
        match (&self.refusal, self.state) {
            (Some(_), _) => in_force,
            (None, _) if self.is_removal_unanswered => in_force,
            (None, ResourceState::Kept) => in_force.or(self.content),
            (None, ResourceState::Present) if self.is_unanswered => in_force.or(self.content),
            (None, _) => self.content,
        }
    }

    /// Whether the client uses the newest content although the push with the resource was refused.
    pub fn is_used_from_refused_push(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| !refusal.is_named && refusal.rest == RestUse::Used)
    }

    /// Whether a refused push keeps the newest content, or the removal, out of use, although the
    /// NACK names other resources only.
    pub fn is_in_unused_push(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| !refusal.is_named && refusal.rest != RestUse::Used)
    }

    /// Returns the version of the content, if the client keeps it although the server takes the
    /// client for one that has a newer version, which the client has refused on an earlier stream.
    pub fn kept_in_place_of_refused(&self) -> Option<&Arc<str>> {
        match &self.in_force {
            Some(in_force) if self.state == ResourceState::Kept && self.refusal.is_some() => {
                Some(&in_force.version)
            }
            _ => None,
        }
    }

    /// Returns the version to show: the newest one if it was refused or is not answered, else the
    /// accepted one, else the sent one.
    ///
    /// Resources that a refused push sends again unchanged stay at their accepted version.
    pub fn standing(&self) -> Option<&Arc<str>> {
        match &self.refusal {
            Some(refusal) if !refusal.is_removal => Some(&refusal.version),
            None if !self.is_unanswered => self.acked_version.as_ref().or(self.version.as_ref()),
            _ => self.version.as_ref(),
        }
    }
}

/// A [`StateFact`] without its names: a cell of the matrix of nodes by types.
#[derive(Clone, Debug)]
pub struct SummaryFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The variant of the protocol.
    pub variant: Variant,
    /// The type.
    pub type_url: TypeUrl,
    /// The state of the type.
    pub state: TypeState,
    /// State of a closed stream before it closed.
    pub last_state: Option<TypeState>,
    /// When the state began.
    pub since: Time,
    /// NACKs since the last ACK of a later response.
    pub open_nacks: u64,
    /// The newest NACK, unless a later response was accepted, and its time.
    pub last_nack: Option<(Seq, Time)>,
    /// Requested names that were never sent, in time or overdue.
    pub missing: u64,
    /// Missing names that are overdue.
    pub overdue: u64,
    /// Resources that the client has, and the server owes again.
    pub owed_again: u64,
    /// Requested names that the server does not send, because of an error that it reports. A name
    /// that does not exist is absent.
    pub errors: u64,
    /// Requested names that no resource can have (docs/protocol.md#k-02).
    pub malformed: u64,
    /// Number of subscribed names.
    pub names: u64,
    /// Number of resources that the client uses, or has yet to accept or refuse.
    pub resources: u64,
    /// Resources whose newest content was refused, by NACKs that name them or name none.
    pub refused: u64,
    /// Resources that refused pushes keep out of use, and whose NACKs name others only.
    pub refused_unnamed: u64,
}
