//! References to inline entries of lists, over all types of a client: `docs/protocol.md#k-15`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::session::{DroppedStreams, SymSet, mark_key};
use xdscope_wire::content::UsedContent;
use xdscope_wire::event::Sym;

/// References of one client; beyond it the rule falls silent.
const MAX_REFERENCES: usize = 1 << 14;

/// A resource by the indices of its stream and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SentResource {
    /// Indices of the stream and the track.
    pub(crate) place: (usize, usize),
    pub(crate) name: Sym,
}

/// A reference to an entry inside a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryReference {
    /// The resource that refers to the entry.
    pub(crate) resource: SentResource,
    /// Hash of the canonical name of the list.
    pub(crate) list: u64,
    /// Name of the entry.
    pub(crate) entry: Arc<str>,
}

/// The references of one client, and whether the list was sent without the entry.
type ClientReferences = BTreeMap<EntryReference, bool>;

/// The references of all clients, at most [`MAX_REFERENCES`] of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryReferences {
    clients: HashMap<Arc<str>, ClientReferences>,
}

impl EntryReferences {
    /// Whether a resource of the client refers to an entry.
    pub(crate) fn has_client(&self, client: &str) -> bool {
        self.clients.contains_key(client)
    }

    /// Returns the references of a client to lists that the server sent without the entry.
    pub(crate) fn unresolved(&self, client: &str) -> impl Iterator<Item = &EntryReference> {
        let all = self.clients.get(client).into_iter().flatten();
        all.filter(|(_, is_unresolved)| **is_unresolved).map(|(reference, _)| reference)
    }

    /// Returns the references of a client, to note whether they are unresolved.
    pub(crate) fn of_client(&mut self, client: &str) -> impl Iterator<Item = (&EntryReference, &mut bool)> {
        self.clients.get_mut(client).into_iter().flatten()
    }

    /// Remembers a reference of a client.
    pub(crate) fn insert(&mut self, client: &Arc<str>, reference: EntryReference, is_unresolved: bool) {
        let known = self.clients.entry(client.clone()).or_default();
        if known.len() < MAX_REFERENCES || known.contains_key(&reference) {
            known.insert(reference, is_unresolved);
        }
    }

    /// Forgets the references of resources that a message replaces or removes.
    pub(crate) fn forget(&mut self, client: &str, place: (usize, usize), names: &SymSet) {
        self.retain(client, |resource| resource.place != place || !names.contains(&resource.name));
    }

    /// Forgets the references of resources of a stream that has ended.
    pub(crate) fn end_stream(&mut self, client: &str, stream: usize) {
        self.retain(client, |resource| resource.place.0 != stream);
    }

    fn retain(&mut self, client: &str, is_kept: impl Fn(SentResource) -> bool) {
        let Some(known) = self.clients.get_mut(client) else { return };
        known.retain(|reference, _| is_kept(reference.resource));
        if known.is_empty() {
            self.clients.remove(client);
        }
    }

    /// Forgets streams that were dropped.
    pub(crate) fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.clients.retain(|_, known| {
            known.retain(|reference, _| dropped.kept.contains(&reference.resource.place.0));
            !known.is_empty()
        });
    }

    /// Marks the names of the resources as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        for reference in self.clients.values().flat_map(|known| known.keys()) {
            mark_key(used, reference.resource.name);
        }
    }
}
