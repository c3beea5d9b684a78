//! Requests for single names.

use crate::engine::session::Wildcard;
use crate::wire::event::{Seq, StreamId, Time, TypeUrl};

use super::Store;

/// A requested name that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedFact {
    pub since: Time,
    /// The first request.
    pub by: Seq,
    /// The number of requests, and the newest one.
    pub times: u64,
    pub last: Seq,
    /// Whether the client has the resource already, so that it is not missing.
    pub held: bool,
}

impl Store {
    /// Returns the requests for a name; `None` if it was sent or not requested.
    pub fn asked(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<AskedFact> {
        let stream = self.engine.stream(stream)?;
        let track = stream.find(type_url)?;
        let asked = track.waiting.get(self.catalog.strings().find(name)?)?;
        let delta = stream.variant().is_some_and(|variant| variant.is_delta());
        let (times, by, last) = track.times_asked(&asked, delta);
        Some(AskedFact { since: asked.since, by, times, last, held: asked.held })
    }

    /// Returns the types of the streams, and whether each has a wildcard subscription.
    pub fn wildcards(&self, streams: &[StreamId]) -> Vec<(TypeUrl, Wildcard)> {
        let streams = streams.iter().filter_map(|stream| self.engine.stream(*stream));
        let tracks = streams.flat_map(|stream| stream.tracks_in_order());
        tracks.map(|track| (track.type_url.clone(), track.want.wildcard)).collect()
    }
}
