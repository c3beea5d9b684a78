//! `get -o tree`: streams, types, names, and what each resource refers to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;

use xdscope_engine::graph::{self, ChangedReference, Graph, GraphNode, InlineEntry, NodeState, TrafficGap};
use xdscope_engine::nack::{self, Nack};
use xdscope_engine::owners::owners_of_resource;
use xdscope_engine::store::{ResourceFact, ResourceState};
use xdscope_engine::structured::StructuredNames;
use xdscope_present::authority::authority_text;
use xdscope_present::bodies;
use xdscope_present::graph::other_source;
use xdscope_present::report;
use xdscope_present::structured;
use xdscope_schema::FieldNames;
use xdscope_schema::links;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{ApiVersion, Kind, Seq, TypeUrl};
use xdscope_wire::text::{display_safe, shown_name, type_label};
use xdscope_wire::xdstp::is_structured;

use super::get::Get;
use crate::cli::error::CliError;
use crate::cli::output::words::resource_state;
use crate::cli::source::folders::{Item, folders};
use crate::cli::terminal::io::Style;

/// Symbols of the branches.
struct Branches {
    fork: &'static str,
    last: &'static str,
    through: &'static str,
}

const LINES: Branches = Branches { fork: "├─ ", last: "└─ ", through: "│  " };
const ASCII: Branches = Branches { fork: "|- ", last: "`- ", through: "|  " };

pub(crate) fn write(get: &Get<'_>, style: Style, out: &mut dyn Write) -> Result<usize, CliError> {
    let branches = if style.ascii { &ASCII } else { &LINES };
    let mut facts: Vec<ResourceFact> = Vec::new();
    let printed = get.each(&mut |fact| {
        facts.push(fact);
        Ok(())
    })?;
    let streams = facts.chunk_by(|a, b| a.stream == b.stream);
    let several = facts.first().zip(facts.last()).is_some_and(|(a, b)| a.stream != b.stream);
    for stream in streams {
        let Some(first) = stream.first() else { continue };
        let graph = &*get.graphs.complete(first.stream);
        let structured = get.structured_names();
        let tree = Tree { get, graph, branches, style, structured, nacks: RefCell::default() };
        if several {
            let node = first.node.as_deref().unwrap_or("-");
            writeln!(out, "{} #{}", display_safe(node), first.stream.0)?;
        }
        for of_type in stream.chunk_by(|a, b| a.type_url == b.type_url) {
            let Some(first) = of_type.first() else { continue };
            let resources = of_type.iter().filter(|fact| !fact.is_glob()).count();
            writeln!(out, "{}  {resources}", type_label(first.type_url.as_str()))?;
            tree.items(&folders(of_type), "", out)?;
        }
    }
    Ok(printed)
}

/// The resources of one client as a tree.
struct Tree<'a> {
    get: &'a Get<'a>,
    graph: &'a Graph,
    branches: &'a Branches,
    style: Style,
    structured: StructuredNames<'a>,
    /// The parsed texts of NACKs by their numbers.
    nacks: RefCell<HashMap<Seq, Option<Nack>>>,
}

impl Tree<'_> {
    /// Writes folders and resources. `lead` is the beginning of each line.
    fn items(&self, items: &[Item<'_>], lead: &str, out: &mut dyn Write) -> Result<(), CliError> {
        for (i, item) in items.iter().enumerate() {
            let is_last = i + 1 == items.len();
            match item {
                Item::Folder(name, below) => {
                    let fork = if is_last { self.branches.last } else { self.branches.fork };
                    writeln!(out, "{lead}{fork}{}", display_safe(name))?;
                    let lead = format!("{lead}{}", if is_last { "   " } else { self.branches.through });
                    self.items(below, &lead, out)?;
                }
                Item::Resource(name, fact) => self.resource((name, fact), is_last, lead, out)?,
            }
        }
        Ok(())
    }

    /// Writes a resource, and below it the resources that it refers to.
    fn resource(
        &self,
        (name, fact): (&str, &ResourceFact),
        last: bool,
        lead: &str,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let branches = self.branches;
        let version = fact.standing().map_or("-", |version| version);
        let state = self.with_consequences(fact);
        let line = format!("{}  {version}  {state}", shown_name(name));
        writeln!(out, "{lead}{}{}", if last { branches.last } else { branches.fork }, display_safe(&line))?;
        // Refused and unanswered content are overlays on the content in use.
        let node = self.node(fact);
        let (links, entries) = self.references(fact, node.map_or(fact.content_in_use(), |node| node.content));
        let earlier =
            node.and_then(GraphNode::earlier_content).map(|content| self.references(fact, Some(content)).0);
        let is_dropped = |link: &links::Link| {
            links.iter().all(|known| (known.kind, &known.name) != (link.kind, &link.name))
        };
        let earlier = earlier.into_iter().flatten().filter(is_dropped);
        let earlier =
            earlier.map(|link| format!("{}, used until the update has warmed", self.link_line(fact, &link)));
        let entries = entries.iter().map(|entry| self.entry_line(fact, entry));
        let lines = entries.chain(links.iter().map(|link| self.link_line(fact, link)));
        let lines: Vec<String> = lines.chain(earlier).collect();
        let update = self.update(fact);
        let lead = format!("{lead}{}", if last { "   " } else { branches.through });
        let is_last = |at: usize| at + 1 == update.len() + lines.len();
        for (at, line) in update.iter().chain(&lines).enumerate() {
            let fork = if is_last(at) { branches.last } else { branches.fork };
            writeln!(out, "{lead}{fork}{}", display_safe(line))?;
        }
        Ok(())
    }
}

