//! A state whose parts are computed on demand, for filters that read few parts of many states.

use std::sync::Arc;

use crate::session::{Presence, Stream, Track};
use xdscope_wire::event::{Seq, StreamId, Sym, Time, TypeUrl, VersionInfo};

use super::{Store, SummaryFact, TypeState};

/// The parts of a [`StateFact`](super::StateFact), computed one by one.
pub struct StateView<'a> {
    store: &'a Store,
    stream: &'a Stream,
    track: &'a Track,
    summary: &'a SummaryFact,
}

impl<'a> StateView<'a> {
    pub(super) fn find(store: &'a Store, summary: &'a SummaryFact) -> Option<StateView<'a>> {
        let stream = store.engine.stream(summary.stream)?;
        let track = stream.tracks_shown().find(|track| track.type_url == summary.type_url)?;
        Some(StateView { store, stream, track, summary })
    }

    /// Returns the stream.
    pub fn stream(&self) -> StreamId {
        self.stream.id
    }

    /// Returns the node id, once known on the stream.
    pub fn node(&self) -> Option<&Arc<str>> {
        self.stream.peers.node_id.as_ref()
    }

    /// Returns the type.
    pub fn type_url(&self) -> &TypeUrl {
        &self.track.type_url
    }

    /// Returns the newest NACK, unless a later response was accepted.
    pub fn open_nack(&self) -> Option<Seq> {
        self.track.verdicts.open_nack().map(|open| open.n)
    }

    /// Returns the state of the type.
    pub fn state(&self) -> TypeState {
        self.summary.state
    }

    /// Returns when the state began.
    pub fn since(&self) -> Time {
        self.summary.since
    }

    /// Returns the median and 99th percentile of the time from response to verdict, in
    /// milliseconds.
    pub fn ack_ms(&self) -> Option<(f64, f64)> {
        if self.store.clock.untimed { None } else { self.track.verdicts.latencies() }
    }

    /// Returns the bytes of all responses.
    pub fn bytes(&self) -> u64 {
        self.track.traffic.bytes
    }

    /// Returns the number of resources that the client uses, or has yet to accept or refuse.
    pub fn resources(&self) -> u64 {
        self.track.in_use(&self.store.catalog, self.store.now, self.store.limits)
    }

    /// Returns the version that the client uses.
    pub fn in_force(&self) -> Option<&str> {
        self.store.version_in_use(self.track).map(VersionInfo::as_str)
    }

    /// Returns the request that accepted this version, and its time; `None` if the client only
    /// states the version.
    pub fn in_force_since(&self) -> Option<(Seq, Time)> {
        self.track.verdicts.in_force.as_ref().map(|known| (known.n, known.at))
    }

    /// Whether `see` accepts the version in force or the offered one.
    pub fn any_version(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        let in_force = self.in_force();
        let offered = self.track.responses.last().map(|response| response.version.as_str());
        in_force.into_iter().chain(offered).any(see)
    }

    /// Whether `see` accepts a nonce of the newest response or of one without a verdict.
    pub fn any_nonce(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        let last = self.track.responses.last().map(|response| response.nonce.as_str());
        let pending = self.track.responses.pending().map(|response| response.nonce.as_str());
        last.into_iter().chain(pending.filter(|nonce| !nonce.is_empty())).any(see)
    }

    /// Whether `see` accepts the message of a NACK.
    pub fn any_error(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        self.track.verdicts.nacks.iter().any(|nack| see(&nack.message))
    }

    /// Whether `see` accepts a requested, missing or absent name.
    pub fn any_name(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        let (catalog, track) = (&self.store.catalog, self.track);
        let mut sees = |name: Sym| match crate::session::nameless(name) {
            Some(_) => see(&self.store.text(name)),
            None => see(catalog.text(name)),
        };
        if track.subscribed.names.iter().any(&mut sees) {
            return true;
        }
        let mut missing = track.waiting.owed();
        if missing.any(|(name, _)| sees(name)) {
            return true;
        }
        let ended = |presence| matches!(presence, Presence::Removed | Presence::Absent(_));
        let mut absent = track.sent.exceptions().filter(|(_, entry)| ended(entry.state));
        absent.any(|(name, entry)| track.names(catalog, name, Some(entry)) && sees(name))
    }
}
