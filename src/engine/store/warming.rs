//! Clusters and listeners that warm: the client does not use them until others have arrived.

use std::sync::Arc;

use crate::engine::session::{Condition, MissingNeed, Stream, Track, WarmingName, WarmingView};
use crate::wire::event::{Kind, Seq, StreamId, Sym, Time, TypeUrl};

use super::{Store, TypeState};

/// A cluster or listener that warms, on an open stream. The server owes what it waits for.
///
/// Warming starts with each response that adds or changes the resource. It ends once all needed
/// resources have arrived, or when the resource is removed or refused (docs/protocol.md#h-01 to
/// docs/protocol.md#h-06).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmingFact {
    /// The stream of the resource.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// Type URL of the resource.
    pub type_url: TypeUrl,
    /// Type of the resource: cluster or listener.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Arc<str>,
    /// When the response came that started the warming.
    pub since: Time,
    /// That response.
    pub response: Seq,
    /// Whether the client had the resource before: an earlier version stays in use meanwhile.
    pub is_update: bool,
    /// The response without a verdict that the client withholds until the warming is over.
    pub withheld: Option<Seq>,
    /// The resources that are waited for, the longest wait first. At least one.
    pub needs: Vec<NeededResource>,
}

/// A resource that a warming one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededResource {
    /// Type of the resource.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Arc<str>,
    /// When the wait began.
    pub since: Time,
    /// The request for the resource; `None` if the client did not repeat its request after the
    /// update.
    pub asked: Option<Seq>,
    /// Whether the client has the resource, and needs it once more because of the update.
    pub is_resend: bool,
}

impl Store {
    /// Returns the warming resources on open streams, those that wait longest first.
    pub fn warming(&self) -> Vec<WarmingFact> {
        let open = self.engine.streams().iter().filter(|stream| stream.closed.is_none());
        let mut facts: Vec<WarmingFact> = open.flat_map(|stream| self.warming_facts(stream)).collect();
        facts.sort_by_key(|fact| (fact.since, fact.response));
        facts
    }

    /// Returns the warming resources of one stream in the order of types.
    pub fn warming_of(&self, stream: StreamId) -> Vec<WarmingFact> {
        let stream = self.engine.stream(stream).filter(|stream| stream.closed.is_none());
        stream.map(|stream| self.warming_facts(stream)).unwrap_or_default()
    }

    fn warming_facts(&self, stream: &Stream) -> Vec<WarmingFact> {
        let tracks = stream.tracks_shown().filter(|track| !track.warming.is_empty());
        tracks.flat_map(|track| self.warming_of_track(stream, track)).collect()
    }

    /// Returns the streams of a client as far as warming goes.
    fn warming_view(&self, stream: &Stream) -> WarmingView<'_> {
        self.engine.warming_view(&self.catalog, self.engine.index(stream.id).unwrap_or_default())
    }

    pub(crate) fn warming_of_track(&self, stream: &Stream, track: &Track) -> Vec<WarmingFact> {
        let (Some(kind), false) = (track.kind, track.warming.is_empty()) else { return Vec::new() };
        let view = self.warming_view(stream);
        let fact = |warming: WarmingName<'_>| {
            let mut needs: Vec<NeededResource> =
                warming.needs.iter().map(|need| self.needed_resource(need)).collect();
            needs.sort_by_key(|need| need.since);
            WarmingFact {
                stream: stream.id,
                node: stream.node_id.clone(),
                type_url: track.type_url.clone(),
                kind,
                name: self.text(warming.name),
                since: warming.batch.at,
                response: warming.batch.seq,
                is_update: warming.batch.is_update,
                withheld: track.withheld_since(warming.batch.seq),
                needs,
            }
        };
        view.names(track).map(fact).collect()
    }

    /// Returns the type and name of a warming resource of the stream that waits for `name`.
    pub(crate) fn warming_on(&self, stream: &Stream, kind: Kind, name: Sym) -> Option<(Kind, Arc<str>)> {
        let mut tracks = stream.tracks_shown().filter(|track| !track.warming.is_empty()).peekable();
        tracks.peek()?;
        let view = self.warming_view(stream);
        let is_needed = |need: &MissingNeed| need.key.kind == kind && need.key.name == name;
        tracks.find_map(|track| {
            let warming = view.names(track).find(|warming| warming.needs.iter().any(is_needed))?;
            Some((track.kind?, self.text(warming.name)))
        })
    }

    fn needed_resource(&self, need: &MissingNeed) -> NeededResource {
        NeededResource {
            kind: need.key.kind,
            name: self.text(need.key.name),
            since: need.since,
            asked: need.asked,
            is_resend: need.is_resend,
        }
    }

    /// Replaces the state of a type whose resources warm, if the state would blame the client for
    /// its withheld verdict, or would hide that an update is not in use yet.
    pub(crate) fn with_warming(&self, stream: &Stream, track: &Track, condition: Condition) -> Condition {
        let can_hide = matches!(condition.state, TypeState::Stale | TypeState::Sent | TypeState::Synced);
        if track.warming.is_empty() || !can_hide {
            return condition;
        }
        let shows = |warming: &WarmingName<'_>| {
            let is_withheld = || track.withheld_since(warming.batch.seq).is_some();
            match condition.state {
                TypeState::Stale => is_withheld(),
                TypeState::Sent => warming.batch.is_update || is_withheld(),
                _ => warming.batch.is_update,
            }
        };
        let view = self.warming_view(stream);
        match view.names(track).find(shows) {
            Some(warming) => Condition { state: TypeState::Warming, since: warming.batch.at },
            None => condition,
        }
    }
}
