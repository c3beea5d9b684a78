//! The resources and versions of clients of a tap that differ from what their server sent.
//!
//! A resource is remembered until the server sends it again. The first request of a type on a new
//! stream does not state such resources, and the next delta push removes those that the server does
//! not know. These corrections are interventions of their own kind, `Interference::Corrected`, and
//! start no divergence. Streams of such clients are armed even if no fault can match them any more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::contents::{Alteration, AlteredNames, WireContents};
use xdscope_engine::filter::WireStream;
use xdscope_wire::MAX_MESSAGE_BYTES;
use xdscope_wire::discovery::fields::DiscoveryField;
use xdscope_wire::event::{Kind, TypeUrl};

/// Types of clients that are remembered.
const MAX_TYPES: usize = 4096;

/// Resources that are remembered of one type of a client.
const MAX_NAMES: usize = 100_000;

/// Versions that are remembered of one type of a client.
const MAX_VERSIONS: usize = 64;

/// A request without what only xdscope has told the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Correction {
    /// The request to send.
    pub(super) bytes: Bytes,
    /// The fault or person.
    pub(super) by: Arc<str>,
    /// Delta: resources that the client states, and that the server has never sent.
    pub(super) foreign: BTreeSet<Arc<str>>,
    /// Delta: resources whose versions the request states no more.
    left_out: AlteredNames,
}

/// The resources of clients that differ from what their server sent, by node and type.
///
/// A client states on a new stream what it has. The server must not take an altered resource for
/// its own, because it would not send the resource again. Clients with the same node id share an
/// entry: at worst the server sends one of them a resource that it has.
pub struct ClientMemory {
    altered: Mutex<AlteredTypes>,
    /// Bytes that the open streams of all clients remember of their messages, and the most.
    tracked: AtomicUsize,
    max_tracked: usize,
    /// Longest message after decompression, in bytes.
    pub(super) max_message: usize,
}

/// Has no limits.
impl Default for ClientMemory {
    fn default() -> ClientMemory {
        ClientMemory::new(usize::MAX, MAX_MESSAGE_BYTES)
    }
}

/// By node and type.
type AlteredTypes = BTreeMap<(Arc<str>, TypeUrl), AlteredType>;

/// The alterations of one type of a client.
#[derive(Default)]
struct AlteredType {
    /// Resources that differ, and the fault or person.
    names: AlteredNames,
    /// Those among them that the server has never sent.
    foreign: BTreeSet<Arc<str>>,
    /// SotW: versions that the client was told, newest last.
    versions: VecDeque<ToldVersion>,
    /// Delta: differing clusters whose endpoints the client has requested on a new stream.
    requested: BTreeSet<Arc<str>>,
    /// Delta: clusters that the server sent again before the client requested their endpoints on a
    /// new stream, and the fault or person. They warm until their endpoints are sent again too.
    warming: AlteredNames,
}

/// A version that a client was told in place of another one.
struct ToldVersion {
    told: String,
    /// The version of the server.
    version: String,
    by: Arc<str>,
}

impl AlteredType {
    /// Notes a push that the client gets.
    fn delivered(&mut self, response: &WireContents, alteration: Option<&Alteration>) {
        if !response.is_delta()
            && Kind::of_type_url(response.type_url.as_str()).is_some_and(|(kind, _)| kind.full_state())
        {
            // The push states all resources.
            self.names.clear();
            self.foreign.clear();
        }
        let are_clusters = response.is_delta() && is_of(&response.type_url, Kind::Cds);
        for name in response.names() {
            let by = self.names.remove(name);
            let is_requested = self.requested.remove(name);
            if let Some(by) = by
                && are_clusters
                && !is_requested
            {
                self.warming.insert(name.clone(), by);
            }
        }
        for name in response.removed() {
            self.names.remove(name);
            self.requested.remove(name);
            self.warming.remove(name);
        }
        self.foreign.retain(|name| self.names.contains_key(name));
        self.versions.retain(|alias| alias.told != response.version);
        let Some(alteration) = alteration else { return };
        let by = &alteration.by;
        let room = MAX_NAMES.saturating_sub(self.names.len());
        self.names.extend(alteration.names.iter().take(room).map(|name| (name.clone(), by.clone())));
        self.foreign.extend(alteration.foreign.iter().filter(|name| self.names.contains_key(*name)).cloned());
        if let Some(version) = &alteration.version {
            let (told, version) = (response.version.clone(), version.clone());
            self.versions.push_back(ToldVersion { told, version, by: by.clone() });
            if self.versions.len() > MAX_VERSIONS {
                self.versions.pop_front();
            }
        }
    }

    /// Notes the first request for endpoints on a stream, without the versions that were left out.
    fn endpoints_requested(&mut self, request: &WireContents, left_out: &AlteredNames) {
        request.names().iter().for_each(|name| _ = self.warming.remove(name));
        let differing = left_out.keys().filter(|name| self.names.contains_key(*name));
        self.requested.extend(differing.cloned());
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.versions.is_empty() && self.warming.is_empty()
    }

