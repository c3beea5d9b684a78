use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::session::{key, nameless};
use crate::store::{LineFact, MessageKind, Store};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Dir, Seq, StreamId, TypeUrl};

use super::sets::diff_sets;
use super::tree::Op;
use super::versions::sent;

/// Maximum number of rows to search for the previous response, or for the answer to a response.
const MAX_SCANNED_ROWS: usize = 1 << 14;
/// Maximum number of rows to search for the previous content of a resource.
const MAX_CONTENT_ROWS: usize = 1 << 12;

/// A resource that a response changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushEntry {
    /// The kind of change.
    pub op: Op,
    /// Name of the resource.
    pub name: Arc<str>,
}

/// The changes of a response compared with the previous state or another response.
#[derive(Clone, Debug)]
pub struct PushDiff {
    /// Number of the response.
    pub n: Seq,
    /// The other response, if the comparison is not with the previous state.
    pub against: Option<Seq>,
    /// The stream of the response.
    pub stream: StreamId,
    /// The type of the resources.
    pub type_url: TypeUrl,
    /// Version of the response.
    pub version: Arc<str>,
    /// Version of the previous or other response.
    pub before: Option<Arc<str>>,
    /// Changed, added and removed resources, in this order.
    pub entries: Vec<PushEntry>,
    /// Number of resources that were sent again unchanged.
    pub same: u64,
    /// Size of the unchanged resources in bytes.
    pub bytes_same: u64,
    /// Size of the response in bytes.
    pub bytes: u64,
    /// Whether the client rejected the response.
    pub refused: bool,
}

impl PushDiff {
    /// Returns the number of resources with this kind of change.
    pub fn count(&self, op: Op) -> usize {
        self.entries.iter().filter(|entry| entry.op == op).count()
    }

    /// Returns the changes of response `n`, or `None` if the first `rows` rows do not contain the
    /// response.
    pub fn compute(store: &Store, n: Seq, rows: usize) -> Option<PushDiff> {
        let row = store.row_of(n).filter(|row| *row < rows)?;
        let fact = store.row(row).filter(|fact| fact.dir == Some(Dir::Resp))?;
        let mut entries = Vec::new();
        for (op, names) in
            [(Op::Changed, &fact.changed), (Op::Added, &fact.added), (Op::Removed, &fact.removed)]
        {
            entries.extend(names.iter().map(|name| PushEntry { op, name: name.clone() }));
        }
        let is_same_type = |line: &LineFact| line.stream == fact.stream && line.type_url == fact.type_url;
        let earlier = (row.saturating_sub(MAX_SCANNED_ROWS)..row).rev().filter_map(|row| store.line(row));
        let before = earlier
            .filter(&is_same_type)
            .find(|line| line.dir == Some(Dir::Resp))
            .map(|line| line.row.version);
        let mut push = PushDiff {
            n,
            against: None,
            stream: fact.stream,
            type_url: fact.type_url.clone(),
            version: fact.version.clone(),
            before,
            same: fact.same,
            bytes_same: if fact.same > 0 { unchanged(store, n, &entries) } else { 0 },
            bytes: fact.size,
            entries,
            refused: false,
        };
        push.update_verdict(store, row + 1..rows);
        Some(push)
    }

    /// Looks for a NACK of the response in these rows.
    pub fn update_verdict(&mut self, store: &Store, rows: Range<usize>) {
        let last = store.row_of(self.n).map_or(0, |row| row.saturating_add(MAX_SCANNED_ROWS));
        let mut later = (rows.start..rows.end.min(last)).filter_map(|row| store.line(row));
        self.refused |= later.any(|line| {
            line.kind == MessageKind::Nack
                && line.answers == Some(self.n)
                && line.stream == self.stream
                && line.type_url == self.type_url
        });
    }

