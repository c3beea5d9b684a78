//! Updates of a resource that the client does not use (yet): overlays on the version in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::store::{RefusalFact, ResourceFact};
use xdscope_schema::links::Link;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Kind;

use super::{Graph, NodeId, References, is_read};

/// Changed references of an update that are kept.
const MAX_CHANGED_REFERENCES: usize = 64;

/// An update of a resource in a refused push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedUpdate {
    /// The refusal.
    pub refusal: RefusalFact,
    /// The refused content. `None` for a removal, and for content that the client uses although the
    /// push was refused.
    pub content: Option<BlobId>,
    /// References that the update would add or drop, the first 64.
    pub changes: Vec<ChangedReference>,
}

/// An update or the removal of a resource that the client has neither accepted nor refused, while
/// an earlier version is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnansweredUpdate {
    /// The content. `None` for a removal.
    pub content: Option<BlobId>,
    /// References that the update would add or drop, the first 64.
    pub changes: Vec<ChangedReference>,
}

/// A reference that an update would add or drop. The reference is not an edge of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedReference {
    /// Type of the referenced resource.
    pub kind: Kind,
    /// Name of the referenced resource.
    pub name: Arc<str>,
    /// Path of the field in the content of the update, or in the content in force if dropped.
    pub path: Arc<str>,
    /// Whether the update would add the reference.
    pub is_added: bool,
}

impl RefusedUpdate {
    /// Returns the refused update of a resource, without the changed references.
    pub(super) fn from_resource(fact: &ResourceFact) -> Option<Box<RefusedUpdate>> {
        let refusal = fact.refusal.clone()?;
        let content = refusal.content.filter(|content| Some(*content) != fact.content_in_use());
        Some(Box::new(RefusedUpdate { refusal, content, changes: Vec::new() }))
    }
}

impl UnansweredUpdate {
    /// Returns the unanswered update of a resource, without the changed references.
    pub(super) fn from_resource(fact: &ResourceFact) -> Option<Box<UnansweredUpdate>> {
        let is_update = fact.is_unanswered && fact.in_force.is_some();
        let content = if is_update { fact.content } else { None };
        if content.is_none() && !fact.is_removal_unanswered {
            return None;
        }
        Some(Box::new(UnansweredUpdate { content, changes: Vec::new() }))
    }
}

impl Graph {
    /// Notes the references that the refused or unanswered update of a node would add or drop.
    /// `used` are the references in force.
    pub(super) fn note_changes(&mut self, id: NodeId, used: &[Link], known: &References) {
        let Some(node) = self.nodes.get_mut(id).filter(|node| is_read(node.kind)) else { return };
        let is_unanswered = node.refused.is_none();
        let refused = node.refused.as_mut().and_then(|update| Some((update.content?, &mut update.changes)));
        let unanswered = node.unanswered.as_mut();
        let unanswered = unanswered.and_then(|update| Some((update.content?, &mut update.changes)));
        let Some((content, changes)) = refused.or(unanswered) else { return };
        match known.links(content) {
            Some(links) => *changes = ChangedReference::between(used, links),
            None => return self.unread.push(content),
        }
        if is_unanswered {
            let added: Vec<_> = changes.iter().filter(|change| change.is_added).cloned().collect();
            let nodes = added.iter().filter_map(|change| self.find_referenced(change.kind, &change.name));
            let nodes: Vec<NodeId> = nodes.collect();
            self.awaited.extend(nodes);
        }
    }
}

impl ChangedReference {
    /// Returns the references that an update with the references `links` would add or drop.
    fn between(used: &[Link], links: &[Link]) -> Vec<ChangedReference> {
        let targets = |links: &[Link]| -> BTreeSet<(Kind, String)> {
            links.iter().map(|link| (link.kind, link.name.clone())).collect()
        };
        let (before, after) = (targets(used), targets(links));
        let mut seen = BTreeSet::new();
        let mut changes = Vec::new();
        let added = links.iter().map(|link| (link, &before, true));
        let dropped = used.iter().map(|link| (link, &after, false));
        for (link, others, is_added) in added.chain(dropped) {
            let target = (link.kind, link.name.clone());
            if !others.contains(&target) && seen.insert(target) {
                changes.push(ChangedReference {
                    kind: link.kind,
                    name: link.name.as_str().into(),
                    path: link.path.as_str().into(),
                    is_added,
                });
            }
        }
        changes.truncate(MAX_CHANGED_REFERENCES);
        changes
    }
}
