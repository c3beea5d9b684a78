//! References between the resources of one client, over all its streams.
//!
//! [`Links`](crate::lint::Links) reads them; without it the rules about references are silent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::session::DroppedStreams;
use xdscope_schema::links::SourceKind;
use xdscope_wire::content::{BlobId, Catalog, UsedContent};
use xdscope_wire::event::{DenseHash, Kind, Seq, Sym, Time};
use xdscope_wire::xdstp::canonical_name;

/// A reference to a resource by its canonical name, and its stated source:
/// `docs/protocol.md#i-06`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceRef {
    pub(crate) kind: Kind,
    pub(crate) name: Sym,
    /// The inline entry that the reference selects; empty without one: `docs/protocol.md#k-15`.
    pub(crate) entry: Sym,
    pub(crate) source: Option<SourceKind>,
    /// Whether an Envoy refuses the routes that refer to the cluster if it lacks the cluster.
    pub(crate) is_validated: bool,
}

impl ResourceRef {
    /// Returns the clusters among references, in their first spellings.
    pub(crate) fn clusters(refs: &[ResourceRef], catalog: &Catalog) -> impl Iterator<Item = Sym> {
        let clusters = refs.iter().filter(|to| to.kind == Kind::Cds);
        clusters.map(|to| catalog.first_spelling(to.name))
    }

    /// Returns the key of the resource that is referred to.
    pub(crate) fn child(&self) -> (Kind, Sym) {
        (self.kind, self.name)
    }
}

/// The references of one resource.
pub(crate) type ResourceRefs = Arc<[ResourceRef]>;

/// Types whose resources route requests to clusters.
pub(crate) const ROUTE_KINDS: [Kind; 3] = [Kind::Rds, Kind::Lds, Kind::Vhds];

/// Whether resources of a type route requests to clusters.
pub(crate) fn is_of_routes(kind: Option<Kind>) -> bool {
    kind.is_some_and(|kind| ROUTE_KINDS.contains(&kind))
}

/// Contents whose references are remembered.
pub(crate) const MAX_CONTENTS: usize = 1 << 18;
/// References of all clients.
const MAX_REFERENCES: usize = 1 << 20;
/// Resources of a client without a reference.
const MAX_RELEASED: usize = 1 << 16;
/// Findings that may still change.
const MAX_OPEN_FINDINGS: usize = 64;

/// References by content and by client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReferenceGraphs {
    /// By payload.
    refs: HashMap<BlobId, ResourceRefs, DenseHash>,
    /// Payloads that refer to a name with an unknown or repeated directive:
    /// `docs/protocol.md#k-11`.
    pub(crate) bad_directives: HashSet<BlobId, DenseHash>,
    /// Payloads that refer to a name with a reserved parameter: `docs/protocol.md#k-09`.
    pub(crate) reserved_keys: HashSet<BlobId, DenseHash>,
    /// Payloads that refer to an entry of a list: `docs/protocol.md#k-15`.
    pub(crate) with_entries: HashSet<BlobId, DenseHash>,
    clients: HashMap<Arc<str>, ClientGraph>,
    /// References in all of them.
    size: usize,
    /// Whether there were too many references, so that none are known.
    full: bool,
    /// Clusters that routes refer to and that have not arrived: `docs/protocol.md#h-11`.
    pub(crate) windows: OpenFindings,
    /// Clusters that were removed although routes refer to them: `docs/protocol.md#h-10`.
    pub(crate) breaks: OpenFindings,
}

/// The references of one client.
#[derive(Clone, Debug, Default)]
struct ClientGraph {
    /// References by the resource that refers.
    refs: HashMap<(Kind, Sym), ResourceRefs, DenseHash>,
    /// Number of references by the resource that is referred to.
    users: HashMap<(Kind, Sym), ReferenceCount, DenseHash>,
    /// When a resource lost its last reference.
    released: HashMap<(Kind, Sym), Time, DenseHash>,
}

