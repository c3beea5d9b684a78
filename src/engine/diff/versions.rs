use std::ops::Range;
use std::sync::Arc;

use crate::engine::store::{MessageKind, Store};
use crate::wire::content::BlobId;
use crate::wire::event::{Dir, Seq, StreamId, Sym, Time, TypeUrl};

/// What the client said to a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open,
    Accepted,
    Refused,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Open => "not answered",
            Verdict::Accepted => "accepted",
            Verdict::Refused => "refused",
        }
    }
}

/// One content of a resource as it was sent on a stream, with what re-sent it unchanged.
#[derive(Clone, Debug)]
pub struct ResourceVersion {
    /// The response that brought it first.
    pub n: Seq,
    pub at: Time,
    pub stream: StreamId,
    /// The resource's own version, or that of the response.
    pub version: Arc<str>,
    pub nonce: Arc<str>,
    /// For [`crate::wire::content::Catalog::bytes`]. `None`: taken away by this response.
    pub content: Option<BlobId>,
    /// How often it was sent in a row.
    pub times: u32,
    /// The newest response that brought it, and what was said to that one.
    pub last: Seq,
    pub verdict: Verdict,
}

/// Every content of one resource in the order in which it was sent, on the streams that `wanted` picks, as far as
/// these rows tell. Messages whose bodies the history has dropped are not among them.
pub fn versions(
    store: &Store,
    rows: Range<usize>,
    wanted: impl Fn(StreamId) -> bool,
    is_type: impl Fn(&TypeUrl) -> bool,
    name: &str,
) -> Vec<ResourceVersion> {
    let mut out = Vec::new();
    extend_versions(&mut out, store, rows, wanted, is_type, name);
    out
}

/// Goes on where [`versions`] ended, with the rows that have come since.
pub fn extend_versions(
    out: &mut Vec<ResourceVersion>,
    store: &Store,
    rows: Range<usize>,
    wanted: impl Fn(StreamId) -> bool,
    is_type: impl Fn(&TypeUrl) -> bool,
    name: &str,
) {
    let Some(name) = store.catalog().strings().find(name) else { return };
    // The list of the last response that was looked through, and what was in it.
    let mut seen = None;
    for row in rows {
        if store.place_of(row).is_none_or(|(stream, url)| !wanted(stream) || !is_type(&url)) {
            continue;
        }
        let Some(line) = store.line(row) else { continue };
        let Some(n) = line.n else { continue };
        if line.dir == Some(Dir::Req) {
            let verdict = match line.kind {
                MessageKind::Ack => Verdict::Accepted,
                MessageKind::Nack => Verdict::Refused,
                _ => continue,
            };
            if let Some(version) = out.iter_mut().rev().find(|version| Some(version.last) == line.answers) {
                version.verdict = verdict;
            }
            continue;
        }
        let list = store.message(n).and_then(|message| Some(message.resources()?.fingerprint()));
        let found = match seen.take() {
            Some((known, found)) if list == Some(known) => found,
            _ => sent(store, n, name),
        };
        seen = list.map(|list| (list, found.clone()));
        let removed = found.is_none() && line.removed > 0 && is_removed(store, row, name);
        if found.is_none() && !removed {
            continue;
        }
        let (version, content) = match found {
            Some((own, content)) => (own.unwrap_or(line.version.clone()), Some(content)),
            None => (line.version.clone(), None),
        };
        let before = out.iter_mut().rev().find(|before| before.stream == line.stream);
        match before.filter(|before| before.content == content && before.version == version) {
            Some(before) => {
                before.times += 1;
                before.last = n;
                before.verdict = Verdict::Open;
            }
            None => out.push(ResourceVersion {
                n,
                at: line.at,
                stream: line.stream,
                version,
                nonce: line.nonce.clone(),
                content,
                times: 1,
                last: n,
                verdict: Verdict::Open,
            }),
        }
    }
}

/// The entry of that name in a response: its own version, where it has one, and its content.
pub(super) fn sent(store: &Store, n: Seq, name: Sym) -> Option<(Option<Arc<str>>, BlobId)> {
    let catalog = store.catalog();
    let message = store.message(n)?;
    let list = message.resources()?;
    let entries = list.blobs().iter().rev().map(|id| catalog.entry(*id));
    let entry = entries.into_iter().find(|entry| entry.name == name || entry.aliases.contains(&name))?;
    let own = (entry.version != Sym::EMPTY).then(|| Arc::from(catalog.text(entry.version)));
    Some((own, entry.payload?))
}

fn is_removed(store: &Store, row: usize, name: Sym) -> bool {
    let name = store.catalog().text(name);
    store.row(row).is_some_and(|fact| fact.removed.iter().any(|removed| **removed == *name))
}
