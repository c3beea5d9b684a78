//! The graph of a client's resources and their states.
//!
//! Shows listeners, routes, clusters, endpoints and secrets.
//!
//! Nodes are the resources on the client's streams and the resources that they refer to. Edges are
//! the references that [`xdscope_schema::links`] finds in the content of each resource that the
//! client uses: in force, or sent for the first time and not yet answered. Refused content, and
//! content without a verdict, are overlays: a node knows such an update and the references that the
//! update would change. The caller caches the references of each content in [`References`] and
//! builds the graph in steps, so that large graphs do not block the screen.

#![warn(missing_docs)]

mod build;
mod gaps;
mod lists;
mod redirect;
mod refused;
mod servers;
mod state;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::owners::owners_of_content;
use crate::store::{PendingRequest, ResourceFact, ResourceState, Store, WarmingFact};
use xdscope_schema::links::{Link, OtherSource, fetches_clusters};
use xdscope_schema::owners::Owner;
use xdscope_schema::{Schema, certificate};
use xdscope_wire::Certificate;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{ApiVersion, Kind, StreamId, TypeUrl};
use xdscope_wire::xdstp::{is_structured, resource_type, respelled};

pub use build::GraphBuilder;
pub use gaps::TrafficGap;
pub use redirect::{InlineEntry, inline_entries, lacks_entry, links_of};
pub use refused::{ChangedReference, RefusedUpdate, UnansweredUpdate};
pub use state::{NodeState, PendingStates, has_orphans};
pub use walk::{TreeRow, TreeRowKind, TreeView};

/// Times that contents are read: those of the nodes, then earlier ones of routes.
const MAX_READINGS: usize = 8;

/// Index of a node in its graph.
pub type NodeId = usize;

/// A resource that was sent or requested, or that another resource refers to.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// Type of the resource.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Arc<str>,
    /// State of the resource.
    pub state: NodeState,
    /// The newest version that was sent.
    pub version: Option<Arc<str>>,
    /// Whether the newest content cannot be decoded as its type.
    pub is_unreadable: bool,
    /// The version that the client uses. `None` if nothing is in force.
    pub in_force: Option<Arc<str>>,
    /// The stream of the resource. `None` if only referred to.
    pub stream: Option<StreamId>,
    /// Address of the server, if the client gets resources of this name from several servers.
    pub server: Option<Arc<str>>,
    /// Type URL of the resource.
    pub type_url: Option<TypeUrl>,
    /// The content that the client uses: in force, or sent for the first time and not yet answered;
    /// that of the update if the node warms.
    pub content: Option<BlobId>,
    /// The list collection of an inline entry (docs/protocol.md#k-14).
    pub list: Option<NodeId>,
    /// The update that the client refused, or that is in a refused push.
    pub refused: Option<Box<RefusedUpdate>>,
    /// The update that the client has neither accepted nor refused, unless the node warms.
    pub unanswered: Option<Box<UnansweredUpdate>>,
    /// Referenced nodes without duplicates, in the order of the fields, with the path of the field.
    pub uses: Vec<(NodeId, Arc<str>)>,
    /// Nodes that refer to this node.
    pub users: Vec<NodeId>,
    /// The config source from which the client gets the resource, if all references state one apart
    /// from the ADS stream. The first of several.
    pub other_source: Option<OtherSource>,
    /// The resources that the node waits for, if it warms.
    pub warming: Option<Box<WarmingFact>>,
    /// The certificate of a secret that expires first.
    pub certificate: Option<Arc<Certificate>>,
    /// The Kubernetes objects that the content was made from, of types with references.
    pub owners: Arc<[Owner]>,
    /// Whether the node or a node below has a problem.
    pub is_troubled: bool,
    /// The pending states of the node and the nodes below.
    pub pending: PendingStates,
}

impl GraphNode {
    /// Whether the resource is present and unreferenced, although resources of its type need a
    /// reference.
    pub fn is_orphan(&self) -> bool {
        self.users.is_empty() && !matches!(self.kind, Kind::Lds | Kind::Rtds) && self.state.is_present()
    }

