//! Events of messages that concern more than one type or stream.

use std::sync::Arc;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Seq, Sym, Time};
use xdscope_wire::{Message, NodeInfo};

use crate::session::engine::{Engine, TrackPlace};
use crate::session::events::{EventKind, EventList};
use crate::session::stream::node::differences;
use crate::session::{PlaneFact, PushFact, RequestOutcome, Track, Wildcard};
use xdscope_wire::xdstp::is_structured;

impl Engine {
    /// Adds the events of a request. `changed_by`: the earlier request that changed the
    /// names last.
    pub(crate) fn note_request_events(
        &self,
        catalog: &mut Catalog,
        events: &mut EventList,
        place: TrackPlace,
        request: &RequestOutcome,
        changed_by: Option<Seq>,
        at: Time,
    ) {
        let Some(stream) = self.streams().get(place.stream) else { return };
        let Some(track) = stream.track_at(place.track) else { return };
        // A client without on-demand routes opens VHDS with an empty request, which is not a
        // wildcard (docs/protocol.md#a-05).
        let wildcard_of_kind = |wildcard: Wildcard| match wildcard {
            Wildcard::Legacy if track.kind == Some(Kind::Vhds) => Wildcard::None,
            wildcard => wildcard,
        };
        let was = wildcard_of_kind(request.was);
        events.add_wildcard(was, wildcard_of_kind(request.wildcard));
        if !request.unknown_unsubscribes.is_empty() && !track.completeness.has_lost {
            events.add_all(EventKind::PhantomUnsubscription, &request.unknown_unsubscribes);
        }
        let changes: Vec<Sym> = request.node_changes.iter().map(|field| catalog.intern(field)).collect();
        if !changes.is_empty() {
            events.add_all(EventKind::NodeChanged, &changes);
        }
        let star = catalog.intern("*");
        let mut names: Vec<Sym> = request.added.iter().copied().filter(|name| *name != star).collect();
        self.note_failovers(catalog, events, place.stream, &names);
        let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
        let asks = !request.first && !request.partial && !names.is_empty();
        if !is_delta || !asks {
            return;
        }
        // Redirects and lists refer to names of their own type.
        let is_listed = match &track.traffic.last_push {
            Some(push) => self.is_fresh(push, changed_by, at),
            None => false,
        };
        let is_structured = |name: &Sym| is_structured(catalog.text(*name));
        if is_listed {
            names.retain(|name| !is_structured(name));
        }
        if self.is_caused(place, changed_by, at) {
            // A wildcard covers the resources that others refer to, except those with structured
            // names.
            let is_covered = matches!(was, Wildcard::Explicit | Wildcard::Legacy);
            names.retain(|name| is_covered && !is_structured(name));
        }
        if !names.is_empty() {
            events.add_all(EventKind::OnDemand, &names);
        }
    }

    /// Returns the fields in which the node of a request differs from the one before.
    pub(crate) fn node_changes(
        &self,
        catalog: &Catalog,
        before: Option<&NodeInfo>,
        message: &Message,
    ) -> Vec<&'static str> {
        match (before, message.node()) {
            (Some(before), Some(node)) => differences(catalog, &self.node_digests, before, node),
            _ => Vec::new(),
        }
    }

    /// Adds the alternatives among the names that a request on a stream adds.
    fn note_failovers(&self, catalog: &mut Catalog, events: &mut EventList, index: usize, names: &[Sym]) {
        let Some(stream) = self.streams().get(index) else { return };
        if !self.has_structured_names() {
            return;
        }
        let client = stream.client();
        for name in names {
            let text = catalog.text(*name);
            if is_structured(text)
                && let Some(primary) = self.needs().primary_of(&client, text)
            {
                let primary = catalog.intern(&primary);
                events.add_all(EventKind::Failover, &[primary, *name]);
            }
        }
    }

    /// Whether a response of another type may have caused a request for more names: a resource of
    /// that type can refer to such names, and the response came not long ago, or since the names
    /// changed last if the source has no timestamps.
    fn is_caused(&self, place: TrackPlace, changed_by: Option<Seq>, at: Time) -> bool {
        let kind = self.track(place).and_then(|track| track.kind);
        let is_cause = |other: &Track| match &other.traffic.last_push {
            Some(push) => may_refer(other.kind, kind) && self.is_fresh(push, changed_by, at),
            None => false,
        };
        self.client_of(place.stream).into_iter().any(|stream| {
            let tracks = self.streams().get(stream).map_or(&[][..], |stream| &stream.tracks);
            let mut others = tracks.iter().enumerate();
            others.any(|(track, other)| TrackPlace { stream, track } != place && is_cause(other))
        })
    }

    /// Whether a push came not long ago, or after `changed_by` if the source has no timestamps.
    fn is_fresh(&self, push: &PushFact, changed_by: Option<Seq>, at: Time) -> bool {
        match self.resource_timeout() {
            Some(limit) => at.since(push.at) < limit,
            None => Some(Seq(push.n)) > changed_by,
        }
    }

    /// Returns the control plane of the stream before, if a message is the first of its stream that
    /// names one.
    pub(crate) fn plane_before(&self, index: usize, message: &Message) -> Option<Arc<str>> {
        message.response()?.control_plane?;
        let stream = self.streams().get(index).filter(|stream| stream.peers.control_plane.is_none())?;
        self.stream(stream.chain.reconnect_of?)?.peers.control_plane.clone()
    }

    /// Records the control plane that a response names. `before`: that of the stream before.
    pub(crate) fn note_plane_change(
        &mut self,
        catalog: &mut Catalog,
        events: &mut EventList,
        index: usize,
        plane: PlaneFact,
        before: Option<Arc<str>>,
    ) {
        let Some(stream) = self.stream_at(index) else { return };
        let identifier = plane.identifier.clone();
        if let Some(before) = stream.note_plane(plane).or(before)
            && before != identifier
        {
            let names = [catalog.intern(&before), catalog.intern(&identifier)];
            events.add_all(EventKind::ControlPlaneChanged, &names);
        }
    }
}

/// Whether resources of one type can refer to resources of another (docs/protocol.md#a-15).
fn may_refer(from: Option<Kind>, to: Option<Kind>) -> bool {
    let (Some(from), Some(to)) = (from, to) else { return true };
    match to {
        Kind::Lds => false,
        Kind::Cds => matches!(from, Kind::Lds | Kind::Rds | Kind::Vhds | Kind::Ecds),
        Kind::Rds => matches!(from, Kind::Lds | Kind::Srds),
        Kind::Eds => from == Kind::Cds,
        Kind::Sds => matches!(from, Kind::Lds | Kind::Cds | Kind::Ecds),
        Kind::Srds | Kind::Ecds => matches!(from, Kind::Lds | Kind::Rds),
        Kind::Vhds => from == Kind::Rds,
        Kind::Leds => from == Kind::Eds,
        Kind::Rtds => false,
    }
}
