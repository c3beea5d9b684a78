//! Who refers to whom, over all streams of one client (group H). What refers to what is told by
//! [`Links`](super::Links); without it these rules are silent.

use std::collections::HashMap;
use std::sync::Arc;

use super::context::RuleContext;
use super::warming::Warming;
use crate::engine::session::Track;
use crate::schema::links::SourceKind;
use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::{DenseHash, Kind, Seq, Sym, Time};

/// One reference of a resource: to what, and where that comes from (row I-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ref {
    pub(super) kind: Kind,
    pub(super) name: Sym,
    pub(super) source: Option<SourceKind>,
}

impl Ref {
    pub(super) fn child(&self) -> (Kind, Sym) {
        (self.kind, self.name)
    }
}

/// References of one resource.
pub(super) type Refs = Arc<[Ref]>;

/// Contents whose references are remembered, and references of all clients.
pub(super) const CONTENTS: usize = 1 << 18;
const REFERENCES: usize = 1 << 20;
/// Resources of a client that nothing refers to any more, with the time.
const RELEASED: usize = 1 << 16;
/// Findings that wait for their end.
const OPEN: usize = 1024;

/// What resources refer to, by content and by client.
#[derive(Clone, Debug, Default)]
pub(super) struct Graphs {
    /// By payload.
    refs: HashMap<BlobId, Refs, DenseHash>,
    clients: HashMap<Arc<str>, Graph>,
    /// References in all of them.
    size: usize,
    /// There were too many: from then on nothing is known.
    full: bool,
    /// Clusters that routes name and that are not there yet (row H-11).
    pub(super) windows: Vec<Window>,
    /// Clusters that were taken away under routes (row H-10).
    pub(super) breaks: Vec<Window>,
}

/// One client's references.
#[derive(Clone, Debug, Default)]
struct Graph {
    of: HashMap<(Kind, Sym), Refs, DenseHash>,
    users: HashMap<(Kind, Sym), Users, DenseHash>,
    /// When the last that referred to it was gone.
    released: HashMap<(Kind, Sym), Time, DenseHash>,
}

/// How many refer to a resource, and how many of them say that it comes from which source.
#[derive(Clone, Copy, Debug, Default)]
struct Users {
    all: u32,
    sources: [u32; SourceKind::ALL.len()],
}

impl Users {
    fn count(&mut self, source: Option<SourceKind>, change: impl Fn(&mut u32)) {
        change(&mut self.all);
        let place = SourceKind::ALL.iter().position(|other| Some(*other) == source);
        if let Some(count) = place.and_then(|place| self.sources.get_mut(place)) {
            change(count);
        }
    }
}

/// A finding that may end or be seen otherwise.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Among all findings.
    pub(super) finding: usize,
    pub(super) client: Arc<str>,
    pub(super) stream: usize,
    pub(super) clusters: Vec<Sym>,
    pub(super) since: Time,
}

/// What a resource waits for.
pub(super) fn awaited(kind: Kind, refs: &Refs) -> Option<(Kind, Sym)> {
    let wanted = match kind {
        Kind::Cds => Kind::Eds,
        Kind::Lds => Kind::Rds,
        _ => return None,
    };
    refs.iter().map(Ref::child).find(|(kind, _)| *kind == wanted)
}

/// Types that refer to others which rules look at.
pub(super) fn refers(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Lds | Kind::Cds | Kind::Rds | Kind::Srds | Kind::Vhds))
}

impl Graphs {
    pub(super) fn knows(&self, payload: BlobId) -> bool {
        self.refs.contains_key(&payload)
    }

    /// Contents whose references are known.
    pub(super) fn learned(&self) -> usize {
        self.refs.len()
    }

    /// From now on nothing is known.
    pub(super) fn give_up(&mut self) {
        self.full = true;
        self.clients.clear();
        self.refs.clear();
    }

    /// Whether what was known before is still known.
    pub(super) fn learn(&mut self, payload: BlobId, refs: Vec<Ref>) -> bool {
        let room = self.refs.len() < CONTENTS;
        if !room {
            self.refs.clear();
        }
        self.refs.insert(payload, refs.into());
        room
    }

    /// What the newest content of a name refers to; `None` while that is not known.
    pub(super) fn refs(&self, catalog: &Catalog, entry: BlobId) -> Option<Refs> {
        self.refs.get(&catalog.entry(entry).payload?).cloned()
    }

    /// Whether a resource of the client refers to this one; `None` while that is not known.
    pub(super) fn is_used(&self, client: &str, child: (Kind, Sym)) -> Option<bool> {
        (!self.full).then(|| {
            let graph = self.clients.get(client);
            graph.is_some_and(|graph| graph.users.contains_key(&child))
        })
    }

    /// The source that all of the client's resources name that refer to this one; `None` where they do not agree,
    /// or do not say.
    pub(super) fn source_of(&self, client: &str, child: (Kind, Sym)) -> Option<SourceKind> {
        let users = self.clients.get(client)?.users.get(&child)?;
        let found = SourceKind::ALL.iter().zip(users.sources).find(|(_, count)| *count == users.all);
        found.map(|(source, _)| *source)
    }

    /// When the last of the client's resources that referred to this one was gone.
    pub(super) fn released(&self, client: &str, child: (Kind, Sym)) -> Option<Time> {
        self.clients.get(client)?.released.get(&child).copied()
    }

