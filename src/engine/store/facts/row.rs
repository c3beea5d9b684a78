//! Facts about messages: rows of the timeline.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{MessageKind, OtherReading, ReconnectCounts, RequestClass};
use crate::store::rows::details::MessageDetails;
use crate::store::rows::row_note::RowNote;
use xdscope_wire::event::{Code, Dir, Seq, StreamId, Time, TypeUrl};

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

impl RowFact {
    /// Returns the faults that `error` states, in one line.
    pub fn stated_faults(&self) -> &str {
        let text = self.error.as_ref().map_or("", |(_, text)| text);
        self.faults.as_deref().unwrap_or(text)
    }
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

impl Deref for MessageFact {
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

impl Deref for LineFact {
    type Target = RowFact;

    fn deref(&self) -> &RowFact {
        &self.row
    }
}