impl Tree<'_> {
    /// Returns the references of a content of a resource, and its inline entries.
    fn references(
        &self,
        fact: &ResourceFact,
        content: Option<BlobId>,
    ) -> (Vec<links::Link>, Vec<InlineEntry>) {
        let Get { store, schema, .. } = *self.get;
        let used = ResourceFact { content, ..fact.clone() };
        let body = bodies::resource(store, schema, &used, FieldNames::Original);
        let any = content.and_then(|id| store.catalog().bytes(id));
        let both = body.zip(any);
        let both = both
            .map(|(body, any)| (graph::links_of(schema, &any, &body), graph::inline_entries(&any, &body)));
        both.unwrap_or_default()
    }

    /// Describes a resource that another one refers to: path of the field, type, name and state.
    fn link_line(&self, fact: &ResourceFact, link: &links::Link) -> String {
        let arrow = self.style.pick("→", "->");
        let url = link.kind.type_url(ApiVersion::V3);
        let target = url.map(|url| known(self.get, self.graph, fact, &url, link)).unwrap_or_default();
        let target = format!("{target}{}", self.gap(fact, link));
        let source = link.other_source.as_ref().map(other_source).unwrap_or_default();
        let unseen = state(self.graph, link.kind, &link.name).filter(|state| **state == NodeState::Elsewhere);
        let unseen = unseen.map(|state| state.word().to_owned()).unwrap_or_default();
        let authority = link.authority.as_ref().map(authority_text).unwrap_or_default();
        let parts: Vec<String> =
            [target, source, unseen, authority].into_iter().filter(|text| !text.is_empty()).collect();
        let name = shown_name(&link.name);
        format!("{} {arrow} {} {name}  {}", link.path, link.kind.label(), parts.join(", "))
    }

    /// Describes an inline entry of a list collection.
    fn entry_line(&self, fact: &ResourceFact, entry: &InlineEntry) -> String {
        let arrow = self.style.pick("→", "->");
        let (label, name) = (type_label(fact.type_url.as_str()), entry.name_in(&fact.name));
        format!("{} {arrow} {label} {name}  {}", entry.path, entry_text(Some(&entry.version)))
    }

    /// Describes a resource, what it waits for, its members, and the expiry of its certificate.
    fn with_consequences(&self, fact: &ResourceFact) -> String {
        let Tree { get, graph, .. } = *self;
        let mut text = with_graph(graph, fact);
        if let Some(members) = self.structured.members(fact) {
            text.push_str(&format!(", members {}", structured::members(&members)));
        }
        if let Some(warming) = get.graphs.warming(fact) {
            text.push_str(&format!(": {}", report::warming(warming, get.now())));
        }
        let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
        let node = kind.and_then(|kind| graph.get(graph.find(kind, &fact.name)?));
        let owners = owners_of_resource(get.store.catalog(), fact);
        if !owners.is_empty() {
            text.push_str(&format!(", owner {}", report::owners(&owners)));
        }
        if let Some(certificate) = node.and_then(|node| node.certificate.as_deref()) {
            let now = get.store.clock().unix_seconds(get.store.now());
            text.push_str(&format!(", {}", report::certificate_expiry(certificate, now).0));
        }
        text
    }

    /// Says since when requests fail that a route in force sends to a cluster.
    fn gap(&self, fact: &ResourceFact, link: &links::Link) -> String {
        let graph = self.graph;
        let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
        let route = kind.and_then(|kind| graph.find(kind, &fact.name));
        let cluster = graph.find_referenced(link.kind, &link.name);
        let is_gap = |gap: &&TrafficGap| Some(gap.route) == route && Some(gap.cluster) == cluster;
        let gap = graph.gaps.iter().find(is_gap);
        gap.map(|gap| format!(", {}", report::gap_duration(gap, self.get.now()))).unwrap_or_default()
    }

    /// Returns the node of a resource, unless it is that of another stream.
    fn node(&self, fact: &ResourceFact) -> Option<&GraphNode> {
        let (kind, _) = Kind::of_type_url(fact.type_url.as_str())?;
        let node = self.graph.get(self.graph.find(kind, &fact.name)?)?;
        Some(node).filter(|node| node.stream == Some(fact.stream))
    }

    /// Describes the refused or unanswered update of a resource: version, reason, and changed
    /// references.
    fn update(&self, fact: &ResourceFact) -> Vec<String> {
        let Some(node) = self.node(fact) else { return Vec::new() };
        let arrow = self.style.pick("→", "->");
        let changed = |changes: &[ChangedReference]| -> Vec<String> {
            changes.iter().map(|change| report::changed_reference(change, arrow)).collect()
        };
        if let Some(update) = &node.unanswered {
            let mut lines = vec![report::unanswered_update(node)];
            lines.extend(changed(&update.changes));
            return lines;
        }
        let Some(update) = &node.refused else { return Vec::new() };
        let mut nacks = self.nacks.borrow_mut();
        let n = update.refusal.nack;
        let nack = nacks.entry(n).or_insert_with(|| nack::of_message(self.get.store, self.get.schema, n));
        let mut lines = vec![report::refused_update(update, nack.as_ref(), &fact.name)];
        lines.extend(changed(&update.changes));
        lines
    }
}

