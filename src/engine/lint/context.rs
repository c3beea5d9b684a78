//! State that a rule can read and write while it checks one frame or timer.

use std::sync::Arc;
use std::time::Duration;

use super::alarm::{Alarm, AlarmQueue, Due};
use super::rule::Rule;
use crate::lint::findings::finding::{Blame, FindingDraft, FindingOrigin, Findings, Restated};
use crate::lint::memory::state::{SourceState, StreamState, set_earlier};
use crate::lint::memory::track::TrackState;
use crate::lint::rule::options::Options;
use crate::session::{Consequence, Stream, Track};
use crate::store::Store;
use xdscope_schema::Violation;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Dir, Kind, Seq, StreamId, Sym, Time, TypeUrl, Variant};
use xdscope_wire::{InterventionFacts, Profile};

/// One frame or timer on one stream, mostly about one type.
pub(super) struct RuleContext<'a> {
    pub(super) store: &'a Store,
    pub(super) stream: &'a Stream,
    pub(super) stream_index: usize,
    pub(super) track_index: Option<usize>,
    pub(super) at: Time,
    /// The message. `None` for a timer.
    pub(super) seq: Option<Seq>,
    /// State of the track before the frame.
    pub(super) state: &'a mut TrackState,
    pub(super) stream_state: &'a mut StreamState,
    pub(super) source_state: &'a mut SourceState,
    pub(super) options: &'a Options,
    pub(super) findings: &'a mut Findings,
    pub(super) alarms: &'a mut AlarmQueue,
}

