//! Messages that editions of the protocol read in two ways, until a later message decides.
//!
//! Facts follow the current edition. A view shows the other reading beside them.

use std::sync::Arc;

use crate::graph::{self, Graph};
use crate::session::{NameRequest, Presence, ResourceEntry, Stream, Track};
use crate::store::{StateFact, Store};
use xdscope_schema::Schema;
use xdscope_wire::Profile;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Sym};
use xdscope_wire::xdstp::is_structured;
use xdscope_wire::xdstp::lists::{self, LOCATOR, ListEntry, Locator};

/// Names of one reading.
const MAX_NAMES: usize = 1000;

/// A message or an absence that editions of the protocol read in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingKind {
    /// Names without `*` after a wildcard: the wildcard ends, or stays (docs/protocol.md#l-06).
    NamesAfterWildcard,
    /// A requested name that a response under a wildcard lacks: may still come, or does not exist
    /// (docs/protocol.md#l-13).
    AbsentUnderWildcard,
    /// A resource whose parent is gone: kept, or removed with the parent (docs/protocol.md#l-11).
    ChildWithoutParent,
    /// A locator that is a string: a redirect, or unreadable (docs/protocol.md#l-24).
    TextLocator,
}

impl ReadingKind {
    /// All kinds.
    pub const ALL: [ReadingKind; 4] = [
        ReadingKind::NamesAfterWildcard,
        ReadingKind::AbsentUnderWildcard,
        ReadingKind::ChildWithoutParent,
        ReadingKind::TextLocator,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            ReadingKind::NamesAfterWildcard => "names_after_wildcard",
            ReadingKind::AbsentUnderWildcard => "absent_under_wildcard",
            ReadingKind::ChildWithoutParent => "child_without_parent",
            ReadingKind::TextLocator => "text_locator",
        }
    }
}

/// Two readings of one type of a stream, of which no message has decided yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReading {
    /// The kind of the message or the absence.
    pub kind: ReadingKind,
    /// The names that the readings are about, at most 1,000.
    pub names: Vec<Arc<str>>,
    /// The edition that the stream states for its peers, if any.
    pub profile: Option<Profile>,
}

/// Returns the open readings of a type. Empty for a closed stream.
///
/// `graph` is the graph of the client ([`graph::streams_of`]); without it, resources without a
/// parent are not considered.
pub fn open_readings(store: &Store, state: &StateFact, graph: Option<&Graph>) -> Vec<OpenReading> {
    let Some((stream, track)) = track_of(store, state) else { return Vec::new() };
    let orphans = graph.map_or_else(Vec::new, |graph| orphans(graph, state));
    let found = [
        (ReadingKind::NamesAfterWildcard, names_after_wildcard(store, track)),
        (ReadingKind::AbsentUnderWildcard, absent_under_wildcard(store, stream, track)),
        (ReadingKind::ChildWithoutParent, orphans),
        (ReadingKind::TextLocator, text_locators(store, track)),
    ];
    let open = found.into_iter().filter(|(_, names)| !names.is_empty());
    open.map(|(kind, names)| OpenReading { kind, names, profile: stream.open.profile }).collect()
}

/// Like [`open_readings`], with the graph of the client, which is built only if a possible parent
/// is gone.
pub fn open_readings_of(store: &Store, schema: &Schema, state: &StateFact) -> Vec<OpenReading> {
    let graph = match has_lost_parent(store, state) {
        true => Some(Graph::of(store, schema, &graph::streams_of(store, state.summary.stream))),
        false => None,
    };
    open_readings(store, state, graph.as_ref())
}

/// Whether the server has removed a resource that may have referred to resources of the type.
pub fn has_lost_parent(store: &Store, state: &StateFact) -> bool {
    let (Some(parent), Some(_)) = (parent_of(state), track_of(store, state)) else { return false };
    let streams = graph::streams_of(store, state.summary.stream);
    let streams = streams.iter().filter_map(|id| store.engine().stream(*id));
    let mut parents =
        streams.flat_map(|stream| stream.known_tracks()).filter(|track| track.kind == Some(parent));
    parents.any(|track| track.sent.exceptions().any(|(_, entry)| matches!(entry.state, Presence::Removed)))
}

/// Returns the type whose resources the v2 edition removes together with those of the state.
fn parent_of(state: &StateFact) -> Option<Kind> {
    match Kind::of_type_url(state.summary.type_url.as_str())?.0 {
        Kind::Eds => Some(Kind::Cds),
        Kind::Rds => Some(Kind::Lds),
        _ => None,
    }
}

fn track_of<'a>(store: &'a Store, state: &StateFact) -> Option<(&'a Stream, &'a Track)> {
    let stream = store.engine().stream(state.summary.stream).filter(|stream| stream.closed.is_none())?;
    Some((stream, stream.find(&state.summary.type_url)?))
}

fn texts(store: &Store, names: impl Iterator<Item = Sym>) -> Vec<Arc<str>> {
    names.take(MAX_NAMES).map(|name| store.text(name)).collect()
}

fn names_after_wildcard(store: &Store, track: &Track) -> Vec<Arc<str>> {
    match track.subscription.names_after_wildcard {
        Some(_) => texts(store, track.subscribed.names.iter()),
        None => Vec::new(),
    }
}

/// Returns the names that a response under the wildcard lacks, until the client gives them up.
fn absent_under_wildcard(store: &Store, stream: &Stream, track: &Track) -> Vec<Arc<str>> {
    let is_sotw = stream.variant().is_some_and(|variant| !variant.is_delta());
    let is_full = is_sotw && track.kind.is_some_and(Kind::full_state) && track.subscribed.is_wildcard();
    let (true, Some(newest)) = (is_full, track.responses.last()) else { return Vec::new() };
    let (now, limits) = (stream.clock(store.now()), store.limits());
    let is_open = |request: &NameRequest| request.first < newest.seq && !limits.is_late(request.since, now);
    let lacked = track.waiting.owed().filter(|(_, request)| is_open(request));
    texts(store, lacked.map(|(name, _)| name))
}

fn orphans(graph: &Graph, state: &StateFact) -> Vec<Arc<str>> {
    let Some(kind) = Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind) else {
        return Vec::new();
    };
    graph.orphan_names(state.summary.stream, kind).take(MAX_NAMES).cloned().collect()
}

/// Returns the redirects, and the lists with locators, in the form of the original proposal.
fn text_locators(store: &Store, track: &Track) -> Vec<Arc<str>> {
    let catalog = store.catalog();
    if !track.subscribed.names.iter().any(|name| is_structured(catalog.text(name))) {
        return Vec::new();
    }
    let has_text = |(_, entry): &(Sym, ResourceEntry)| {
        let payload = entry.blob.and_then(|blob| catalog.entry(blob).payload);
        entry.is_present() && payload.is_some_and(|payload| has_text_locator(catalog, payload))
    };
    texts(store, track.sent.entries(catalog).into_iter().filter(has_text).map(|(name, _)| name))
}

/// Whether a content has a locator as text, which editions read in two ways.
fn has_text_locator(catalog: &Catalog, payload: BlobId) -> bool {
    let type_url = catalog.text(catalog.entry(payload).type_url);
    let is_list = type_url.ends_with("Collection");
    if !is_list && type_url != LOCATOR {
        return false;
    }
    let Some(any) = catalog.bytes(payload) else { return false };
    let value = lists::value(&any);
    let is_text = |entry: &ListEntry| matches!(entry, ListEntry::Locator(locator) if locator.is_text);
    match is_list {
        true => lists::entries(value).iter().any(is_text),
        false => Locator::read(value).is_some_and(|locator| locator.is_text),
    }
}