/// Describes a resource that `user` refers to, as the stream knows it.
fn known(get: &Get<'_>, graph: &Graph, user: &ResourceFact, url: &TypeUrl, link: &links::Link) -> String {
    if let Some(entry) = graph.entry(link.kind, &link.name) {
        return match entry.state {
            NodeState::Dangling => "dangling: not in the list".to_owned(),
            _ => entry_text(entry.version.as_deref()),
        };
    }
    if link.name.ends_with('*') {
        let is_known = |node: &&GraphNode| {
            let is_absent = matches!(
                node.state,
                NodeState::Waiting { again: None, .. }
                    | NodeState::Missing { again: None, .. }
                    | NodeState::Gone(_)
            );
            let is_sent = node.stream.is_some() && !is_absent;
            node.kind == link.kind && is_sent && link.matches_name(&node.name)
        };
        return format!("{} known", graph.nodes.iter().filter(is_known).count());
    }
    // The graph has names without directives.
    let directives = link.name.split_once('#').filter(|_| is_structured(&link.name));
    let name = directives.map_or(link.name.as_str(), |(name, _)| name);
    if let Some(state @ NodeState::Replaced) = state(graph, link.kind, name) {
        return state.word().to_owned();
    }
    // The client may have another stream for the type.
    let on_other = || {
        let node = graph.find_referenced(link.kind, &link.name).and_then(|id| graph.get(id))?;
        get.store.resource(node.stream?, node.type_url.as_ref()?, &node.name)
    };
    let found = graph.find_referenced(link.kind, &link.name);
    let of_servers: Vec<String> = found.into_iter().flat_map(|id| graph.beside(id)).map(at_server).collect();
    if !of_servers.is_empty() {
        return of_servers.join(", ");
    }
    match get.store.resource(user.stream, url, &link.name).or_else(on_other) {
        Some(fact) => with_graph(graph, &fact),
        None if !needs_references(graph, user) => "not needed".to_owned(),
        None => match state(graph, link.kind, &link.name) {
            // The source follows.
            Some(NodeState::Elsewhere | NodeState::InFile) => String::new(),
            Some(state @ (NodeState::NotDumped | NodeState::Static)) => state.word().to_owned(),
            Some(NodeState::Dangling) => format!("dangling: not in {}", link.kind.label()),
            _ => "neither requested nor sent".to_owned(),
        },
    }
}

/// Describes a resource whose name several servers send: `present at cp1:18000`.
fn at_server(node: &GraphNode) -> String {
    let state = match node.state {
        NodeState::Ready => ResourceState::Present.word(),
        _ => node.state.word(),
    };
    format!("{state} at {}", node.server.as_deref().unwrap_or_default())
}

/// Describes an inline entry of a list collection: `inline, version 8.5.4`.
fn entry_text(version: Option<&str>) -> String {
    match version.filter(|version| !version.is_empty()) {
        Some(version) => format!("inline, version {version}"),
        None => "inline".to_owned(),
    }
}

/// Whether the client has a resource, or follows it to another one.
fn needs_references(graph: &Graph, fact: &ResourceFact) -> bool {
    let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
    let state = kind.and_then(|kind| state(graph, kind, &fact.name));
    state.is_none_or(|state| state.is_present() || *state == NodeState::Gone(ResourceState::Redirected))
}

fn state<'a>(graph: &'a Graph, kind: Kind, name: &str) -> Option<&'a NodeState> {
    graph.find(kind, name).and_then(|id| graph.get(id)).map(|node| &node.state)
}

/// Describes a resource, and the consequences of those that it refers to.
fn with_graph(graph: &Graph, fact: &ResourceFact) -> String {
    let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
    match kind.and_then(|kind| state(graph, kind, &fact.name)) {
        Some(NodeState::Warming { .. }) => format!("{}, warming", resource_state(fact).0),
        Some(NodeState::Orphan) => ResourceState::Orphan.word().to_owned(),
        _ => resource_state(fact).0,
    }
}
