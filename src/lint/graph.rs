//! Who refers to whom, over all streams of one client (group H). What refers to what is told by
//! [`Links`](super::Links); without it these rules are silent.

use std::collections::HashMap;
use std::sync::Arc;

use super::case::Case;
use crate::content::{BlobId, Catalog};
use crate::event::{DenseHash, Kind, Seq, Sym, Time};
use crate::session::{SymMap, Track};

/// References of one resource.
pub(super) type Refs = Arc<[(Kind, Sym)]>;

/// Contents whose references are remembered, and references of all clients.
const CONTENTS: usize = 1 << 18;
const REFERENCES: usize = 1 << 20;
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
    of: HashMap<(Kind, Sym), Refs>,
    users: HashMap<(Kind, Sym), u32>,
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

/// A resource that waits for another before it can be used (rows H-01 to H-06).
#[derive(Clone, Copy, Debug)]
pub(super) struct Warming {
    pub(super) since: Time,
    pub(super) seq: Seq,
    pub(super) child: (Kind, Sym),
    /// It was there before, with other content.
    pub(super) update: bool,
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

    pub(super) fn learn(&mut self, payload: BlobId, refs: Vec<(Kind, Sym)>) {
        if self.refs.len() >= CONTENTS {
            self.refs.clear();
        }
        self.refs.insert(payload, refs.into());
    }

    /// What the newest content of a name refers to; `None` while that is not known.
    pub(super) fn refs(&self, catalog: &Catalog, entry: BlobId) -> Option<Refs> {
        self.refs.get(&catalog.entry(entry).payload?).cloned()
    }

    /// Whether a resource of the client refers to this one; `None` while that is not known.
    pub(super) fn is_used(&self, client: &str, child: (Kind, Sym)) -> Option<bool> {
        (!self.full).then(|| {
            let graph = self.clients.get(client);
            graph.is_some_and(|graph| graph.users.get(&child).is_some_and(|count| *count > 0))
        })
    }

    /// A resource of the client now refers to these; `None`: it is gone.
    pub(super) fn set(&mut self, client: &Arc<str>, parent: (Kind, Sym), refs: Option<Refs>) {
        if self.full {
            return;
        }
        let graph = self.clients.entry(client.clone()).or_default();
        for child in graph.of.remove(&parent).iter().flat_map(|refs| refs.iter()) {
            self.size -= 1;
            if let Some(count) = graph.users.get_mut(child) {
                *count -= 1;
                if *count == 0 {
                    graph.users.remove(child);
                }
            }
        }
        let Some(refs) = refs.filter(|refs| !refs.is_empty()) else { return };
        for child in refs.iter() {
            self.size += 1;
            *graph.users.entry(*child).or_default() += 1;
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

impl<'a> Case<'a> {
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
        tracks.filter(|(_, track)| track.kind == Some(kind) && track.requests > 0).collect()
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
        if !self.sure() || !clusters.iter().any(wild) {
            return (Vec::new(), Vec::new());
        }
        let catalog = self.catalog();
        let here = |name: Sym| clusters.iter().any(|(_, track)| track.sent.here(catalog, name));
        let mut unknown = Vec::new();
        for (_, refs) in self.refs_of(track, names) {
            let named = refs.iter().filter(|(kind, _)| *kind == Kind::Cds).map(|(_, name)| *name);
            unknown.extend(named.filter(|name| !here(*name)));
        }
        unknown.sort_unstable();
        unknown.dedup();
        (unknown, clusters.into_iter().map(|(stream, _)| stream).collect())
    }

    /// Notes what a response's resources refer to, and what has to warm up.
    pub(super) fn note_links(&mut self, answer: &super::case::Answer<'_>) {
        let Some(kind) = answer.track.kind.filter(|kind| refers(Some(*kind))) else { return };
        let (Some(seq), true) = (self.seq, self.options.links.is_some()) else { return };
        let client = self.client();
        for (names, update) in [(&answer.outcome.added, false), (&answer.outcome.changed, true)] {
            for (name, refs) in self.refs_of(answer.track, names) {
                self.note_warming(kind, name, &refs, seq, update);
                self.world.graphs.set(&client, (kind, name), Some(refs));
            }
        }
        for name in &answer.outcome.removed {
            self.world.graphs.set(&client, (kind, *name), None);
            self.memo.warming.remove(name);
        }
    }

    fn note_warming(&mut self, kind: Kind, name: Sym, refs: &Refs, seq: Seq, update: bool) {
        let wanted = match kind {
            Kind::Cds => Kind::Eds,
            Kind::Lds => Kind::Rds,
            _ => return,
        };
        let child = refs.iter().copied().find(|(kind, _)| *kind == wanted);
        let Some(child) = child.filter(|_| self.memo.warming.len() < super::memo::NAMES) else {
            self.memo.warming.remove(&name);
            return;
        };
        self.memo.warming.insert(name, Warming { since: self.at, seq, child, update });
        self.arm(super::clock::Alarm::Warming, self.at.after(self.options.timers.warm));
    }
}

/// Resources of one track that are warming.
pub(super) type WarmingMap = SymMap<Warming>;