/// Number of references to a resource, in total, by the type of the user and by stated source.
#[derive(Clone, Copy, Debug, Default)]
struct ReferenceCount {
    all: u32,
    /// References of routes, and of listeners.
    routes: u32,
    sources: [u32; SourceKind::ALL.len()],
}

impl ReferenceCount {
    /// Changes the counts to which a reference by a type and a source belongs.
    fn count(&mut self, user: Kind, source: Option<SourceKind>, change: impl Fn(&mut u32)) {
        change(&mut self.all);
        if ROUTE_KINDS.contains(&user) {
            change(&mut self.routes);
        }
        let place = SourceKind::ALL.iter().position(|other| Some(*other) == source);
        if let Some(count) = place.and_then(|place| self.sources.get_mut(place)) {
            change(count);
        }
    }
}

/// Findings that may end or be softened later, by client.
pub(crate) type OpenFindings = HashMap<Arc<str>, Vec<OpenFinding>>;

/// A finding that may end or be softened later.
#[derive(Clone, Debug)]
pub(crate) struct OpenFinding {
    /// Index among all findings.
    pub(crate) finding: usize,
    pub(crate) stream: usize,
    pub(crate) clusters: Vec<Sym>,
    pub(crate) since: Time,
    /// Whether the finding is a note, because a new route was sent right behind.
    pub(crate) is_softened: bool,
    /// The response that removed the clusters, if one did.
    pub(crate) removed_in: Option<Seq>,
    /// The newest response of the stream, of any type but clusters, that was accepted by then.
    pub(crate) accepted_before: Option<Seq>,
}

/// Whether resources of the type have references that rules use.
pub(crate) fn has_references(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Lds | Kind::Cds | Kind::Rds | Kind::Srds | Kind::Vhds))
}