    /// Compares response `n` with response `against`.
    pub fn between(store: &Store, against: Seq, n: Seq, rows: usize) -> Option<PushDiff> {
        let push = PushDiff::compute(store, n, rows)?;
        let other = store.line(store.row_of(against)?)?;
        let (old, new) = (contents(store, against)?, contents(store, n)?);
        let names =
            |list: &[(Arc<str>, BlobId)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let found = diff_sets(&names(&old), &names(&new), |i, j| {
            old.get(i).map(|(_, content)| content) == new.get(j).map(|(_, content)| content)
        });
        let mut entries = Vec::new();
        let changed = found.changed.iter().map(|(_, at)| *at);
        let entry = |list: &[(Arc<str>, BlobId)], op: Op, at: usize| {
            list.get(at).map(|(name, _)| PushEntry { op, name: name.clone() })
        };
        entries.extend(changed.filter_map(|at| entry(&new, Op::Changed, at)));
        entries.extend(found.added.iter().filter_map(|at| entry(&new, Op::Added, *at)));
        entries.extend(found.removed.iter().filter_map(|at| entry(&old, Op::Removed, *at)));
        let same = found.same as u64;
        let bytes_same = unchanged(store, n, &entries);
        Some(PushDiff {
            against: Some(against),
            before: Some(other.row.version),
            entries,
            same,
            bytes_same,
            ..push
        })
    }
}

/// Returns the names and contents of the resources in a response.
fn contents(store: &Store, n: Seq) -> Option<Vec<(Arc<str>, BlobId)>> {
    let catalog = store.catalog();
    let mut met = HashSet::new();
    let message = store.message(n)?;
    let list = message.resources()?.blobs().iter();
    let entry = |id: &BlobId| {
        let entry = catalog.entry(*id);
        let name = catalog.first_spelling(entry.name);
        if met.insert(name) { Some((Arc::from(catalog.text(name)), entry.payload?)) } else { None }
    };
    Some(list.filter_map(entry).collect())
}

/// Returns the size of the unchanged resources of a response in bytes.
fn unchanged(store: &Store, n: Seq, entries: &[PushEntry]) -> u64 {
    let catalog = store.catalog();
    let strings = catalog.strings();
    let changed: HashSet<_> = entries.iter().filter_map(|entry| strings.find(&entry.name)).collect();
    let list = store.message(n).and_then(|message| message.resources().cloned());
    let blobs = list.as_ref().map(|list| list.blobs()).unwrap_or_default();
    let same = blobs.iter().filter(|id| !changed.contains(&catalog.first_spelling(catalog.name(**id))));
    same.map(|id| u64::from(catalog.blob(*id).size)).sum()
}

/// Returns the content in a response whose name is unknown, by its hash (docs/protocol.md#a-18).
fn nameless_content(store: &Store, n: Seq, hash: &str) -> Option<BlobId> {
    let catalog = store.catalog();
    let message = store.message(n)?;
    let is_meant = |id: &&BlobId| {
        let key = key(catalog, **id);
        nameless(key).is_some() && *store.text(key) == *hash
    };
    let id = message.resources()?.blobs().iter().find(is_meant)?;
    catalog.entry(*id).payload
}

/// Returns the content of a resource before response `n` (or in response `against`), and in
/// response `n`.
pub fn contents_around(
    store: &Store,
    n: Seq,
    against: Option<Seq>,
    name: &str,
) -> (Option<BlobId>, Option<BlobId>) {
    let Some(name) = xdscope_wire::xdstp::named(store.catalog(), name) else {
        // Content without a name differs from all other content.
        return (None, nameless_content(store, n, name));
    };
    let content = |n: Seq| sent(store, n, name).map(|(_, content)| content);
    let new = content(n);
    if let Some(against) = against {
        return (content(against), new);
    }
    let Some((row, line)) = store.row_of(n).and_then(|row| Some((row, store.line(row)?))) else {
        return (None, new);
    };
    let earlier = (row.saturating_sub(MAX_CONTENT_ROWS)..row).rev().filter_map(|row| store.line(row));
    let old = earlier
        .filter(|before| before.dir == Some(Dir::Resp) && before.stream == line.stream)
        .filter(|before| before.type_url == line.type_url)
        .find_map(|before| content(before.n?));
    (old, new)
}