    /// Whether the node has a problem.
    pub fn is_problem(&self) -> bool {
        self.state.is_problem() && !self.is_kept()
    }

    /// Whether the client keeps the resource although the server has removed it. An Envoy ignores
    /// the removal of such types.
    pub fn is_kept(&self) -> bool {
        let has_no_removal = matches!(self.kind, Kind::Eds | Kind::Rds | Kind::Sds);
        has_no_removal && self.state == NodeState::Gone(ResourceState::Removed)
    }

    /// Returns the content that stays in use while the update of the node warms, if it differs.
    pub fn earlier_content(&self) -> Option<BlobId> {
        self.earlier_of(self.warming.as_deref()?)
    }

    fn earlier_of(&self, warming: &WarmingFact) -> Option<BlobId> {
        warming.earlier.filter(|content| Some(*content) != self.content)
    }
}

/// References, certificate and owners of a content.
#[derive(Clone, Debug)]
struct ContentFacts {
    links: Arc<[Link]>,
    /// The inline entries of a list collection.
    entries: Arc<[InlineEntry]>,
    certificate: Option<Arc<Certificate>>,
    owners: Arc<[Owner]>,
    /// Whether Envoy fetches unknown clusters on demand because of the content.
    fetches_clusters: bool,
}

/// A cache of references, certificates and owners by content.
#[derive(Clone, Debug, Default)]
pub struct References(HashMap<BlobId, ContentFacts>);

impl References {
    /// Returns the number of contents in the cache.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks up the references of contents, such as those in [`Graph::unread`].
    pub fn read(&mut self, store: &Store, schema: &Schema, contents: &[BlobId]) {
        for id in contents {
            let bytes = store.catalog().bytes(*id);
            let body = bytes.as_ref().map(|bytes| schema.any_to_json(bytes));
            let links = match (&bytes, &body) {
                (Some(bytes), Some(body)) => links_of(schema, bytes, body),
                _ => Vec::new(),
            };
            let entries = bytes.as_ref().zip(body.as_ref());
            let entries = entries.map_or_else(Vec::new, |(bytes, body)| inline_entries(bytes, body));
            let certificate = body.as_ref().and_then(certificate::first_to_expire).map(Arc::new);
            let fetches_clusters = bytes.as_deref().is_some_and(fetches_clusters);
            let owners = owners_of_content(store.catalog(), *id).into();
            let (links, entries) = (links.into(), entries.into());
            self.0.insert(*id, ContentFacts { links, entries, certificate, owners, fetches_clusters });
        }
    }

    /// Returns the references of a content, if known.
    fn links(&self, content: BlobId) -> Option<&Arc<[Link]>> {
        self.0.get(&content).map(|facts| &facts.links)
    }
}

