use std::ops::Range;
use std::sync::Arc;

use crate::store::{LineFact, MessageKind, Store};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Dir, Seq, StreamId, Sym, Time, TypeUrl};

/// The client's answer to a version of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No answer yet.
    Open,
    /// The client has sent an ACK.
    Accepted,
    /// The client has sent a NACK.
    Refused,
}

impl Verdict {
    /// Returns the answer in words.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Open => "not answered",
            Verdict::Accepted => "accepted",
            Verdict::Refused => "refused",
        }
    }
}

/// A version of a resource on a stream, including responses that sent the version again.
#[derive(Clone, Debug)]
pub struct ResourceVersion {
    /// The first response with this version.
    pub n: Seq,
    /// Time of the first response.
    pub at: Time,
    /// The stream of the responses.
    pub stream: StreamId,
    /// The resource's own version, or that of the response.
    pub version: Arc<str>,
    /// Nonce of the first response.
    pub nonce: Arc<str>,
    /// The content in the catalog. `None` if the response removed the resource.
    pub content: Option<BlobId>,
    /// How many times the server sent the version in a row.
    pub times: u32,
    /// How many times the client refused the version in a row.
    pub refusals: u32,
    /// The newest response with this version. `verdict` is the answer to this response.
    pub last: Seq,
    /// The answer to the newest response.
    pub verdict: Verdict,
}

/// Returns the versions of a resource in `rows` on the streams that `wanted` selects, in order.
///
/// Skips messages whose bodies the history has dropped.
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

/// Adds the versions in the rows after the ones that [`versions`] has read.
pub fn extend_versions(
    out: &mut Vec<ResourceVersion>,
    store: &Store,
    rows: Range<usize>,
    wanted: impl Fn(StreamId) -> bool,
    is_type: impl Fn(&TypeUrl) -> bool,
    name: &str,
) {
    let Some(name) = xdscope_wire::xdstp::named(store.catalog(), name) else { return };
    // Fingerprint of the previous response's list, and the resource in the list.
    let mut seen = None;
    for row in rows {
        if store.place_of(row).is_none_or(|(stream, url)| !wanted(stream) || !is_type(&url)) {
            continue;
        }
        let Some(line) = store.line(row) else { continue };
        let Some(n) = line.n else { continue };
        if line.dir == Some(Dir::Req) {
            add_verdict(out, &line);
            continue;
        }
        let list = store.message(n).and_then(|message| Some(message.resources()?.fingerprint()));
        let found = match seen.take() {
            Some((known, found)) if list == Some(known) => found,
            _ => sent(store, n, name),
        };
        seen = list.map(|list| (list, found.clone()));
        match found {
            Some((own, content)) => {
                let version = own.unwrap_or(line.version.clone());
                add_sent(out, &line, n, version, Some(content));
            }
            None if line.removed > 0 && is_removed(store, row, name) => {
                add_sent(out, &line, n, line.version.clone(), None);
            }
            None => {}
        }
    }
}

/// Sets the verdict on the version that a request acknowledges or rejects.
fn add_verdict(out: &mut [ResourceVersion], request: &LineFact) {
    let verdict = match request.kind {
        MessageKind::Ack => Verdict::Accepted,
        MessageKind::Nack => Verdict::Refused,
        _ => return,
    };
    if let Some(version) = out.iter_mut().rev().find(|version| Some(version.last) == request.answers) {
        version.verdict = verdict;
        version.refusals = if verdict == Verdict::Refused { version.refusals + 1 } else { 0 };
    }
}

/// Adds a version, or counts the response as a repetition of the newest version on the stream.
fn add_sent(
    out: &mut Vec<ResourceVersion>,
    response: &LineFact,
    n: Seq,
    version: Arc<str>,
    content: Option<BlobId>,
) {
    let before = out.iter_mut().rev().find(|before| before.stream == response.stream);
    match before.filter(|before| before.content == content && before.version == version) {
        Some(before) => {
            before.times += 1;
            before.last = n;
            before.verdict = Verdict::Open;
        }
        None => out.push(ResourceVersion {
            refusals: 0,
            n,
            at: response.at,
            stream: response.stream,
            version,
            nonce: response.nonce.clone(),
            content,
            times: 1,
            last: n,
            verdict: Verdict::Open,
        }),
    }
}

/// Returns the version, if the resource has its own, and the content of a resource in a response.
pub(super) fn sent(store: &Store, n: Seq, name: Sym) -> Option<(Option<Arc<str>>, BlobId)> {
    let catalog = store.catalog();
    let message = store.message(n)?;
    let list = message.resources()?;
    let entries = list.blobs().iter().rev().map(|id| catalog.entry(*id));
    let entry = entries
        .into_iter()
        .find(|entry| catalog.first_spelling(entry.name) == name || entry.aliases.contains(&name))?;
    let own = (entry.version != Sym::EMPTY).then(|| Arc::from(catalog.text(entry.version)));
    Some((own, entry.payload?))
}

fn is_removed(store: &Store, row: usize, name: Sym) -> bool {
    let name = store.catalog().text(name);
    store.row(row).is_some_and(|fact| fact.removed.iter().any(|removed| **removed == *name))
}
