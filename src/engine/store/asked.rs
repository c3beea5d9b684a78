//! Who asked for what, name by name.

use crate::engine::session::Wildcard;
use crate::wire::event::{Seq, StreamId, Time, TypeUrl};

use super::Store;

/// A name that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedFact {
    pub since: Time,
    /// The request that asked first.
    pub by: Seq,
    /// How often it was asked for, and the newest request that did.
    pub times: u64,
    pub last: Seq,
    /// The client has it from before: it is not missing.
    pub held: bool,
}

impl Store {
    /// Since when a name is waited for; `None` for one that was sent, or was not asked for.
    pub fn asked(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<AskedFact> {
        let stream = self.engine.stream(stream)?;
        let track = stream.find(type_url)?;
        let asked = track.waiting.get(self.catalog.strings().find(name)?)?;
        let delta = stream.variant().is_some_and(|variant| variant.is_delta());
        let (times, by, last) = track.times_asked(&asked, delta);
        Some(AskedFact { since: asked.since, by, times, last, held: asked.held })
    }

    /// Types of these streams, and whether all of each is subscribed to.
    pub fn wildcards(&self, streams: &[StreamId]) -> Vec<(TypeUrl, Wildcard)> {
        let streams = streams.iter().filter_map(|stream| self.engine.stream(*stream));
        let tracks = streams.flat_map(|stream| stream.tracks_in_order());
        tracks.map(|track| (track.type_url.clone(), track.want.wildcard)).collect()
    }
}