/// The graph of one client.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The nodes, indexed by [`NodeId`].
    pub nodes: Vec<GraphNode>,
    by_name: HashMap<(Kind, Arc<str>), NodeId>,
    /// All nodes of a name that the client gets from several servers, each on a stream of its own.
    by_server: HashMap<(Kind, Arc<str>), Vec<NodeId>>,
    /// Addresses of the servers of the streams.
    servers: HashMap<StreamId, Arc<str>>,
    /// Nodes by the canonical form of their structured names, if it differs.
    by_spelling: HashMap<(Kind, Arc<str>), NodeId>,
    /// Nodes by their aliases (docs/protocol.md#f-30).
    by_alias: HashMap<(Kind, Arc<str>), NodeId>,
    /// Routes in force to clusters that the client cannot use.
    pub gaps: Vec<TrafficGap>,
    /// Contents that are not in the cache. The graph lacks their edges and certificates.
    pub unread: Vec<BlobId>,
    /// Types that were sent to or requested by the client.
    sent: HashSet<Kind>,
    /// Nodes with a filter with which the client fetches unknown clusters on demand.
    fetching: HashSet<NodeId>,
    /// Whether the client may have clusters from before the recording.
    has_unseen_clusters: bool,
    /// Whether the graph is of the dump of a client, which has no requests.
    is_dump: bool,
    /// The clusters of the client that are not among the resources of its dump, if all are known.
    other_clusters: Option<HashSet<String>>,
    /// The resources that resources in use of a dump refer to, and that the client lacks.
    missing: HashSet<(Kind, Arc<str>)>,
    /// Types of which the client may have resources that were not recorded.
    unseen: HashSet<Kind>,
    /// Nodes to which an update without a verdict refers: they are no orphans.
    awaited: HashSet<NodeId>,
    /// The warming resources, until the nodes have them.
    warming: HashMap<(Kind, Arc<str>), Box<WarmingFact>>,
    /// Number of present resources by type.
    counts: HashMap<Kind, u64>,
    /// Nodes that have a problem themselves.
    problems: Vec<NodeId>,
    /// Listeners, the roots of the tree.
    roots: Vec<NodeId>,
    /// Other nodes without references to them.
    unreferenced: Vec<NodeId>,
}

/// Returns the open streams of a stream's client, or the stream itself if closed.
///
/// A client may use a separate stream for each type.
pub fn streams_of(store: &Store, stream: StreamId) -> Vec<StreamId> {
    store.streams_of_client(stream)
}

