//! Edges to `xdstp` names with directives, and to the inline entries of list collections.

use std::collections::HashMap;
use std::sync::Arc;

use crate::structured::MAX_CHAIN;
use xdscope_schema::links::Link;
use xdscope_wire::event::Kind;
use xdscope_wire::xdstp::is_structured;
use xdscope_wire::xdstp::lists::{alternative, selected_entry};

use super::redirect::entry_name;
use super::{Graph, GraphNode, InlineEntry, NodeId, NodeState, References, has_orphans, is_collection};

impl Graph {
    /// Connects a node with everything that its content refers to.
    ///
    /// The references of an inline entry begin at the entry.
    pub(super) fn connect_all(&mut self, from: NodeId, links: &[Link], known: &References) {
        let entries = self.add_entries(from, known);
        for link in links {
            let entry = link.path.split_once(".inline_entry.").and_then(|(entry, _)| entries.get(entry));
            self.connect(entry.copied().unwrap_or(from), link, known);
        }
    }

    /// Adds the inline entries of a list, and returns their nodes by the paths of the entries.
    fn add_entries(&mut self, list: NodeId, known: &References) -> HashMap<String, NodeId> {
        let node = self.nodes.get(list);
        let Some((kind, name, entries)) = node.and_then(|node| {
            let facts = known.0.get(&node.content?).filter(|facts| !facts.entries.is_empty())?;
            Some((node.kind, node.name.clone(), facts.entries.clone()))
        }) else {
            return HashMap::new();
        };
        let mut nodes = HashMap::new();
        for entry in entries.iter() {
            let id = self.entry_node(list, kind, &entry.name_in(&name));
            self.deliver_entry(id, list, entry);
            self.add_edge(list, id, &Arc::from(entry.path.as_str()), None);
            let at = entry.path.split_once('.').map_or(&*entry.path, |(at, _)| at);
            nodes.insert(at.to_owned(), id);
        }
        nodes
    }

    /// Returns the node of an inline entry. The list lacks the entry until it is delivered.
    fn entry_node(&mut self, list: NodeId, kind: Kind, name: &str) -> NodeId {
        let id = self.find(kind, name).unwrap_or_else(|| self.add_bare(kind, name, NodeState::Dangling));
        if let Some(node) = self.nodes.get_mut(id) {
            node.list = Some(list);
        }
        id
    }

    /// Gives an entry the state of its list.
    fn deliver_entry(&mut self, id: NodeId, list: NodeId, entry: &InlineEntry) {
        let state = match self.nodes.get(list).map(|list| &list.state) {
            Some(NodeState::Sent { in_force: false }) => NodeState::Sent { in_force: false },
            _ => NodeState::Ready,
        };
        if let Some(node) = self.nodes.get_mut(id) {
            node.state = state;
            node.version = Some(Arc::from(entry.version.as_str()));
        }
    }

    /// Connects a node with what a link names, maybe by an entry of a list.
    fn connect(&mut self, from: NodeId, link: &Link, known: &References) {
        match link.name.split_once('#') {
            Some((name, _)) if is_structured(&link.name) => {
                self.connect_with_directives(from, link, name, known);
            }
            _ => self.connect_named(from, link),
        }
    }

    /// Connects a node with an `xdstp` name without its directives, or with the inline entry that
    /// the name selects and the list of the entry, and with those of its alternatives that the
    /// client has or requests (docs/protocol.md#k-15, docs/protocol.md#k-29).
    fn connect_with_directives(&mut self, from: NodeId, link: &Link, name: &str, known: &References) {
        match self.selected_entry(link, name, known) {
            Some(entry) => {
                let path = Arc::from(link.path.as_str());
                self.add_edge(from, entry, &path, link.other_source.as_ref());
                // Listeners need no reference, and a list of listeners is a root of the tree.
                if has_orphans(link.kind)
                    && let Some(list) = self.nodes.get(entry).and_then(|entry| entry.list)
                {
                    self.add_edge(from, list, &path, link.other_source.as_ref());
                }
            }
            None => self.connect_named(from, &Link { name: name.to_owned(), ..link.clone() }),
        }
        let mut next = alternative(&link.name);
        for _ in 0..MAX_CHAIN {
            let Some(uri) = next else { return };
            let other = uri.split('#').next().unwrap_or_default().to_owned();
            if let Some(found) = self.find(link.kind, &other) {
                if self.nodes.get(found).is_some_and(|node| node.state.is_present())
                    && let Some(first) = self.find_referenced(link.kind, name)
                    && let Some(first) = self.nodes.get_mut(first)
                    && matches!(first.state, NodeState::NotAsked | NodeState::Waiting { again: None, .. })
                {
                    first.state = NodeState::Replaced;
                }
                self.connect_named(from, &Link { name: other, ..link.clone() });
            }
            next = alternative(&uri);
        }
    }

    /// Returns the node of the entry that a reference selects, if the client has the list.
    fn selected_entry(&mut self, link: &Link, list: &str, known: &References) -> Option<NodeId> {
        let entry = selected_entry(&link.name)?;
        let list = self.find_referenced(link.kind, list)?;
        let node = self.nodes.get(list)?;
        if !is_collection(&node.name) || !node.state.is_present() {
            return None;
        }
        known.0.get(&node.content?)?;
        let name = entry_name(&node.name, &entry);
        Some(self.entry_node(list, link.kind, &name))
    }

    /// Returns the inline entry that an `xdstp` name selects in a list that the client has.
    pub fn entry(&self, kind: Kind, uri: &str) -> Option<&GraphNode> {
        let list = self.get(self.find_referenced(kind, uri.split_once('#')?.0)?)?;
        self.get(self.find(kind, &entry_name(&list.name, &selected_entry(uri)?))?)
    }
}