    /// Returns the request to send in place of the first one. `clusters`: those of a client that
    /// requests endpoints. It lets them warm for endpoints when they are sent again.
    fn correction(&self, request: &WireContents, clusters: &AlteredType) -> Option<Correction> {
        if request.is_delta() {
            let of_clusters = |name: &str| clusters.names.get(name).or_else(|| clusters.warming.get(name));
            let altered_by = |name: &str| self.names.get(name).or_else(|| of_clusters(name));
            let (bytes, left_out) = request.without_claims(altered_by)?;
            let by = left_out.values().next()?.clone();
            let foreign = self.foreign.iter().filter(|name| left_out.contains_key(*name));
            let foreign = foreign.cloned().collect();
            return Some(Correction { bytes, by, foreign, left_out });
        }
        if !request.nonce.is_empty() || request.version.is_empty() {
            return None;
        }
        let (bytes, by) = match self.names.values().next() {
            Some(by) => (request.without_versions(), by),
            None => {
                let alias = self.versions.iter().rev().find(|alias| alias.told == request.version)?;
                (request.with(DiscoveryField::Version, &alias.version), &alias.by)
            }
        };
        Some(Correction { bytes, by: by.clone(), foreign: BTreeSet::new(), left_out: AlteredNames::new() })
    }
}

impl ClientMemory {
    /// Creates a memory for streams that may remember `max_tracked` bytes together, of messages
    /// with up to `max_message` bytes after decompression.
    pub fn new(max_tracked: usize, max_message: usize) -> ClientMemory {
        ClientMemory { altered: Mutex::default(), tracked: AtomicUsize::new(0), max_tracked, max_message }
    }

    /// Whether a stream may remember this many bytes more.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.tracked.load(Ordering::Relaxed).saturating_add(bytes) <= self.max_tracked
    }

    /// Notes that a stream remembers `now` bytes instead of `before`.
    pub(super) fn count(&self, before: usize, now: usize) {
        self.tracked.fetch_add(now, Ordering::Relaxed);
        self.tracked.fetch_sub(before, Ordering::Relaxed);
    }

    /// Notes a push that a client gets.
    pub(super) fn delivered(
        &self,
        node: &Option<Arc<str>>,
        response: &WireContents,
        alteration: Option<&Alteration>,
    ) {
        let mut types = self.types();
        if alteration.is_none() && types.is_empty() {
            return;
        }
        let key = key(node, &response.type_url);
        if alteration.is_some() && types.len() < MAX_TYPES {
            types.entry(key.clone()).or_default();
        }
        let Some(altered) = types.get_mut(&key) else { return };
        altered.delivered(response, alteration);
        if altered.is_empty() {
            types.remove(&key);
        }
    }

    /// Returns what the server is to get in place of the first request of a type on a stream.
    pub(super) fn correction(&self, node: &Option<Arc<str>>, request: &WireContents) -> Option<Correction> {
        let mut types = self.types();
        let none = AlteredType::default();
        let is_for_endpoints = is_of(&request.type_url, Kind::Eds);
        let clusters = if is_for_endpoints { clusters_of(&types, node) } else { None };
        let own = types.get(&key(node, &request.type_url)).unwrap_or(&none);
        let correction = own.correction(request, clusters.map_or(&none, |(_, altered)| altered));
        let clusters = clusters.map(|(key, _)| key.clone());
        if let Some(key) = clusters
            && let Some(altered) = types.get_mut(&key)
        {
            let left_out = correction.as_ref().map(|correction| &correction.left_out);
            altered.endpoints_requested(request, left_out.unwrap_or(&AlteredNames::new()));
            if altered.is_empty() {
                types.remove(&key);
            }
        }
        correction
    }

    /// Returns the clusters of a client that the server has never sent, each with the fault or
    /// person. The client requests endpoints by their names.
    pub(super) fn made_up_clusters(&self, node: &Option<Arc<str>>) -> AlteredNames {
        let types = self.types();
        let Some((_, altered)) = clusters_of(&types, node) else { return AlteredNames::new() };
        let names = altered.foreign.iter().filter_map(|name| altered.names.get_key_value(name));
        names.map(|(name, by)| (name.clone(), by.clone())).collect()
    }

    /// Whether the client of a stream may state or request what only xdscope has told it.
    pub fn may_concern(&self, stream: &WireStream<'_>) -> bool {
        self.types().iter().any(|((node, type_url), altered)| {
            let has_clusters = !(altered.names.is_empty() && altered.warming.is_empty());
            stream.node.is_none_or(|own| own == &**node)
                && stream.type_url.is_none_or(|own| {
                    let requests_endpoints = is_of(own, Kind::Eds) && is_of(type_url, Kind::Cds);
                    own == type_url || requests_endpoints && has_clusters
                })
        })
    }

    /// Whether all clients have what their server sent them.
    pub fn is_empty(&self) -> bool {
        self.types().is_empty()
    }

    fn types(&self) -> MutexGuard<'_, AlteredTypes> {
        // A panic elsewhere leaves the memory as usable as before.
        self.altered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the altered clusters of a client.
fn clusters_of<'a>(
    types: &'a AlteredTypes,
    node: &Option<Arc<str>>,
) -> Option<(&'a (Arc<str>, TypeUrl), &'a AlteredType)> {
    let node = node.as_deref().unwrap_or_default();
    types.iter().find(|((altered, url), _)| **altered == *node && is_of(url, Kind::Cds))
}

fn is_of(type_url: &TypeUrl, kind: Kind) -> bool {
    Kind::of_type_url(type_url.as_str()).is_some_and(|(known, _)| known == kind)
}

fn key(node: &Option<Arc<str>>, type_url: &TypeUrl) -> (Arc<str>, TypeUrl) {
    (node.clone().unwrap_or_default(), type_url.clone())
}
