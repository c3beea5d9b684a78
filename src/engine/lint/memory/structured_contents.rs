//! Contents of structured names and of entries in lists, and redirects, over all streams.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::session::DroppedStreams;
use xdscope_wire::content::{BlobId, UsedContent};
use xdscope_wire::event::Sym;

/// Entries of each map; beyond it the contents are forgotten.
const MAX_ENTRIES: usize = 1 << 16;

/// A structured resource at one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedVersion {
    pub(crate) name: Sym,
    pub(crate) version: Sym,
    pub(crate) payload: BlobId,
}

/// An entry inside a list at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InlineVersion {
    pub(crate) list: Sym,
    /// Hash of the name and the version of the entry.
    pub(crate) entry: u64,
}

/// An inline entry of a response.
#[derive(Clone, Debug)]
pub(crate) struct InlineContent {
    pub(crate) version: InlineVersion,
    /// Name of the entry.
    pub(crate) name: String,
    /// Hash of the content.
    pub(crate) content: u64,
}

/// A content, and the session that received it.
#[derive(Clone, Copy, Debug)]
struct ReceivedContent<T> {
    content: T,
    session: usize,
}

/// Contents of structured names and of entries in lists so far: `docs/protocol.md#k-16`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StructuredContents {
    /// Payloads by name and version.
    named: HashMap<(Sym, Sym), ReceivedContent<BlobId>>,
    /// Hashes of contents.
    inline: HashMap<InlineVersion, ReceivedContent<u64>>,
    /// Hashes of the targets of redirects, by client and hash of the canonical name:
    /// `docs/protocol.md#k-27`.
    redirects: HashMap<(Arc<str>, u64), u64>,
}

/// Hashes a text that need not be kept. The same source gives the same hashes.
pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Names whose version stood for another content before.
#[derive(Debug, Default)]
pub(crate) struct ChangedContents {
    /// Names of which this session received the other content.
    pub(crate) own: Vec<Sym>,
    /// Inline entries of which this session received the other content, with their lists.
    pub(crate) own_entries: Vec<(Sym, String)>,
    /// Names, or lists with such entries, of which another session received the other content:
    /// `docs/protocol.md#k-32`.
    pub(crate) others: Vec<Sym>,
}

/// Returns whether this session received another content before, or another session did.
fn changed<T: PartialEq>(known: Option<&ReceivedContent<T>>, content: &T, session: usize) -> Option<bool> {
    let known = known.filter(|known| known.content != *content)?;
    Some(known.session == session)
}

impl StructuredContents {
    /// Compares a named content with the one before at the same version.
    pub(crate) fn compare_named(&self, named: NamedVersion, session: usize, changed: &mut ChangedContents) {
        let known = self.named.get(&(named.name, named.version));
        match self::changed(known, &named.payload, session) {
            Some(true) => changed.own.push(named.name),
            Some(false) => changed.others.push(named.name),
            None => {}
        }
    }

    /// Compares an entry of a list with the one before at the same version.
    pub(crate) fn compare_inline(
        &self,
        entry: &InlineContent,
        session: usize,
        changed: &mut ChangedContents,
    ) {
        let list = entry.version.list;
        match self::changed(self.inline.get(&entry.version), &entry.content, session) {
            Some(true) => changed.own_entries.push((list, entry.name.clone())),
            Some(false) => changed.others.push(list),
            None => {}
        }
    }

    /// Remembers a named content. The newest content of a session counts; another session does not
    /// replace it.
    pub(crate) fn note_named(&mut self, named: NamedVersion, session: usize) {
        note(&mut self.named, (named.name, named.version), named.payload, session);
    }

    /// Remembers an entry of a list, as [`StructuredContents::note_named`] does.
    pub(crate) fn note_inline(&mut self, entry: &InlineContent, session: usize) {
        note(&mut self.inline, entry.version, entry.content, session);
    }

    pub(crate) fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.named.retain(|_, known| dropped.sessions.contains(&known.session));
        self.inline.retain(|_, known| dropped.sessions.contains(&known.session));
        self.redirects.retain(|(client, _), _| dropped.nodes.contains(client));
    }

    /// Forgets names and contents that are not used.
    pub(crate) fn retain(&mut self, used: &UsedContent) {
        self.named.retain(|(name, version), known| {
            used.has_blob(known.content) && used.has_name(*name) && used.has_name(*version)
        });
        self.inline.retain(|entry, _| used.has_name(entry.list));
    }

    /// Forgets the redirect of a name, which is given by its hash.
    pub(crate) fn forget_redirect(&mut self, client: &Arc<str>, name: u64) {
        self.redirects.remove(&(client.clone(), name));
    }

    /// Whether any redirect is known.
    pub(crate) fn has_redirects(&self) -> bool {
        !self.redirects.is_empty()
    }

    /// Remembers a redirect.
    pub(crate) fn redirect(&mut self, client: &Arc<str>, name: u64, target: u64) {
        if self.redirects.len() < MAX_ENTRIES {
            self.redirects.insert((client.clone(), name), target);
        }
    }

    /// Returns the target of a redirect.
    pub(crate) fn target(&self, client: &Arc<str>, name: u64) -> Option<u64> {
        self.redirects.get(&(client.clone(), name)).copied()
    }
}

/// Adds a content, unless another session has sent one under the key.
fn note<K: Eq + Hash, T>(known: &mut HashMap<K, ReceivedContent<T>>, key: K, content: T, session: usize) {
    if known.len() >= MAX_ENTRIES {
        known.clear();
    }
    match known.get_mut(&key) {
        Some(known) if known.session == session => known.content = content,
        Some(_) => {}
        None => drop(known.insert(key, ReceivedContent { content, session })),
    }
}
