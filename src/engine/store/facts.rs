//! The facts that every view shows, screen and text alike: one structure, many faces.
//!
//! Words and fields are those of the JSON contract. Plain data with texts resolved; built on demand for what
//! is asked, never for a whole source at once.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use crate::engine::session::{
    AbsentBy, Keepalive, MessageKind, NackFact, Origin, PushFact, ReconnectFact, RequestClass, ResourceState,
    TypeState, Wildcard,
};

use crate::wire::event::{ApiVersion, Code, Dir, Seq, Side, StreamId, Time, TypeUrl, Variant};
use crate::wire::{NodeInfo, Open, Tls};

/// What every fact of a row of the timeline has. `open` and `close` rows have no `n`.
#[derive(Clone, Debug)]
pub struct RowFact {
    pub n: Option<Seq>,
    pub at: Time,
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    pub dir: Option<Dir>,
    /// Effective type URL (the method's where the message leaves it out); empty for open and close.
    pub type_url: TypeUrl,
    pub kind: MessageKind,
    pub class: Option<RequestClass>,
    /// A NACK by version alone (row E-22).
    pub implied: bool,
    pub version: Arc<str>,
    pub nonce: Arc<str>,
    /// The response that a request answers, or the request that a response is the first answer to.
    pub answers: Option<Seq>,
    /// From that message to this one.
    pub latency: Option<Duration>,
    /// Response: resources re-sent unchanged.
    pub same: u64,
    /// Resources in a response; names in a request.
    pub count: u64,
    /// Protobuf bytes.
    pub size: u64,
    pub error: Option<(Code, Arc<str>)>,
    /// The stream's start was not seen (◐).
    pub partial: bool,
    /// For `open` and `close` rows, and undecodable messages: what happened, in words.
    pub note: Option<String>,
}

/// One row of the timeline (`message` of the JSON contract), with its names.
#[derive(Clone, Debug)]
pub struct MessageFact {
    pub row: RowFact,
    /// Request: names carried (SotW list, delta subscribe). Response: names of its resources.
    pub names: Vec<Arc<str>>,
    /// Request: names that came into the subscription. Response: resources new to the client.
    pub added: Vec<Arc<str>>,
    /// Response: resources whose content differs from the last one sent.
    pub changed: Vec<Arc<str>>,
    /// Request: names that left the subscription. Response: resources deleted by it.
    pub removed: Vec<Arc<str>>,
}

/// One row without its names: a [`MessageFact`] with counts in their place.
#[derive(Clone, Debug)]
pub struct LineFact {
    pub row: RowFact,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    /// The name, where just one was added or removed.
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
    /// The same without its names.
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

/// One stream and type (`state` of the JSON contract). A type of an open stream that was never asked for has none.
#[derive(Clone, Debug)]
pub struct StateFact {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub variant: Variant,
    pub type_url: TypeUrl,
    pub state: TypeState,
    /// On a closed stream the word it had when it closed.
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
    /// `Some` only where it differs from `names`; `*` stands for a wildcard.
    pub effective: Option<Vec<Arc<str>>>,
    pub missing: Vec<Arc<str>>,
    pub absent: Vec<Arc<str>>,
    /// Resources present (sent and not removed).
    pub resources: u64,
    pub nacks: Vec<NackFact>,
    pub nack_count: u64,
    pub open_nack: Option<Seq>,
    /// Refusals since the last ACK of a later response.
    pub open_nacks: u64,
    /// p50 and p99 of the time from response to verdict.
    pub ack_ms: Option<(f64, f64)>,
    pub pushes: u64,
    /// Bytes of responses.
    pub bytes: u64,
    /// Those of them that were of resources re-sent unchanged.
    pub bytes_same: u64,
    pub last_push: Option<PushFact>,
}

/// A stream (`stream` of the JSON contract); opaque ones too.
#[derive(Clone, Debug)]
pub struct StreamFact {
    pub stream: StreamId,
    pub node: Option<Arc<NodeInfo>>,
    pub method: String,
    /// `None` for an opaque stream.
    pub variant: Option<Variant>,
    pub transport: Option<ApiVersion>,
    pub peer: Option<String>,
    pub server: Option<String>,
    /// What TLS agreed on, on each leg of its connection.
    pub tls: Tls,
    pub control_plane: Option<Arc<str>>,
    pub opened: Time,
    pub closed: Option<Time>,
    pub end: Option<EndFact>,
    /// The stream of the same session before this one.
    pub reconnect_of: Option<StreamId>,
    /// After a reconnect: what came of what the client claimed to hold.
    pub account: Option<ReconnectFact>,
    pub messages: u64,
    /// Client to server.
    pub bytes_in: u64,
    /// Server to client.
    pub bytes_out: u64,
    /// Messages lost in the copy.
    pub gaps: u64,
    pub partial: bool,
    pub last_message: Option<Time>,
    /// The keepalive that passes on its connection (row I-12).
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
    /// Its newest content was refused.
    pub refused: bool,
    pub absent_by: Option<AbsentBy>,
    pub origin: Origin,
    /// Content hash in hex: equal hashes of one source are equal content.
    pub hash: Option<String>,
    pub size: u64,
    pub ttl_deadline: Option<Time>,
    /// The newest content, for [`crate::wire::content::Catalog::bytes`].
    pub content: Option<crate::wire::content::BlobId>,
}

impl StreamFact {
    /// Stands for a connection on which there never was a stream: an attempt, and no node.
    pub fn is_attempt(&self) -> bool {
        self.method == Open::NOTHING
    }
}

impl ResourceFact {
    /// Asked for, and not sent within the limit: nobody said that it does not exist.
    pub fn is_missing(&self) -> bool {
        self.state == ResourceState::Absent && self.absent_by == Some(AbsentBy::Timer)
    }

    /// The version that speaks for it: the one refused, else the one that its client has accepted, else what was sent. A
    /// refused push leaves what it re-sent unchanged at the version before.
    pub fn standing(&self) -> Option<&Arc<str>> {
        let accepted = self.acked_version.as_ref().filter(|_| !self.refused);
        accepted.or(self.version.as_ref())
    }
}

/// A [`StateFact`] without its names: a cell of the matrix node x type.
#[derive(Clone, Debug)]
pub struct SummaryFact {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub variant: Variant,
    pub type_url: TypeUrl,
    pub state: TypeState,
    pub last_state: Option<TypeState>,
    pub since: Time,
    /// Refusals since the last ACK of a later response, and the newest of them.
    pub open_nacks: u64,
    pub last_nack: Option<(Seq, Time)>,
    /// Names asked for and never delivered, whatever their age.
    pub missing: u64,
    /// Those of them that were not sent in time.
    pub overdue: u64,
    pub names: u64,
    pub resources: u64,
    /// Resources whose newest content was refused.
    pub refused: u64,
}
