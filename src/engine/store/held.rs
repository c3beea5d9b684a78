//! Queries about messages that an armed tap holds.

use std::sync::Arc;

use xdscope_wire::event::{StreamId, TypeUrl};

use super::Store;

impl Store {
    /// Returns the newest stream with an intervention by this author.
    pub fn stream_intercepted_by(&self, by: &str) -> Option<StreamId> {
        let has = |facts: &Arc<xdscope_wire::InterventionFacts>| *facts.by == *by;
        let streams = self.engine.streams().iter().filter(|stream| stream.interventions.iter().any(has));
        streams.map(|stream| stream.id).last()
    }

    /// Returns the streams in whose messages xdscope has intervened.
    pub fn intercepted_streams(&self) -> Vec<StreamId> {
        let streams = self.engine.streams().iter().filter(|stream| !stream.interventions.is_empty());
        streams.map(|stream| stream.id).collect()
    }

    /// Returns the version of a type that the client has acknowledged last.
    pub fn acknowledged_version(&self, stream: StreamId, type_url: &TypeUrl) -> Option<Arc<str>> {
        let track = self.engine.stream(stream)?.find(type_url)?;
        Some(track.version_in_force()?.as_str().into())
    }
}