    /// A resource of the client now refers to these; `None`: it is gone.
    pub(super) fn set(&mut self, client: &Arc<str>, parent: (Kind, Sym), refs: Option<Refs>, at: Time) {
        if self.full {
            return;
        }
        let graph = self.clients.entry(client.clone()).or_default();
        for gone in graph.of.remove(&parent).iter().flat_map(|refs| refs.iter()) {
            self.size -= 1;
            let Some(users) = graph.users.get_mut(&gone.child()) else { continue };
            users.count(gone.source, |count| *count -= 1);
            if users.all == 0 {
                graph.users.remove(&gone.child());
                if graph.released.len() < RELEASED {
                    graph.released.insert(gone.child(), at);
                }
            }
        }
        let Some(refs) = refs.filter(|refs| !refs.is_empty()) else { return };
        for new in refs.iter() {
            self.size += 1;
            graph.users.entry(new.child()).or_default().count(new.source, |count| *count += 1);
            graph.released.remove(&new.child());
        }
        graph.of.insert(parent, refs);
        if self.size > REFERENCES {
            self.full = true;
            self.clients.clear();
        }
    }

    pub(super) fn open(list: &mut Vec<Window>, window: Window) {
        if list.len() < OPEN {
            list.push(window);
        }
    }
}

impl<'a> RuleContext<'a> {
    /// The client of the stream; streams without a node stand for themselves.
    pub(super) fn client(&self) -> Arc<str> {
        let own = || Arc::from(format!("#{}", self.stream.id.0));
        self.stream.node_id.clone().unwrap_or_else(own)
    }

    /// The client's tracks of a type on its open streams, with the index of the stream.
    pub(super) fn tracks_of(&self, kind: Kind) -> Vec<(usize, &'a Track)> {
        let (client, store) = (self.client(), self.store);
        let streams = store.engine().streams().iter().enumerate().filter(|(index, stream)| {
            stream.closed.is_none() && (*index == self.index || stream.node_id.as_ref() == Some(&client))
        });
        let tracks =
            streams.flat_map(|(index, stream)| stream.tracks.iter().map(move |track| (index, track)));
        tracks.filter(|(_, track)| track.kind == Some(kind) && track.traffic.requests > 0).collect()
    }

    /// What the names were last sent with refers to.
    pub(super) fn refs_of(&self, track: &Track, names: &[Sym]) -> Vec<(Sym, Refs)> {
        let catalog = self.catalog();
        let refs = names.iter().filter_map(|name| {
            let blob = track.sent.get(catalog, *name)?.blob?;
            Some((*name, self.world.graphs.refs(catalog, blob)?))
        });
        refs.collect()
    }

    /// Clusters that these resources name and that the client does not have, in a client that gets its clusters
    /// by wildcard; with the streams that clusters come on. Clients that ask for each cluster by name learn the
    /// name from the route, so there it must come first.
    pub(super) fn unknown_clusters(&self, track: &Track, names: &[Sym]) -> (Vec<Sym>, Vec<usize>) {
        let clusters = self.tracks_of(Kind::Cds);
        let wild = |(_, track): &(usize, &Track)| track.want.is_wildcard() && !track.partial;
        if !self.is_certain() || !clusters.iter().any(wild) {
            return (Vec::new(), Vec::new());
        }
        let catalog = self.catalog();
        let here = |name: Sym| clusters.iter().any(|(_, track)| track.sent.is_present(catalog, name));
        let mut unknown = Vec::new();
        for (_, refs) in self.refs_of(track, names) {
            let named = refs.iter().filter(|to| to.kind == Kind::Cds).map(|to| to.name);
            unknown.extend(named.filter(|name| !here(*name)));
        }
        unknown.sort_unstable();
        unknown.dedup();
        (unknown, clusters.into_iter().map(|(stream, _)| stream).collect())
    }

    /// Notes what a response's resources refer to, and what has to warm up.
    pub(super) fn note_links(&mut self, answer: &super::context::ResponseContext<'_>) {
        let Some(kind) = answer.track.kind.filter(|kind| refers(Some(*kind))) else { return };
        let (Some(seq), true) = (self.seq, self.options.links.is_some()) else { return };
        let client = self.client();
        for (names, update) in [(&answer.outcome.added, false), (&answer.outcome.changed, true)] {
            let mut waiting = Vec::new();
            for (name, refs) in self.refs_of(answer.track, names) {
                if awaited(kind, &refs).is_some() {
                    waiting.push(name);
                }
                self.world.graphs.set(&client, (kind, name), Some(refs), self.at);
            }
            self.note_warming(waiting, seq, update);
        }
        for name in &answer.outcome.removed {
            self.world.graphs.set(&client, (kind, *name), None, self.at);
        }
    }

    fn note_warming(&mut self, mut names: Vec<Sym>, seq: Seq, update: bool) {
        names.truncate(super::memo::NAMES.saturating_sub(self.memo.warming.names()));
        if names.is_empty() {
            return;
        }
        names.shrink_to_fit();
        self.memo.warming.push(Warming { since: self.at, seq, update, names });
        self.arm(super::clock::Alarm::Warming, self.at.after(self.options.timers.warm));
    }
}
