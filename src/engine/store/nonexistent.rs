//! Resources that do not exist, as the server says (docs/protocol.md#f-28, docs/protocol.md#m-14).

use std::sync::Arc;

use crate::nack::ClientKind;
use crate::session::{CurrentState, Presence, ResourceEntry, Stream, Track};
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

/// The resources of a type on a stream that do not exist, as the server says.
#[derive(Clone, Copy)]
pub(crate) struct AbsentResources<'a> {
    store: &'a Store,
    stream: &'a Stream,
    track: &'a Track,
}

impl<'a> AbsentResources<'a> {
    pub(crate) fn new(store: &'a Store, stream: &'a Stream, track: &'a Track) -> AbsentResources<'a> {
        AbsentResources { store, stream, track }
    }

    /// Returns the listeners and clusters that do not exist although a gRPC client needs them: it
    /// requests only the listeners of its channels, and what these refer to.
    ///
    /// The listeners that need other types tell of these: a listener waits for its routes, and a
    /// cluster is in use without endpoints. Other clients may request names to find out whether
    /// they exist.
    pub(crate) fn targets(&self) -> Vec<AbsentResource> {
        let is_target = matches!(self.track.kind, Some(Kind::Lds | Kind::Cds));
        let has_wildcard = || self.track.subscribed.may_be_wildcard();
        if !is_target || self.stream.is_dump() || has_wildcard() || !is_grpc(self.stream) {
            return Vec::new();
        }
        self.all()
    }

    /// Returns the requested resources that do not exist, in the order of their names.
    fn all(&self) -> Vec<AbsentResource> {
        let mut absent = Vec::new();
        for name in self.track.subscribed.names.iter() {
            let entry = self.track.sent.get(&self.store.catalog, name);
            let Some(entry) = entry.filter(|entry| is_gone(self.track, entry)) else { continue };
            if self.track.waiting.get(name).is_some() {
                continue;
            }
            absent.extend(self.absent_resource(name, &entry));
        }
        absent
    }

    /// Returns a resource that does not exist. `None` if the server states another error.
    fn absent_resource(&self, name: Sym, entry: &ResourceEntry) -> Option<AbsentResource> {
        let error = self.track.errors.get(&name);
        if error.is_some_and(|error| !error.is_not_found()) {
            return None;
        }
        let (at, response) = match (self.track.responses.get(entry.order), error) {
            (Some(response), _) => (response.at, response.seq),
            (None, Some(error)) => (error.at, error.n),
            // The response is forgotten.
            (None, None) => (self.track.traffic.began, self.track.traffic.first_request?),
        };
        let text = error.map(|error| error.message.clone()).unwrap_or_default();
        Some(AbsentResource { name: self.store.text(name), at, response, text })
    }

    /// Replaces the state of the type by `MISS` if a gRPC client needs resources that do not exist,
    /// or the dump of a client lists such resources: a client lists only resources that it wants.
    pub(super) fn state(&self, current: CurrentState) -> CurrentState {
        let can_hide = matches!(current.state, TypeState::Synced | TypeState::Sent | TypeState::Wait);
        let since = match self.stream.is_dump() {
            _ if !can_hide => None,
            true => self.store.reported_errors(self.stream, self.track).first().map(|(_, error)| error.at),
            false => self.targets().iter().map(|absent| absent.at).min(),
        };
        since.map_or(current, |since| CurrentState { state: TypeState::Miss, since })
    }

    /// Returns the texts of the server, each with its resources.
    fn stated(&self) -> Vec<AbsenceFact> {
        let mut stated: Vec<AbsenceFact> = Vec::new();
        for AbsentResource { name, text, .. } in self.all() {
            let known = stated.iter_mut().find(|fact| fact.text == text);
            match known {
                _ if text.is_empty() => {}
                Some(known) => known.names.push(name),
                None => stated.push(AbsenceFact {
                    stream: self.stream.id,
                    node: self.stream.peers.node_id.clone(),
                    type_url: self.track.type_url.clone(),
                    names: vec![name],
                    text,
                }),
            }
        }
        stated
    }
}

impl AbsenceFact {
    /// Returns the texts with which servers say that requested resources do not exist, as far as
    /// that is no problem of a gRPC client.
    pub fn all(store: &Store) -> Vec<AbsenceFact> {
        let mut stated = Vec::new();
        for stream in store.engine.open_streams().filter(|stream| !stream.is_dump()) {
            for track in stream.tracks_shown().filter(|track| !track.errors.is_empty()) {
                let absent = AbsentResources::new(store, stream, track);
                if absent.targets().is_empty() {
                    stated.extend(absent.stated());
                }
            }
        }
        stated
    }
}

/// Whether a resource does not exist. A listener that the server removes is gone for its channel,
/// too. A cluster may just be replaced.
fn is_gone(track: &Track, entry: &ResourceEntry) -> bool {
    match entry.state {
        Presence::Absent(_) => true,
        Presence::Removed => track.kind == Some(Kind::Lds),
        _ => false,
    }
}

/// Whether the client of a stream is known to be one of gRPC.
pub(super) fn is_grpc(stream: &Stream) -> bool {
    stream.client_kind().is_some_and(|client| client != ClientKind::Envoy)
}
