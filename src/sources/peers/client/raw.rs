//! Requests that a client would not send by itself, for conformance checks.

use std::collections::BTreeMap;

use super::encode::Request;
use super::{Client, TrackKey};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::TypeUrl;

/// A request as it is, whatever the client has subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequest {
    /// All names (SotW), or the names to subscribe to (delta).
    pub names: Vec<String>,
    /// Delta only.
    pub unsubscribe: Vec<String>,
    /// Delta only: the versions that the client states to hold, by name.
    pub held: BTreeMap<String, String>,
    /// SotW only: the version that the client states to have accepted.
    pub version: String,
    /// The nonce of the response that the request answers.
    pub nonce: String,
}

impl Client {
    /// Sends a request on the open stream of a type. The subscriptions of the client stay as they
    /// are.
    ///
    /// The first request of a stream has the node.
    pub fn send_raw(&mut self, url: &TypeUrl, raw: &RawRequest, catalog: &mut Catalog) {
        let key = TrackKey { url: url.clone(), server: self.config.plain(url) };
        let Some(lane) = self.tracks.get(&key).map(|track| track.lane) else { return };
        let request = Request {
            version: raw.version.as_str().into(),
            names: raw.names.iter().map(|name| catalog.intern(name)).collect(),
            unsubscribe: raw.unsubscribe.iter().map(|name| catalog.intern(name)).collect(),
            initial: raw
                .held
                .iter()
                .map(|(name, version)| (catalog.intern(name), catalog.intern(version)))
                .collect(),
            nonce: raw.nonce.as_str().into(),
            ..Request::default()
        };
        self.send(lane, url, request, catalog);
    }
}