impl ReferenceGraphs {
    /// Marks the names of all clients' references as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        let graphs = self.clients.values();
        let keys =
            graphs.flat_map(|graph| graph.refs.keys().chain(graph.users.keys()).chain(graph.released.keys()));
        keys.for_each(|(_, name)| used.name(*name));
        for finding in self.windows.values().chain(self.breaks.values()).flatten() {
            used.names(&finding.clusters);
        }
    }

    /// Forgets contents that are not used, and marks the names in the others as used.
    pub(crate) fn retain(&mut self, used: &mut UsedContent) {
        self.refs.retain(|payload, _| used.has_blob(*payload));
        self.bad_directives.retain(|payload| used.has_blob(*payload));
        self.reserved_keys.retain(|payload| used.has_blob(*payload));
        self.with_entries.retain(|payload| used.has_blob(*payload));
        let graphs = self.clients.values().flat_map(|graph| graph.refs.values());
        for reference in self.refs.values().chain(graphs).flat_map(|refs| refs.iter()) {
            used.names(&[reference.name, reference.entry]);
        }
    }

    /// Forgets clients and findings whose streams were dropped.
    pub(crate) fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.clients.retain(|client, _| dropped.nodes.contains(client));
        let references = self.clients.values().flat_map(|graph| graph.refs.values());
        self.size = references.map(|refs| refs.len()).sum();
        for open in [&mut self.windows, &mut self.breaks] {
            open.retain(|_, findings| {
                findings.retain(|finding| dropped.kept.contains(&finding.stream));
                !findings.is_empty()
            });
        }
    }

    pub(crate) fn knows(&self, payload: BlobId) -> bool {
        self.refs.contains_key(&payload)
    }

    /// Returns the number of contents whose references are known.
    pub(crate) fn learned(&self) -> usize {
        self.refs.len()
    }

    /// Forgets all references for good.
    pub(crate) fn give_up(&mut self) {
        self.full = true;
        self.clients.clear();
        self.forget_contents();
    }

    fn forget_contents(&mut self) {
        self.refs.clear();
        self.bad_directives.clear();
        self.reserved_keys.clear();
        self.with_entries.clear();
    }

    /// Remembers the references of a content. Returns whether earlier contents are still known.
    pub(crate) fn learn(&mut self, payload: BlobId, refs: Vec<ResourceRef>) -> bool {
        let room = self.refs.len() < MAX_CONTENTS;
        if !room {
            self.forget_contents();
        }
        self.refs.insert(payload, refs.into());
        room
    }

    /// Returns the references of a content. `None` while they are unknown.
    pub(crate) fn refs(&self, catalog: &Catalog, entry: BlobId) -> Option<ResourceRefs> {
        self.refs.get(&catalog.entry(entry).payload?).cloned()
    }

    /// Whether a resource of the client refers to the child, in any spelling of its name; `None`
    /// while that is unknown.
    pub(crate) fn is_used(&self, catalog: &Catalog, client: &str, (kind, name): (Kind, Sym)) -> Option<bool> {
        if self.full {
            return None;
        }
        let child = (kind, canonical_name(catalog, name));
        Some(self.clients.get(client).is_some_and(|graph| graph.users.contains_key(&child)))
    }

    /// Whether a route or a listener of the client refers to the cluster; `None` while that is
    /// unknown.
    pub(crate) fn is_routed_to(&self, catalog: &Catalog, client: &str, cluster: Sym) -> Option<bool> {
        if self.full {
            return None;
        }
        let cluster = canonical_name(catalog, cluster);
        let users = self.clients.get(client).and_then(|graph| graph.users.get(&(Kind::Cds, cluster)));
        Some(users.is_some_and(|users| users.routes > 0))
    }

    /// Returns the source of the child that all its references state. `None` if they differ or
    /// state none.
    pub(crate) fn source_of(
        &self,
        catalog: &Catalog,
        client: &str,
        (kind, name): (Kind, Sym),
    ) -> Option<SourceKind> {
        let child = (kind, canonical_name(catalog, name));
        let users = self.clients.get(client)?.users.get(&child)?;
        let found = SourceKind::ALL.iter().zip(users.sources).find(|(_, count)| *count == users.all);
        found.map(|(source, _)| *source)
    }

    /// Returns the time at which the child lost its last reference.
    pub(crate) fn released(
        &self,
        catalog: &Catalog,
        client: &str,
        (kind, name): (Kind, Sym),
    ) -> Option<Time> {
        let child = (kind, canonical_name(catalog, name));
        self.clients.get(client)?.released.get(&child).copied()
    }

    /// Replaces the references of a resource of the client; `None` removes the resource.
    pub(crate) fn set(
        &mut self,
        client: &Arc<str>,
        parent: (Kind, Sym),
        refs: Option<ResourceRefs>,
        at: Time,
    ) {
        if self.full {
            return;
        }
        let graph = self.clients.entry(client.clone()).or_default();
        for gone in graph.refs.remove(&parent).iter().flat_map(|refs| refs.iter()) {
            self.size -= 1;
            let Some(users) = graph.users.get_mut(&gone.child()) else { continue };
            users.count(parent.0, gone.source, |count| *count -= 1);
            if users.all == 0 {
                graph.users.remove(&gone.child());
                if graph.released.len() < MAX_RELEASED {
                    graph.released.insert(gone.child(), at);
                }
            }
        }
        let Some(refs) = refs.filter(|refs| !refs.is_empty()) else { return };
        for new in refs.iter() {
            self.size += 1;
            let users = graph.users.entry(new.child()).or_default();
            users.count(parent.0, new.source, |count| *count += 1);
            graph.released.remove(&new.child());
        }
        graph.refs.insert(parent, refs);
        if self.size > MAX_REFERENCES {
            self.full = true;
            self.clients.clear();
        }
    }

    /// Remembers a finding of a client that may change.
    pub(crate) fn open(all: &mut OpenFindings, client: Arc<str>, finding: OpenFinding) {
        let of_client = all.entry(client).or_default();
        if of_client.len() < MAX_OPEN_FINDINGS {
            of_client.push(finding);
        }
    }
}
