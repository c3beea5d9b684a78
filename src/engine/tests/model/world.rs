//! All streams of a session.

use crate::session::Wildcard;

use super::script::{Ask, Step, StepEvent, TYPES};
use super::track::{RequestFacts, Stamp, Track};
use super::views::ResponseFacts;

#[derive(Clone, Debug)]
pub struct Stream {
    pub(super) delta: bool,
    /// Messages before the first recorded one, or in a gap, are missing.
    pub(super) partial: bool,
    pub(super) closed: bool,
    /// The types in order of their first messages.
    pub(super) tracks: Vec<Track>,
}

/// The facts of one message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MessageFacts {
    None,
    Request(RequestFacts),
    Response(ResponseFacts),
}

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) streams: Vec<Stream>,
    pub(super) now: u64,
    messages: u64,
}

impl Stream {
    pub(super) fn find(&self, kind: usize) -> Option<&Track> {
        self.tracks.iter().find(|track| track.kind == kind)
    }

    fn track(&mut self, kind: usize) -> &mut Track {
        let at = self.tracks.iter().position(|track| track.kind == kind).unwrap_or_else(|| {
            self.tracks.push(Track::new(kind, self.delta, self.partial));
            self.tracks.len() - 1
        });
        &mut self.tracks[at]
    }
}

impl World {
    /// Whether the step has a place in the session: the stream is open, or is about to be.
    pub(super) fn allows(&self, step: &Step) -> bool {
        match (&step.event, self.streams.get(step.stream)) {
            (StepEvent::Open { .. }, _) => step.stream == self.streams.len(),
            (StepEvent::Request { kind, .. } | StepEvent::Response { kind, .. }, Some(stream)) => {
                !stream.closed && *kind < TYPES.len()
            }
            (StepEvent::Gap | StepEvent::Close, Some(stream)) => !stream.closed,
            (_, None) => false,
        }
    }

    pub(super) fn apply(&mut self, step: &Step) -> MessageFacts {
        self.now += step.wait;
        if let StepEvent::Open { delta, partial } = step.event {
            self.streams.push(Stream { delta, partial, closed: false, tracks: Vec::new() });
            return MessageFacts::None;
        }
        if matches!(step.event, StepEvent::Request { .. } | StepEvent::Response { .. }) {
            self.messages += 1;
        }
        let stamp = Stamp { seq: self.messages, at: self.now };
        match &step.event {
            StepEvent::Open { .. } => MessageFacts::None,
            StepEvent::Request { kind, ask } => {
                let is_first = self.streams[step.stream].find(*kind).is_none_or(|track| track.requests == 0);
                let before = self.predecessor(step.stream, *kind, ask).filter(|_| is_first);
                let prior = before.and_then(|at| self.streams[at].find(*kind)).cloned();
                if let Some(before) = before.filter(|at| self.streams[*at].closed) {
                    self.streams[before].track(*kind).replaced = true;
                }
                let track = self.streams[step.stream].track(*kind);
                MessageFacts::Request(track.request(stamp, ask, prior.as_ref()))
            }
            StepEvent::Response { kind, push } => {
                MessageFacts::Response(self.streams[step.stream].track(*kind).response(stamp, push))
            }
            StepEvent::Gap => {
                let stream = &mut self.streams[step.stream];
                stream.partial = true;
                stream.tracks.iter_mut().for_each(Track::lose_messages);
                MessageFacts::None
            }
            StepEvent::Close => {
                let stream = &mut self.streams[step.stream];
                stream.closed = true;
                stream.tracks.iter_mut().for_each(|track| track.ended = Some(self.now));
                MessageFacts::None
            }
        }
    }

    /// The earlier stream of the client with which a type goes on (docs/protocol.md#e-18,
    /// docs/protocol.md#e-49): the closed one that shares most names with the first request.
    fn predecessor(&self, stream: usize, kind: usize, ask: &Ask) -> Option<usize> {
        let of = |at: usize| &self.streams[at];
        // The client of a stream without a request is unknown.
        let has_client = |at: usize| of(at).tracks.iter().any(|track| track.requests > 0);
        let is_earlier = |at: &usize| of(*at).delta == of(stream).delta && has_client(*at);
        let earlier = (0..stream).filter(is_earlier).filter(|at| of(*at).find(kind).is_some());
        let earlier: Vec<usize> = earlier.collect();
        let shared = |at: usize| of(at).find(kind).map_or(0, |track| track.shared_names(ask));
        let is_free = |at: &usize| of(*at).closed && of(*at).find(kind).is_some_and(|track| !track.replaced);
        let free = earlier.iter().copied().filter(is_free).filter(|at| shared(*at) > 0);
        let newest = || earlier.last().copied().filter(|at| of(*at).closed || shared(*at) > 0);
        free.max_by_key(|at| shared(*at)).or_else(newest)
    }
}

impl Track {
    /// How many of the names in a first request the client wanted on this stream.
    fn shared_names(&self, ask: &Ask) -> usize {
        let is_wildcard = ask.names.is_empty() || ask.names.contains(&"*");
        let wildcard = usize::from(is_wildcard && self.wants.wildcard != Wildcard::None);
        ask.names.iter().filter(|name| self.wants.names.contains(name)).count() + wildcard
    }

    /// Whether the resources of the client at the end of the stream are known.
    pub(super) fn is_known_at_end(&self) -> bool {
        let has_unknown = self.accepted_unseen || self.claimed.is_some() || self.is_unproved;
        !self.accepted().is_empty() || !has_unknown
    }
}
