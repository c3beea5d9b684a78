//! Requests for single names.

use crate::session::RequestSpan;
use xdscope_wire::event::{StreamId, Time, TypeUrl};

use crate::store::Store;

/// A requested name that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingNameFact {
    /// When the client began to wait, perhaps on an earlier stream.
    pub since: Time,
    /// When the wait ended with the stream.
    pub ended: Option<Time>,
    /// When the name was first requested on the stream.
    pub requested: Time,
    /// The requests for the name on the stream.
    pub requests: RequestSpan,
    /// Whether the client has the resource already, so that it is not missing.
    pub has_resource: bool,
}

impl PendingNameFact {
    /// Returns the requests for a name; `None` if it was sent or not requested, or if no resource
    /// can have it.
    pub fn find(store: &Store, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<PendingNameFact> {
        let stream = store.engine.stream(stream)?;
        let track = stream.find(type_url)?;
        let request = track.waiting.get(xdscope_wire::xdstp::named(&store.catalog, name)?)?;
        if request.is_malformed {
            return None;
        }
        let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
        let requests = track.traffic.request_span(&request, is_delta);
        Some(PendingNameFact {
            since: request.since,
            ended: track.lifetime.ended,
            requested: track.traffic.requested(&request),
            requests,
            has_resource: request.has_resource,
        })
    }
}
