//! Facts about streams: how they began and ended, and what a reconnect restored.

use std::sync::Arc;

use crate::session::{
    ClaimOutcome, EndKind, Keepalive, NotKept, PlaneFact, ReconnectCounts, is_keepalive_timeout,
    is_too_many_pings,
};
use xdscope_wire::event::{ApiVersion, Code, Seq, Side, StreamId, Time, TypeUrl, Variant};
use xdscope_wire::{End, InterventionFacts, NodeInfo, Open, Tls};

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
    /// The first stream with which the stream continues, over all reconnects, also if the memory
    /// has dropped it; else the stream itself.
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

impl StreamFact {
    /// Whether this is a connection without a stream: an attempt to connect.
    pub fn is_attempt(&self) -> bool {
        self.method == Open::NOTHING
    }
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

impl From<&End> for EndFact {
    fn from(end: &End) -> EndFact {
        EndFact {
            kind: EndKind::from_end(end),
            by: end.by,
            code: end.status.as_ref().map(|(code, _)| *code),
            message: end.status.as_ref().map(|(_, message)| message.clone()),
            reset: end.reset,
            note: end.note.clone(),
        }
    }
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
