//! Facts that all views show: screens, tables and JSON.
//!
//! Words and fields follow the JSON contract. Facts are plain data with resolved texts, built on
//! demand for a query, never for a whole source at once.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use crate::engine::session::{
    AbsentBy, Keepalive, MessageKind, NackFact, Origin, PushFact, ReconnectFact, RequestClass, ResourceState,
    TypeState, Wildcard,
};

use crate::wire::event::{ApiVersion, Code, Dir, Seq, Side, StreamId, Time, TypeUrl, Variant};
use crate::wire::{NodeInfo, Open, Tls};

/// The common part of all facts about a row of the timeline. `open` and `close` rows have no `n`.
#[derive(Clone, Debug)]
pub struct RowFact {
    pub n: Option<Seq>,
    pub at: Time,
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    pub dir: Option<Dir>,
    /// Type URL, taken from the method if the message has none; empty for `open` and `close`.
    pub type_url: TypeUrl,
    pub kind: MessageKind,
    pub class: Option<RequestClass>,
    /// A NACK by version alone (docs/protocol.md#e-22).
    pub implied: bool,
    pub version: Arc<str>,
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
    pub error: Option<(Code, Arc<str>)>,
    /// Whether the start of the stream is missing.
    pub partial: bool,
    /// Remark: the method or the end of a stream, or what is unusual about the message.
    pub note: Option<String>,
}

/// One row of the timeline (`message` of the JSON contract), with its names.
#[derive(Clone, Debug)]
pub struct MessageFact {
    pub row: RowFact,
    /// Request: its names (SotW list, delta subscribe). Response: names of its resources.
    pub names: Vec<Arc<str>>,
    /// Request: names added to the subscription. Response: resources new to the client.
    pub added: Vec<Arc<str>>,
    /// Response: resources whose content differs from the last one sent.
    pub changed: Vec<Arc<str>>,
    /// Request: names removed from the subscription. Response: removed resources.
    pub removed: Vec<Arc<str>>,
}

/// One row without its names: a [`MessageFact`] with counts in their place.
#[derive(Clone, Debug)]
pub struct LineFact {
    pub row: RowFact,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    /// The name, if exactly one was added or removed.
    pub one: Option<Arc<str>>,
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
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub variant: Variant,
    pub type_url: TypeUrl,
    pub state: TypeState,
    /// State of a closed stream before it closed.
    pub last_state: Option<TypeState>,
    /// When the state began.
    pub since: Time,
    pub in_force: Option<Arc<str>>,
    pub in_force_since: Option<(Seq, Time)>,
    pub offered: Option<Arc<str>>,
    pub reported: Option<Arc<str>>,
    /// Newest nonce issued.
    pub nonce: Option<Arc<str>>,
    pub pending: Vec<Arc<str>>,
    pub wildcard: Wildcard,
    pub names: Vec<Arc<str>>,
    /// `Some` only if it differs from `names`; `*` stands for a wildcard.
    pub effective: Option<Vec<Arc<str>>>,
    pub missing: Vec<Arc<str>>,
    pub absent: Vec<Arc<str>>,
    /// Present resources: sent and not removed.
    pub resources: u64,
    pub nacks: Vec<NackFact>,
    pub nack_count: u64,
    pub open_nack: Option<Seq>,
    /// NACKs since the last ACK of a later response.
    pub open_nacks: u64,
    /// Median and 99th percentile of the time from response to verdict, in milliseconds.
    pub ack_ms: Option<(f64, f64)>,
    pub pushes: u64,
    /// Bytes of responses.
    pub bytes: u64,
    /// Bytes of resources sent again unchanged.
    pub bytes_same: u64,
    pub last_push: Option<PushFact>,
}

/// A stream (`stream` of the JSON contract), of xDS or another protocol.
#[derive(Clone, Debug)]
pub struct StreamFact {
    pub stream: StreamId,
    pub node: Option<Arc<NodeInfo>>,
    pub method: String,
    /// `None` for a stream that is not xDS.
    pub variant: Option<Variant>,
    pub transport: Option<ApiVersion>,
    pub peer: Option<String>,
    pub server: Option<String>,
    /// Parameters of TLS on each leg of the connection.
    pub tls: Tls,
    pub control_plane: Option<Arc<str>>,
    pub opened: Time,
    pub closed: Option<Time>,
    pub end: Option<EndFact>,
    /// The previous stream of the session.
    pub reconnect_of: Option<StreamId>,
    /// Fates of the client's resources after a reconnect.
    pub account: Option<ReconnectFact>,
    pub messages: u64,
    /// Bytes from client to server.
    pub bytes_in: u64,
    /// Bytes from server to client.
    pub bytes_out: u64,
    /// Messages lost in the copy.
    pub gaps: u64,
    pub partial: bool,
    pub last_message: Option<Time>,
    /// Keepalive of the connection (docs/protocol.md#i-12).
    pub keepalive: Option<Keepalive>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndFact {
    pub by: Option<Side>,
    pub code: Option<Code>,
    pub message: Option<String>,
    pub reset: Option<u32>,
    pub note: Option<String>,
}

/// One resource on one stream.
#[derive(Clone, Debug)]
pub struct ResourceFact {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub type_url: TypeUrl,
    pub name: Arc<str>,
    pub aliases: Vec<Arc<str>>,
    pub version: Option<Arc<str>>,
    pub acked_version: Option<Arc<str>>,
    pub state: ResourceState,
    /// Whether the newest content was refused.
    pub refused: bool,
    pub absent_by: Option<AbsentBy>,
    pub origin: Origin,
    /// Content hash in hex: equal within one source for equal content.
    pub hash: Option<String>,
    pub size: u64,
    pub ttl_deadline: Option<Time>,
    /// The newest content, for [`crate::wire::content::Catalog::bytes`].
    pub content: Option<crate::wire::content::BlobId>,
}

impl StreamFact {
    /// Whether this is a connection without a stream: an attempt to connect.
    pub fn is_attempt(&self) -> bool {
        self.method == Open::NOTHING
    }
}

impl ResourceFact {
    /// Whether the resource was requested and not sent in time.
    pub fn is_missing(&self) -> bool {
        self.state == ResourceState::Absent && self.absent_by == Some(AbsentBy::Timer)
    }

    /// Returns the version to show: the refused one, else the accepted one, else the sent one.
    ///
    /// Resources that a refused push sends again unchanged stay at their accepted version.
    pub fn standing(&self) -> Option<&Arc<str>> {
        let accepted = self.acked_version.as_ref().filter(|_| !self.refused);
        accepted.or(self.version.as_ref())
    }
}

/// A [`StateFact`] without its names: a cell of the matrix of nodes by types.
#[derive(Clone, Debug)]
pub struct SummaryFact {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub variant: Variant,
    pub type_url: TypeUrl,
    pub state: TypeState,
    pub last_state: Option<TypeState>,
    pub since: Time,
    /// NACKs since the last ACK of a later response.
    pub open_nacks: u64,
    pub last_nack: Option<(Seq, Time)>,
    /// Requested names that were never sent, in time or overdue.
    pub missing: u64,
    /// Missing names that are overdue.
    pub overdue: u64,
    pub names: u64,
    pub resources: u64,
    /// Resources whose newest content was refused.
    pub refused: u64,
}