/// Returns a hash that changes whenever the graph of these streams may have changed.
pub fn fingerprint(store: &Store, streams: &[StreamId]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    for fact in streams.iter().flat_map(|stream| store.summaries_of(*stream)) {
        let owed = (fact.missing, fact.overdue, fact.owed_again);
        let counts = (owed, fact.names, fact.resources, fact.refused);
        (fact.stream, &fact.type_url, fact.state, counts).hash(&mut hasher);
        store.mark(fact.stream, &fact.type_url).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether a resource is a list collection, whose entries may be locators.
fn is_collection(name: &str) -> bool {
    is_structured(name) && resource_type(name).is_some_and(|kind| kind.ends_with("Collection"))
}

/// Whether resources of this type refer to other resources, or have certificates.
fn is_read(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Lds | Rds | Srds | Vhds | Cds | Ecds | Sds)
}

impl Graph {
    /// Builds the complete graph of these streams.
    pub fn of(store: &Store, schema: &Schema, streams: &[StreamId]) -> Graph {
        let mut known = References::default();
        let mut graph = Graph::build(store, streams, &mut known);
        for _ in 0..MAX_READINGS {
            if graph.unread.is_empty() {
                break;
            }
            known.read(store, schema, &graph.unread);
            graph = Graph::build(store, streams, &mut known);
        }
        graph
    }

    /// Builds the graph of these streams with the cached references. Drops unused references from
    /// the cache.
    pub fn build(store: &Store, streams: &[StreamId], known: &mut References) -> Graph {
        let mut building = GraphBuilder::new(store, streams);
        while !building.step(store, known, usize::MAX) {}
        building.finish().0
    }

    /// Adds the node of a resource, or merges it with that of another stream.
    fn add(&mut self, fact: ResourceFact, request: Option<PendingRequest>) {
        let Some((kind, _)) = Kind::of_type_url(fact.type_url.as_str()) else { return };
        // The client works with new content that warms, although it may withhold its verdict. Of an
        // update the content in force stays in use meanwhile.
        let is_update = fact.in_force.as_ref().is_some_and(|known| known.content.is_some());
        let key = (kind, fact.name.clone());
        let warms = fact.refusal.is_none() && !is_update && self.warming.contains_key(&key);
        let aliases = fact.aliases.clone();
        let node = GraphNode {
            kind,
            state: NodeState::from_resource(&fact, request),
            content: if warms { fact.content } else { fact.content_in_use() },
            unanswered: if warms { None } else { UnansweredUpdate::from_resource(&fact) },
            refused: RefusedUpdate::from_resource(&fact),
            is_unreadable: fact.is_unreadable,
            version: fact.standing().cloned(),
            in_force: fact.in_force.map(|known| known.version),
            stream: Some(fact.stream),
            server: None,
            type_url: Some(fact.type_url),
            name: fact.name,
            list: None,
            uses: Vec::new(),
            users: Vec::new(),
            other_source: None,
            warming: None,
            certificate: None,
            owners: Arc::default(),
            is_troubled: false,
            pending: PendingStates::default(),
        };
        self.sent.insert(kind);
        let key = (kind, node.name.clone());
        if node.state.is_present() {
            let id = self.by_name.get(&key).copied().unwrap_or(self.nodes.len());
            self.by_alias.extend(aliases.into_iter().map(|alias| ((kind, alias), id)));
        }
        if let Some(known) = self.by_name.get(&key).copied().filter(|id| self.is_of_other_server(*id, &node))
        {
            return self.add_beside(known, node);
        }
        match self.by_name.get(&key).and_then(|id| self.nodes.get_mut(*id)) {
            // Among several streams, prefer one on which the resource is present.
            Some(other) if !other.state.is_present() && node.state.is_present() => {
                *other = GraphNode { server: other.server.take(), ..node };
            }
            Some(_) => {}
            None => {
                // References may spell a structured name in another way (docs/protocol.md#k-08).
                if let Some(canonical) = respelled(&node.name) {
                    self.by_spelling.insert((kind, canonical.into()), self.nodes.len());
                }
                self.by_name.insert(key, self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    /// Returns the references of the content of a node, if the content was read.
    fn references_of(&mut self, id: NodeId, known: &References) -> Option<Arc<[Link]>> {
        let is_read = |node: &&mut GraphNode| match node.state {
            NodeState::Gone(ResourceState::Redirected) => true,
            _ => node.state.is_present() && (is_read(node.kind) || is_collection(&node.name)),
        };
        let node = self.nodes.get_mut(id).filter(is_read)?;
        let content = node.content?;
        if let Some(facts) = known.0.get(&content) {
            node.certificate.clone_from(&facts.certificate);
            node.owners.clone_from(&facts.owners);
            if facts.fetches_clusters {
                self.fetching.insert(id);
            }
            return Some(facts.links.clone());
        }
        self.unread.push(content);
        None
    }

    /// Whether the client fetches unknown clusters of a node when a request needs them: the node,
    /// or one above it, has the filter.
    fn fetches_clusters(&self, id: NodeId) -> bool {
        if self.fetching.is_empty() {
            return false;
        }
        let (mut queue, mut seen) = (vec![id], HashSet::from([id]));
        while let Some(id) = queue.pop() {
            if self.fetching.contains(&id) {
                return true;
            }
            let users = self.nodes.get(id).into_iter().flat_map(|node| node.users.iter().copied());
            queue.extend(users.filter(|user| seen.insert(*user)));
        }
        false
    }

    /// Returns the references of the content that stays in use while the update of a node warms.
    fn earlier_references(&mut self, id: NodeId, known: &References) -> Option<Arc<[Link]>> {
        let node = self.nodes.get(id)?;
        let warming = self.warming.get(&(node.kind, node.name.clone()))?;
        let content = node.earlier_of(warming)?;
        match known.links(content) {
            Some(links) => Some(links.clone()),
            None => {
                self.unread.push(content);
                None
            }
        }
    }

    /// Connects a node with the targets of a name. A prefix may have several.
    fn connect_named(&mut self, from: NodeId, link: &Link) {
        let path: Arc<str> = Arc::from(link.path.as_str());
        let is_prefix = link.name.ends_with('*') && matches!(link.kind, Kind::Vhds | Kind::Srds);
        let targets: Vec<NodeId> = if is_prefix {
            let matches = |node: &GraphNode| node.kind == link.kind && link.matches_name(&node.name);
            self.nodes.iter().enumerate().filter(|(_, node)| matches(node)).map(|(id, _)| id).collect()
        } else {
            let found = self.find_or_add(link);
            self.of_all_servers(found)
        };
        for to in targets {
            self.add_edge(from, to, &path, link.other_source.as_ref());
        }
    }

    /// Adds a reference from one node to another, once.
    fn add_edge(&mut self, from: NodeId, to: NodeId, path: &Arc<str>, source: Option<&OtherSource>) {
        let Some(node) = self.nodes.get_mut(from) else { return };
        if node.uses.iter().any(|(known, _)| *known == to) || to == from {
            return;
        }
        node.uses.push((to, path.clone()));
        if let Some(target) = self.nodes.get_mut(to) {
            let is_first = target.users.is_empty();
            target.other_source = match (is_first, source, target.other_source.take()) {
                (true, stated, _) => stated.cloned(),
                (false, Some(_), known) => known,
                (false, None, _) => None,
            };
            target.users.push(from);
        }
    }

    fn find_or_add(&mut self, link: &Link) -> NodeId {
        let state = if self.is_dump { NodeState::NotDumped } else { NodeState::NotAsked };
        self.find_referenced(link.kind, &link.name)
            .unwrap_or_else(|| self.add_bare(link.kind, &link.name, state))
    }

    /// Returns the id of the resource that a reference names, maybe in another spelling or by an
    /// alias.
    pub fn find_referenced(&self, kind: Kind, name: &str) -> Option<NodeId> {
        let by_alias = || self.by_alias.get(&(kind, Arc::from(name))).copied();
        self.find(kind, name).or_else(|| self.spelled(kind, name)).or_else(by_alias)
    }

    /// Adds a resource that no stream has.
    fn add_bare(&mut self, kind: Kind, name: &str, state: NodeState) -> NodeId {
        let id = self.nodes.len();
        let name: Arc<str> = Arc::from(name);
        self.by_name.insert((kind, name.clone()), id);
        self.nodes.push(GraphNode {
            kind,
            name,
            state,
            is_unreadable: false,
            version: None,
            in_force: None,
            stream: None,
            server: None,
            type_url: kind.type_url(ApiVersion::V3),
            content: None,
            list: None,
            refused: None,
            unanswered: None,
            uses: Vec::new(),
            users: Vec::new(),
            other_source: None,
            warming: None,
            certificate: None,
            owners: Arc::default(),
            is_troubled: false,
            pending: PendingStates::default(),
        });
        id
    }

    /// Returns a node by id.
    pub fn get(&self, id: NodeId) -> Option<&GraphNode> {
        self.nodes.get(id)
    }

    /// Returns the id of a resource.
    pub fn find(&self, kind: Kind, name: &str) -> Option<NodeId> {
        self.by_name.get(&(kind, Arc::from(name))).copied()
    }

    /// Returns the id of a resource whose structured name is spelled in another way.
    fn spelled(&self, kind: Kind, name: &str) -> Option<NodeId> {
        if !is_structured(name) {
            return None;
        }
        let canonical: Arc<str> = respelled(name).map_or_else(|| Arc::from(name), Arc::from);
        let key = (kind, canonical);
        self.by_name.get(&key).or_else(|| self.by_spelling.get(&key)).copied()
    }

    /// Returns the number of present resources of a type.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// Returns the number of present resources of all types.
    pub fn count_all(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of nodes in pending states of one kind.
    pub fn count_pending(&self, is_one: fn(PendingStates) -> bool) -> u64 {
        self.nodes.iter().filter(|node| is_one(node.state.pending())).count() as u64
    }

    /// Returns the nodes that have a problem themselves.
    pub fn problems(&self) -> impl Iterator<Item = &GraphNode> {
        self.problems.iter().filter_map(|id| self.nodes.get(*id))
    }

    /// Returns the present resources that lack a reference.
    pub fn orphans(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_orphan()).map(|(id, _)| id)
    }
}
