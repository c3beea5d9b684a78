//! Events of messages that concern more than one type or stream.

use std::sync::Arc;

use crate::wire::Message;
use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Seq, Sym, Time};

use super::engine::Engine;
use super::events::{EventKind, EventList};
use super::{MessageKind, RequestOutcome, Track, Wildcard};

impl Engine {
    /// Adds the events of a request. `changed_by`: the earlier request that changed the
    /// names last.
    pub(super) fn note_request_events(
        &self,
        events: &mut EventList,
        (index, track): (usize, usize),
        request: &RequestOutcome,
        (changed_by, star): (Option<Seq>, Sym),
        at: Time,
    ) {
        let stream = self.streams().get(index);
        let Some(of) = stream.and_then(|stream| stream.tracks.get(track)) else { return };
        // A client without on-demand routes opens VHDS with an empty request, which is not a
        // wildcard (docs/protocol.md#a-05).
        let is_wildcard = of.kind != Some(Kind::Vhds) || request.wildcard != Wildcard::Legacy;
        events.add_request(request, if is_wildcard { request.wildcard } else { Wildcard::None });
        let is_delta = stream.and_then(|stream| stream.variant()).is_some_and(|variant| variant.is_delta());
        let asks = !request.first && !request.partial && request.kind == MessageKind::Subscribe;
        if is_delta && asks && !self.is_caused((index, track), changed_by, at) {
            let names: Vec<Sym> = request.added.iter().copied().filter(|name| *name != star).collect();
            if !names.is_empty() {
                events.add_all(EventKind::OnDemand, &names);
            }
        }
    }

    /// Whether a response of another type may have caused a request for more names: the response
    /// came after the names changed last, and not long ago.
    fn is_caused(&self, (index, track): (usize, usize), changed_by: Option<Seq>, at: Time) -> bool {
        let is_cause = |of: &Track| {
            let push = of.traffic.last_push.as_ref().filter(|push| Some(Seq(push.n)) > changed_by);
            push.is_some_and(|push| self.resource_timeout().is_none_or(|limit| at.since(push.at) < limit))
        };
        self.client_of(index).into_iter().any(|other| {
            let tracks = self.streams().get(other).map_or(&[][..], |stream| &stream.tracks);
            let others = tracks.iter().enumerate().filter(|(at, _)| (other, *at) != (index, track));
            others.map(|(_, of)| of).any(is_cause)
        })
    }

    /// Returns the control plane of the stream before, if a message is the first of its stream that
    /// names one.
    pub(super) fn plane_before(&self, index: usize, message: &Message) -> Option<Arc<str>> {
        message.response()?.control_plane?;
        let stream = self.streams().get(index).filter(|stream| stream.control_plane.is_none())?;
        self.stream(stream.reconnect_of?)?.control_plane.clone()
    }

    /// Records the control plane of a response. `before`: that of the stream before.
    pub(super) fn note_plane_change(
        &mut self,
        catalog: &mut Catalog,
        events: &mut EventList,
        (index, message): (usize, &Message),
        before: Option<Arc<str>>,
        (n, at): (Seq, Time),
    ) {
        let Some(plane) = message.response().and_then(|response| response.control_plane) else { return };
        let Some(stream) = self.stream_at(index) else { return };
        let before = stream.note_plane(plane, n, at).or(before).filter(|before| before != plane);
        if let Some(before) = before {
            let names = [catalog.intern(&before), catalog.intern(plane)];
            events.add_all(EventKind::ControlPlaneChanged, &names);
        }
    }
}
