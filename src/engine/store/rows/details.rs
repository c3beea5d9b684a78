//! Facts of a message beyond its row: events, the node, the control plane, and errors of
//! resources.

use std::sync::Arc;
use std::time::Duration;

use crate::session::{EventEntry, EventKind, MessageKind, ReportedError, TtlChange, TtlRecord, Wildcard};
use xdscope_wire::event::{Code, Dir, Seq, Time};
use xdscope_wire::{Message, MessageBody, ResourceError};

use super::history::Row;
use super::message_row::MessageRow;
use super::offer::OfferFact;

/// Time between two responses of a stream from which they are not sent together any more.
const MAX_ROUND_GAP: Duration = Duration::from_secs(1);
/// Rows that are searched for responses that were sent together.
const MAX_ROUND_ROWS: usize = 128;

/// Facts of a message beyond its row.
#[derive(Clone, Debug, Default)]
pub struct MessageDetails {
    /// Consequences: a wildcard that ends, a resource that comes into existence, …
    pub events: Vec<MessageEvent>,
    /// Whether the message leaves its type out, because the method or the names imply the type.
    pub is_type_implied: bool,
    /// Request: the message that states the node of the stream, this one or an earlier one.
    pub node_from: Option<Seq>,
    /// Request: the wildcard subscription after the request.
    pub wildcard: Option<Wildcard>,
    /// Response: what it offers, and the verdict of the client.
    pub offer: Option<OfferFact>,
    /// Response: the identifier of the control plane.
    pub control_plane: Option<Arc<str>>,
    /// SotW response: `canary`.
    pub is_canary: bool,
    /// Response: why the server does not send resources.
    pub resource_errors: Vec<ResourceErrorFact>,
}

/// An event of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEvent {
    /// The kind of the event.
    pub kind: EventKind,
    /// The first names that the event concerns; [`EventKind`] says what they are.
    pub names: Vec<Arc<str>>,
    /// Number of names.
    pub count: u64,
}

/// Why the server does not send a resource (docs/protocol.md#m-14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceErrorFact {
    /// The resource.
    pub name: Arc<str>,
    /// The gRPC code.
    pub code: Code,
    /// The text of the server.
    pub message: Arc<str>,
    /// The response that reports the error.
    pub n: Seq,
    /// Time of this response.
    pub at: Time,
    /// Whether the resource counts as missing: by NOT_FOUND always, by any other code if the client
    /// does not have the resource.
    pub is_absent: bool,
}

impl ResourceErrorFact {
    /// The gRPC code NOT_FOUND: the resource does not exist.
    pub const NOT_FOUND: Code = Code(5);

    pub(crate) fn new(name: Arc<str>, error: &ReportedError, is_absent: bool) -> ResourceErrorFact {
        let ReportedError { n, at, code, ref message } = *error;
        ResourceErrorFact { name, code: Code(code), message: message.clone(), n, at, is_absent }
    }
}

/// The time to live of a resource (docs/protocol.md#g-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlFact {
    /// The length; `None` if the resource has no time to live any more.
    pub ttl: Option<Duration>,
    /// Number of heartbeats that extended the time.
    pub heartbeats: u64,
    /// Time of the newest heartbeat.
    pub last_heartbeat: Option<Time>,
    /// The first and the newest lengths, oldest first.
    pub changes: Vec<TtlChange>,
}

impl From<&TtlRecord> for TtlFact {
    fn from(record: &TtlRecord) -> TtlFact {
        TtlFact {
            ttl: record.ttl,
            heartbeats: record.heartbeats,
            last_heartbeat: record.last_heartbeat,
            changes: record.changes.clone(),
        }
    }
}

impl MessageRow<'_> {
    pub(in crate::store) fn details(&self, message: Option<&Message>) -> MessageDetails {
        let (row, stream) = (self.row, self.stream);
        let mut details = MessageDetails {
            events: self.events(),
            wildcard: row.wildcard,
            offer: self.offer(),
            ..MessageDetails::default()
        };
        let Some(message) = message else { return details };
        let is_decoded = !matches!(message.body, MessageBody::Undecodable { .. });
        details.is_type_implied = is_decoded && row.track.is_some() && message.type_url().is_empty();
        if message.dir() == Dir::Req && is_decoded {
            details.node_from =
                message.node().and(row.n()).or(stream.peers.node_from).filter(|from| Some(*from) <= row.n());
        }
        if let Some((response, n)) = message.response().zip(row.n()) {
            details.control_plane = response.control_plane.cloned();
            details.is_canary = matches!(&message.body, MessageBody::SotwResponse(sotw) if sotw.canary);
            let errors = response.resource_errors.iter();
            details.resource_errors = errors.map(|error| self.error_fact(n, error)).collect();
        }
        details
    }

    fn error_fact(&self, n: Seq, error: &ResourceError) -> ResourceErrorFact {
        let (store, code) = (self.store, Code(error.detail.code));
        let track = self.row.track.and_then(|track| self.stream.tracks.get(usize::from(track)));
        let name = track.map_or(error.name, |track| track.canonical(&store.catalog, error.name));
        ResourceErrorFact {
            name: store.text(error.name),
            code,
            message: error.detail.message.clone(),
            n,
            at: self.row.at,
            is_absent: code == ResourceErrorFact::NOT_FOUND || store.history.removes(self.row, name),
        }
    }

    fn events(&self) -> Vec<MessageEvent> {
        let kept = self.store.history.line(self.row).and_then(|line| line.remark.events);
        let event = |entry: &EventEntry| MessageEvent {
            kind: entry.kind,
            names: entry.names.iter().map(|name| self.store.text(*name)).collect(),
            count: entry.count,
        };
        let mut events: Vec<MessageEvent> = kept.iter().flat_map(|kept| kept.iter().map(event)).collect();
        let order = self.types_sent_together();
        if order.len() > 1 {
            let url = |track: &u16| self.stream.tracks.get(usize::from(*track)).map(|track| &track.type_url);
            let names: Vec<Arc<str>> =
                order.iter().filter_map(url).map(|url| Arc::from(url.as_str())).collect();
            events.push(MessageEvent { kind: EventKind::TypeOrder, count: names.len() as u64, names });
        }
        events
    }

    /// Returns the types of the responses that were sent together with this one, up to this one. A
    /// type that comes again starts the next push.
    fn types_sent_together(&self) -> Vec<u16> {
        let (index, row) = (self.index, self.row);
        let is_response =
            |row: &Row| matches!(row.kind, MessageKind::Push | MessageKind::Resend | MessageKind::Heartbeat);
        if !is_response(row) || row.track.is_none() {
            return Vec::new();
        }
        let mut tracks = Vec::new();
        let mut last = row.at;
        for earlier in
            (index.saturating_sub(MAX_ROUND_ROWS)..=index).rev().filter_map(|at| self.store.history.get(at))
        {
            if last.since(earlier.at) > MAX_ROUND_GAP {
                break;
            }
            if earlier.stream == row.stream && is_response(earlier) {
                last = earlier.at;
                tracks.extend(earlier.track);
            }
        }
        let mut order = Vec::new();
        for track in tracks.into_iter().rev() {
            if order.contains(&track) {
                order.clear();
            }
            order.push(track);
        }
        order
    }
}