impl<'a> RuleContext<'a> {
    pub(super) fn catalog(&self) -> &'a Catalog {
        self.store.catalog()
    }

    pub(super) fn text(&self, name: Sym) -> &'a str {
        self.catalog().text(name)
    }

    /// Returns the symbol of a name that the source has.
    pub(super) fn sym(&self, name: &str) -> Sym {
        self.catalog().strings().find(name).unwrap_or(Sym::EMPTY)
    }

    /// Whether every message of the stream was seen and decoded.
    pub(super) fn has_full_history(&self) -> bool {
        self.stream.losses.lost.is_none()
    }

    /// Whether every message of the stream since that one was seen and decoded.
    pub(super) fn has_all_since(&self, seq: Seq) -> bool {
        self.stream.has_all_since(seq)
    }

    /// Whether every message of the stream since that time was seen and decoded.
    pub(super) fn has_all_since_time(&self, time: Time) -> bool {
        self.stream.losses.lost.is_none_or(|(_, lost)| lost < time)
    }

    /// Whether every message since the previous response of the type was seen and decoded.
    pub(super) fn has_all_since_response(&self) -> bool {
        self.state.responses.newest.as_ref().is_some_and(|before| self.has_all_since(before.seq))
    }

    pub(super) fn has_timestamps(&self) -> bool {
        !self.store.clock().untimed
    }

    pub(super) fn profile(&self) -> Profile {
        self.stream.open.profile.or(self.options.profile).unwrap_or(Profile::Current)
    }

    pub(super) fn is_aggregated(&self) -> bool {
        self.stream.variant().is_some_and(Variant::is_aggregated)
    }

    pub(super) fn is_delta(&self) -> bool {
        self.stream.variant().is_some_and(Variant::is_delta)
    }

    /// Whether the stream stands for a file that a client would watch.
    pub(super) fn is_file(&self) -> bool {
        self.stream.variant() == Some(Variant::File)
    }

    /// Whether the stream is gRPC, with nonces and verdicts.
    pub(super) fn is_grpc(&self) -> bool {
        self.stream.is_grpc()
    }

    /// Returns the constraints of the API that a resource breaks. `None` while they are unknown.
    pub(super) fn violations(&self, id: BlobId) -> Option<&Arc<[Violation]>> {
        let payload = self.catalog().entry(id).payload?;
        self.source_state.constraint_violations.get(&payload)?.as_ref()
    }

    /// Returns the track of the frame or timer.
    pub(super) fn current_track(&self) -> Option<&'a Track> {
        let stream: &'a Stream = self.stream;
        self.track_index.and_then(|track| stream.track_at(track))
    }

    /// Returns the track of the type on the stream that the client continues with, if that ended
    /// before this one began.
    pub(super) fn previous_track(&self, type_url: &TypeUrl) -> Option<&'a Track> {
        let (stream, store): (&'a Stream, &'a Store) = (self.stream, self.store);
        let engine = store.engine();
        let requested = stream.find(type_url).filter(|track| track.traffic.requests > 0);
        let Some(track) = requested else {
            return engine.ended_before(stream).find_map(|stream| stream.find(type_url));
        };
        let before = engine.stream(track.lifetime.predecessor?)?;
        let has_ended = before.closed.as_ref().is_some_and(|(at, _)| *at <= stream.opened);
        if has_ended { before.find(type_url) } else { None }
    }

    /// Returns the client features of the node. `None` while the node is unknown.
    pub(super) fn client_features(&self) -> Option<&'a [String]> {
        let stream: &'a Stream = self.stream;
        stream.peers.node.as_ref().map(|node| node.client_features.as_slice())
    }

    /// Returns the time of this frame minus a duration. `None` before the epoch of the source.
    pub(super) fn ago(&self, duration: Duration) -> Option<Time> {
        self.at.0.checked_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)).map(Time)
    }

    /// Whether the name or the wildcard was unsubscribed so recently that the server may not know.
    pub(super) fn was_just_unsubscribed(&self, name: Sym) -> bool {
        let is_recent = |at: &Time| !self.has_timestamps() || self.at.since(*at) <= self.options.timers.ack;
        self.state.requests.unsubscribed.get(&name).is_some_and(is_recent)
            || self.state.requests.wildcard_ended_at.as_ref().is_some_and(is_recent)
    }

    /// Sets a timer for the track, or for the stream if there is no track.
    pub(super) fn arm(&mut self, alarm: Alarm, at: Time) {
        if self.track_index.is_none() {
            return self.arm_stream(alarm, at);
        }
        if self.has_timestamps() && set_earlier(&mut self.state.armed, alarm, at) {
            self.alarms.set(Due { at, stream: self.stream_index, track: self.track_index, alarm });
        }
    }

    /// Sets a timer for the stream.
    pub(super) fn arm_stream(&mut self, alarm: Alarm, at: Time) {
        if self.has_timestamps() && self.stream_state.arm(alarm, at) {
            self.alarms.set(Due { at, stream: self.stream_index, track: None, alarm });
        }
    }

    /// Reports a finding. Returns its index among all findings.
    ///
    /// A finding about a type whose messages xdscope changed or withheld, or about a stream that it
    /// ended, is a note, and blames no peer.
    pub(super) fn report(&mut self, rule: &'static Rule, draft: FindingDraft<'_>) -> Option<usize> {
        self.report_at(rule, draft, (self.stream.id, self.track_index))
    }

    /// Reports a finding about resources, unless there are none.
    pub(super) fn report_names(
        &mut self,
        rule: &'static Rule,
        blame: Blame,
        text: impl Into<String>,
        names: &[Sym],
    ) {
        if !names.is_empty() {
            self.report(rule, FindingDraft::new(blame, text, names));
        }
    }

    /// Reports a finding that counts as one of a stream and track, such as the first of a series.
    pub(super) fn report_at(
        &mut self,
        rule: &'static Rule,
        draft: FindingDraft<'_>,
        (stream, track): (StreamId, Option<usize>),
    ) -> Option<usize> {
        let cause = self.current_track().and_then(|track| self.cause(track, &draft));
        let cause = cause.or_else(|| self.stream.ended_by_xdscope()).or(draft.caused_by.as_ref()).cloned();
        let cause = cause.filter(|cause| !(cause.interference.keeps_content() && rule.is_about_content()));
        let draft = draft.caused_by(cause.as_ref());
        let origin = FindingOrigin {
            stream,
            track,
            node: self.stream.peers.node_id.clone(),
            type_url: self.current_track().map(|track| track.type_url.clone()).unwrap_or_default(),
            at: self.at,
            seq: self.seq,
        };
        let (store, names) = (self.store, draft.names);
        let finding = self.findings.add(rule, draft, origin, |name| store.text(name))?;
        self.follow_broken(rule, finding);
        self.follow_event(rule, finding);
        self.follow_content(rule, finding, names);
        self.follow_names(rule, finding, names);
        Some(finding)
    }

    /// Returns the intervention of xdscope that has caused what a rule reports about a type.
    pub(super) fn cause<'t>(
        &self,
        track: &'t Track,
        draft: &FindingDraft<'_>,
    ) -> Option<&'t Arc<InterventionFacts>> {
        // Most types have no intervention, and a draft may have many names.
        track.caused_by(&Consequence::default())?;
        let names: Vec<Arc<str>> = draft.names.iter().map(|name| self.store.text(*name)).collect();
        let messages: Vec<Seq> = self.seq.into_iter().chain(draft.evidence.iter().rev().copied()).collect();
        track.caused_by(&Consequence { names: &names, messages: &messages, ..Consequence::default() })
    }

    /// Returns the intervention of xdscope in the type that refers to resources of this one:
    /// clusters for endpoints, listeners for routes. The server may send resources because of it.
    pub(super) fn cause_in_parents(&self) -> Option<Arc<InterventionFacts>> {
        let parent = match self.current_track()?.kind? {
            Kind::Eds => Kind::Cds,
            Kind::Rds => Kind::Lds,
            _ => return None,
        };
        let mut parents = self.stream.tracks.iter().filter(|track| track.kind == Some(parent));
        parents.find_map(|track| track.caused_by(&Consequence::default())).cloned()
    }

    /// Returns the intervention of xdscope in a type of the client because of which resources of
    /// the type may be missing.
    pub(super) fn cause_in_kind(&self, kind: Kind, names: &[Sym]) -> Option<Arc<InterventionFacts>> {
        let tracks: Vec<&Track> = self.tracks_of(kind).into_iter().map(|(_, track)| track).collect();
        let mut changed =
            tracks.into_iter().filter(|track| track.caused_by(&Consequence::default()).is_some());
        let track = changed.next()?;
        let names: Vec<Arc<str>> = names.iter().map(|name| self.store.text(*name)).collect();
        let what = Consequence { names: &names, dir: Some(Dir::Resp), ..Consequence::default() };
        track.caused_by(&what).cloned()
    }

    /// Reports a series of streams as one finding on the first of them.
    pub(super) fn report_series(
        &mut self,
        rule: &'static Rule,
        first: StreamId,
        draft: FindingDraft<'_>,
        restated: Restated,
    ) -> Option<usize> {
        let origin = FindingOrigin {
            stream: first,
            track: None,
            node: self.stream.peers.node_id.clone(),
            type_url: TypeUrl::default(),
            at: self.at,
            seq: None,
        };
        let store = self.store;
        let index = self.findings.add(rule, draft, origin, |name| store.text(name))?;
        self.findings.restate(index, restated);
        Some(index)
    }
}
