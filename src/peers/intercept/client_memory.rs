//! The resources and versions of clients of a tap that differ from what their server sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::contents::{Alteration, WireContents};
use crate::engine::filter::WireStream;
use crate::wire::discovery::fields::DiscoveryField;
use crate::wire::event::{Kind, TypeUrl};

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
}

/// The resources of clients that differ from what their server sent, by node and type.
///
/// A client states on a new stream what it has. The server must not take an altered resource for
/// its own, because it would not send the resource again. Clients with the same node id share an
/// entry: at worst the server sends one of them a resource that it has.
#[derive(Default)]
pub struct ClientMemory(Mutex<BTreeMap<(Arc<str>, TypeUrl), AlteredType>>);

/// The alterations of one type of a client.
struct AlteredType {
    by: Arc<str>,
    names: BTreeSet<Arc<str>>,
    foreign: BTreeSet<Arc<str>>,
    /// SotW: versions that the client was told, and those of the server, newest last.
    versions: VecDeque<(String, String)>,
}

impl AlteredType {
    /// Notes a push that the client gets.
    fn delivered(&mut self, push: &WireContents, alteration: Option<&Alteration>) {
        if !push.is_delta() && Kind::of_type_url(push.type_url.as_str()).is_some_and(|of| of.0.full_state()) {
            // The push states all resources.
            self.names.clear();
        }
        for name in push.all_names() {
            self.names.remove(name);
            self.foreign.remove(name);
        }
        self.versions.retain(|(told, _)| *told != push.version);
        let Some(alteration) = alteration else { return };
        self.by = alteration.by.clone();
        let room = MAX_NAMES.saturating_sub(self.names.len());
        self.names.extend(alteration.names.iter().take(room).cloned());
        self.foreign.extend(alteration.foreign.iter().filter(|name| self.names.contains(*name)).cloned());
        if let Some(version) = &alteration.version {
            self.versions.push_back((push.version.clone(), version.clone()));
            if self.versions.len() > MAX_VERSIONS {
                self.versions.pop_front();
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.versions.is_empty()
    }

    fn correction(&self, request: &WireContents) -> Option<Correction> {
        let with = |bytes, foreign| Some(Correction { bytes, by: self.by.clone(), foreign });
        if request.is_delta() {
            let (bytes, left_out) = request.without_claims(&self.names)?;
            return with(bytes, self.foreign.intersection(&left_out).cloned().collect());
        }
        if !request.nonce.is_empty() || request.version.is_empty() {
            return None;
        }
        if !self.names.is_empty() {
            return with(request.without_versions(), BTreeSet::new());
        }
        let (_, version) = self.versions.iter().rev().find(|(told, _)| *told == request.version)?;
        with(request.with(DiscoveryField::Version, version), BTreeSet::new())
    }
}

impl ClientMemory {
    /// Notes a push that a client gets.
    pub(super) fn delivered(
        &self,
        node: &Option<Arc<str>>,
        push: &WireContents,
        alteration: Option<&Alteration>,
    ) {
        let mut types = self.types();
        if alteration.is_none() && types.is_empty() {
            return;
        }
        let key = key(node, &push.type_url);
        if let Some(alteration) = alteration.filter(|_| types.len() < MAX_TYPES) {
            types.entry(key.clone()).or_insert_with(|| AlteredType {
                by: alteration.by.clone(),
                names: BTreeSet::new(),
                foreign: BTreeSet::new(),
                versions: VecDeque::new(),
            });
        }
        let Some(altered) = types.get_mut(&key) else { return };
        altered.delivered(push, alteration);
        if altered.is_empty() {
            types.remove(&key);
        }
    }

    /// Returns what the server is to get in place of the first request of a type on a stream.
    pub(super) fn correction(&self, node: &Option<Arc<str>>, request: &WireContents) -> Option<Correction> {
        self.types().get(&key(node, &request.type_url))?.correction(request)
    }

    /// Whether the client of a stream may state what only xdscope has told it.
    pub fn may_concern(&self, stream: &WireStream<'_>) -> bool {
        let is_same = |node: &str, type_url: &TypeUrl| {
            stream.node.is_none_or(|of| of == node) && stream.type_url.is_none_or(|of| of == type_url)
        };
        self.types().keys().any(|(node, type_url)| is_same(node, type_url))
    }

    /// Whether all clients have what their server sent them.
    pub fn is_empty(&self) -> bool {
        self.types().is_empty()
    }

    fn types(&self) -> MutexGuard<'_, BTreeMap<(Arc<str>, TypeUrl), AlteredType>> {
        // A panic elsewhere leaves the memory as usable as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(node: &Option<Arc<str>>, type_url: &TypeUrl) -> (Arc<str>, TypeUrl) {
    (node.clone().unwrap_or_default(), type_url.clone())
}
