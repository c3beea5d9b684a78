//! All streams of a session.

use super::script::{Step, StepEvent, TYPES};
use super::track::{RequestFacts, Stamp, Track};
use super::views::ResponseFacts;

#[derive(Clone, Debug)]
pub(super) struct Stream {
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
                let prior = self.prior(step.stream, *kind).cloned();
                let track = self.streams[step.stream].track(*kind);
                let prior = prior.filter(|_| track.requests == 0);
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

    /// The type on the newest earlier stream of the client that has the type
    /// (docs/protocol.md#e-18).
    fn prior(&self, stream: usize, kind: usize) -> Option<&Track> {
        let delta = self.streams[stream].delta;
        let earlier = self.streams[..stream].iter().rev().filter(|other| other.delta == delta);
        // The client of a stream without a request is unknown.
        let mut earlier = earlier.filter(|other| other.tracks.iter().any(|track| track.requests > 0));
        let prior = earlier.find_map(|other| other.find(kind))?;
        let has_unknown = prior.accepted_unseen || prior.claimed.is_some();
        (!prior.accepted().is_empty() || !has_unknown).then_some(prior)
    }
}
