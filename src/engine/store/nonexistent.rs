//! Resources that do not exist, as the server says (docs/protocol.md#f-28, docs/protocol.md#m-14).

use std::sync::Arc;

use crate::nack::ClientKind;
use crate::session::{Condition, Presence, ResourceEntry, Stream, Track};
use xdscope_wire::event::{Kind, Seq, StreamId, Sym, Time, TypeUrl};

use super::{Store, TypeState};

/// A resource that a client requests, and that does not exist.
#[derive(Clone, Debug)]
pub(crate) struct AbsentResource {
    pub(crate) name: Arc<str>,
    /// When the server said so, and in which response.
    pub(crate) at: Time,
    pub(crate) response: Seq,
    /// The text of the server; empty without one.
    pub(crate) text: Arc<str>,
}

/// The text with which a server says that resources of an open stream do not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsenceFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// Type URL of the resources.
    pub type_url: TypeUrl,
    /// Names of the resources.
    pub names: Vec<Arc<str>>,
    /// The text of the server.
    pub text: Arc<str>,
}

impl Store {
    /// Returns the listeners and clusters that do not exist although a gRPC client needs them: it
    /// requests only the listeners of its channels, and what these refer to.
    ///
    /// The listeners that need other types tell of these: a listener waits for its routes, and a
    /// cluster is in use without endpoints. Other clients may request names to find out whether
    /// they exist.
    pub(crate) fn absent_targets(&self, stream: &Stream, track: &Track) -> Vec<AbsentResource> {
        let is_target = matches!(track.kind, Some(Kind::Lds | Kind::Cds));
        if !is_target || stream.is_dump() || track.subscribed.may_be_wildcard() || !is_grpc(stream) {
            return Vec::new();
        }
        self.absent_resources(track)
    }

    /// Returns the requested resources that do not exist, in the order of their names.
    fn absent_resources(&self, track: &Track) -> Vec<AbsentResource> {
        let mut absent = Vec::new();
        for name in track.subscribed.names.iter() {
            let slot = track.sent.get(&self.catalog, name);
            let Some(slot) = slot.filter(|slot| is_gone(track, slot)) else { continue };
            if track.waiting.get(name).is_some() {
                continue;
            }
            absent.extend(self.absent_resource(track, name, &slot));
        }
        absent
    }

    /// Returns a resource that does not exist. `None` if the server states another error.
    fn absent_resource(&self, track: &Track, name: Sym, slot: &ResourceEntry) -> Option<AbsentResource> {
        let error = track.errors.get(&name);
        if error.is_some_and(|error| !error.is_not_found()) {
            return None;
        }
        let (at, response) = match (track.responses.get(slot.order), error) {
            (Some(response), _) => (response.at, response.seq),
            (None, Some(error)) => (error.at, error.n),
            // The response is forgotten.
            (None, None) => (track.traffic.began, track.traffic.first_request?),
        };
        let text = error.map(|error| error.message.clone()).unwrap_or_default();
        Some(AbsentResource { name: self.text(name), at, response, text })
    }

    /// Replaces the state of a type by `MISS` if a gRPC client needs resources that do not exist,
    /// or the dump of a client lists such resources: a client lists only resources that it wants.
    pub(super) fn with_nonexistent(&self, stream: &Stream, track: &Track, condition: Condition) -> Condition {
        let can_hide = matches!(condition.state, TypeState::Synced | TypeState::Sent | TypeState::Wait);
        let since = match stream.is_dump() {
            _ if !can_hide => None,
            true => self.reported_errors(stream, track).first().map(|(_, error)| error.at),
            false => self.absent_targets(stream, track).iter().map(|absent| absent.at).min(),
        };
        since.map_or(condition, |since| Condition { state: TypeState::Miss, since })
    }

    /// Returns the texts with which servers say that requested resources do not exist, as far as
    /// that is no problem of a gRPC client.
    pub fn stated_absences(&self) -> Vec<AbsenceFact> {
        let mut stated: Vec<AbsenceFact> = Vec::new();
        for stream in self.engine.open_streams() {
            for track in stream.tracks_shown().filter(|track| !track.errors.is_empty()) {
                if !stream.is_dump() && self.absent_targets(stream, track).is_empty() {
                    self.add_absences(stream, track, &mut stated);
                }
            }
        }
        stated
    }

    fn add_absences(&self, stream: &Stream, track: &Track, stated: &mut Vec<AbsenceFact>) {
        let first = stated.len();
        for AbsentResource { name, text, .. } in self.absent_resources(track) {
            let known = stated.iter_mut().skip(first).find(|fact| fact.text == text);
            match known {
                _ if text.is_empty() => {}
                Some(known) => known.names.push(name),
                None => stated.push(AbsenceFact {
                    stream: stream.id,
                    node: stream.node_id.clone(),
                    type_url: track.type_url.clone(),
                    names: vec![name],
                    text,
                }),
            }
        }
    }
}

/// Whether a resource does not exist. A listener that a delta server removes is gone for its
/// channel, too.
fn is_gone(track: &Track, slot: &ResourceEntry) -> bool {
    let is_delta = track.subscription.last_names.is_none();
    match slot.state {
        Presence::Absent(_) => true,
        Presence::Removed => track.kind == Some(Kind::Lds) && is_delta,
        _ => false,
    }
}

/// Whether the client of a stream is known to be one of gRPC.
pub(super) fn is_grpc(stream: &Stream) -> bool {
    stream.client_kind().is_some_and(|client| client != ClientKind::Envoy)
}
