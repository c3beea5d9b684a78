use std::collections::HashSet;
use std::sync::Arc;

use crate::nack::RestUse;
use crate::store::{AbsentBy, OwedAgainFact, PendingRequest, ResourceFact, ResourceState};
use xdscope_schema::links::{SourceKind, usual_referring_kinds};
use xdscope_wire::event::{Kind, StreamId, Time};

use super::{Graph, NodeId};

/// The state of a resource in the graph of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Sent and accepted.
    Ready,
    /// Sent and accepted, but no longer referenced by the client's resources.
    ///
    /// The client keeps the resource, because SotW cannot delete resources of such types
    /// (`docs/protocol.md#e-45`, `docs/protocol.md#l-11`).
    Orphan,
    /// Sent, without an answer yet.
    Sent {
        /// Whether an earlier version is in force.
        in_force: bool,
    },
    /// The client rejected the newest content.
    Refused {
        /// Whether an earlier version is in force.
        in_force: bool,
    },
    /// The newest content, or the removal, is in a refused push whose NACK names other resources.
    RefusedPush {
        /// Whether a version of the resource is in force.
        in_force: bool,
        /// Whether the client uses the resources that the NACK does not name.
        rest: RestUse,
    },
    /// Sent, and waiting for referenced resources since the response that added or changed it.
    ///
    /// See `docs/protocol.md#h-01` to `docs/protocol.md#h-06`.
    Warming {
        /// Time of that response.
        since: Option<Time>,
    },
    /// Requested and not sent.
    Waiting {
        /// The message that the server owes, if the client has the resource already.
        again: Option<OwedAgainFact>,
        /// The request, if known.
        request: Option<PendingRequest>,
    },
    /// Requested and not sent within the time limit.
    Missing {
        /// The message that the server owes, if the client has the resource already.
        again: Option<OwedAgainFact>,
        /// The request, if known.
        request: Option<PendingRequest>,
    },
    /// Reported as nonexistent, or removed.
    Gone(ResourceState),
    /// Referenced, and neither sent nor requested.
    NotAsked,
    /// Referenced, and not in the dump of the client, which may leave out the type.
    NotDumped,
    /// Referenced, and a static cluster, as the dump of the client says.
    Static,
    /// Referenced and not there, while the client has an alternative of the name
    /// (`docs/protocol.md#k-29`).
    Replaced,
    /// Sent, and ignored by the client, which has not requested it (`docs/protocol.md#e-35`).
    Ignored,
    /// Referenced with a config source whose stream or server is not visible. Whether the client
    /// has the resource is unknown.
    Elsewhere,
    /// Referenced with a file as config source.
    InFile,
    /// Referenced and not sent, although the client has a wildcard subscription for the type, or
    /// the list collection that should have it.
    Dangling,
}

/// States that are neither in order nor a problem yet, or that are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingStates {
    /// Referenced, and neither sent nor requested.
    pub not_asked: bool,
    /// Requested and not sent.
    pub waiting: bool,
    /// Sent, without an answer yet.
    pub sent: bool,
    /// From a source that is not visible.
    pub unseen: bool,
}

impl PendingStates {
    /// Returns the states that are in either.
    #[must_use]
    pub fn or(self, other: PendingStates) -> PendingStates {
        PendingStates {
            not_asked: self.not_asked || other.not_asked,
            waiting: self.waiting || other.waiting,
            sent: self.sent || other.sent,
            unseen: self.unseen || other.unseen,
        }
    }

    /// Whether all is in order.
    pub fn is_empty(self) -> bool {
        self == PendingStates::default()
    }
}

impl NodeState {
    /// Returns the state by itself if it is neither in order nor a problem yet, or is unknown.
    pub fn pending(&self) -> PendingStates {
        PendingStates {
            not_asked: *self == NodeState::NotAsked,
            waiting: matches!(self, NodeState::Waiting { .. }),
            sent: matches!(self, NodeState::Sent { .. }),
            unseen: *self == NodeState::Elsewhere,
        }
    }

    /// Returns the state of a resource, without regard to references.
    ///
    /// `request` is the pending request.
    pub(super) fn from_resource(fact: &ResourceFact, request: Option<PendingRequest>) -> NodeState {
        let in_force = fact.in_force.is_some();
        if fact.is_ignored() {
            return NodeState::Ignored;
        }
        if let Some(refusal) = &fact.refusal {
            return match refusal.is_named {
                true => NodeState::Refused { in_force },
                false => NodeState::RefusedPush { in_force, rest: refusal.rest },
            };
        }
        let again = fact.owed_again;
        match fact.state {
            _ if again.is_some_and(|owed| owed.is_late) => NodeState::Missing { again, request },
            _ if again.is_some() => NodeState::Waiting { again, request },
            _ if fact.is_removal_unanswered => NodeState::Sent { in_force },
            ResourceState::Present if fact.is_unanswered => NodeState::Sent { in_force },
            ResourceState::Present | ResourceState::Kept | ResourceState::Orphan => NodeState::Ready,
            ResourceState::Waiting => NodeState::Waiting { again: None, request },
            // The client's own timer has expired without a response.
            ResourceState::Absent if fact.absent_by == Some(AbsentBy::Timer) => {
                NodeState::Missing { again: None, request }
            }
            state => NodeState::Gone(state),
        }
    }

    /// Whether the client uses the resource in its newest or an earlier version, or has yet to
    /// accept or refuse it.
    pub fn is_present(&self) -> bool {
        matches!(
            self,
            NodeState::Ready
                | NodeState::Orphan
                | NodeState::Sent { .. }
                | NodeState::Waiting { again: Some(_), .. }
                | NodeState::Missing { again: Some(_), .. }
                | NodeState::Refused { in_force: true }
                | NodeState::RefusedPush { in_force: true, .. }
                | NodeState::Warming { .. }
        )
    }

    /// Whether a stream of the client has, had or waits for the resource.
    pub fn is_delivered(&self) -> bool {
        !matches!(
            self,
            NodeState::Dangling
                | NodeState::NotAsked
                | NodeState::NotDumped
                | NodeState::Static
                | NodeState::Replaced
                | NodeState::Ignored
                | NodeState::Elsewhere
                | NodeState::InFile
        )
    }

    /// Whether the state is a problem.
    pub fn is_problem(&self) -> bool {
        matches!(
            self,
            NodeState::Refused { .. }
                | NodeState::RefusedPush { rest: RestUse::NotUsed | RestUse::Unknown, .. }
                | NodeState::Missing { .. }
                | NodeState::Dangling
                | NodeState::Warming { .. }
        ) || matches!(self, NodeState::Gone(state) if !is_in_order(*state))
    }

    /// Returns the word for the state, such as `in sync`, `warming` or `dangling`.
    pub fn word(&self) -> &'static str {
        match self {
            NodeState::Ready => "in sync",
            NodeState::Orphan => "orphan",
            NodeState::Sent { .. } => "sent",
            NodeState::Refused { .. } => "NACK",
            NodeState::RefusedPush { .. } => "in a refused push, not named",
            NodeState::Warming { .. } => "warming",
            NodeState::Waiting { .. } => "waiting",
            NodeState::Missing { .. } => "missing",
            NodeState::Gone(state) => state.word(),
            NodeState::NotAsked => "not asked for",
            NodeState::NotDumped => "not in the dump",
            NodeState::Static => "static",
            NodeState::Replaced => "served by the alternative",
            NodeState::Ignored => "ignored",
            NodeState::Elsewhere => "unknown: not behind this tap",
            NodeState::InFile => "from a file",
            NodeState::Dangling => "dangling",
        }
    }
}

/// Whether a resource without content is as it should be.
fn is_in_order(state: ResourceState) -> bool {
    matches!(state, ResourceState::Released | ResourceState::Redirected | ResourceState::Empty)
}

/// Whether resources of a type can outlive the references to them.
pub fn has_orphans(kind: Kind) -> bool {
    matches!(kind, Kind::Eds | Kind::Rds | Kind::Vhds | Kind::Ecds | Kind::Sds)
}

impl Graph {
    /// Returns the names of the resources of a type on a stream to which nothing refers
    /// (docs/protocol.md#e-45, docs/protocol.md#l-11).
    pub fn orphan_names(&self, stream: StreamId, kind: Kind) -> impl Iterator<Item = &Arc<str>> {
        let of_kind = self.nodes.iter().filter(move |node| node.kind == kind);
        let orphans =
            of_kind.filter(move |node| node.state == NodeState::Orphan && node.stream == Some(stream));
        orphans.map(|node| &node.name)
    }

    /// Derives the final state of a node from the complete graph: dangling, warming or orphaned.
    ///
    /// `wild` has the types with a wildcard subscription.
    pub(super) fn derive_state(&mut self, id: NodeId, wild: &[Kind]) {
        let users = self.nodes.get(id).filter(|node| node.kind == Kind::Cds).map(|node| &node.users);
        let is_fetched = users.is_some_and(|users| users.iter().all(|user| self.fetches_clusters(*user)));
        let Some(node) = self.nodes.get_mut(id) else { return };
        node.warming = self.warming.remove(&(node.kind, node.name.clone()));
        let is_used = !node.users.is_empty();
        let is_redirect = node.state == NodeState::Gone(ResourceState::Redirected);
        let is_empty = node.state == NodeState::Gone(ResourceState::Empty);
        let is_gone = matches!(node.state, NodeState::Gone(_)) && !is_redirect && !is_empty;
        let is_unasked = node.state == NodeState::NotAsked;
        let is_undumped = node.state == NodeState::NotDumped && node.kind == Kind::Cds;
        let is_missing =
            node.state == NodeState::NotDumped && self.missing.contains(&(node.kind, node.name.clone()));
        let is_absent = is_gone || (is_unasked && !is_fetched);
        if let Some(source) = &node.other_source
            && is_unasked
        {
            let is_file = source.kind == SourceKind::Path;
            node.state = if is_file { NodeState::InFile } else { NodeState::Elsewhere };
        } else if let Some(others) = &self.other_clusters
            && is_undumped
            && !is_fetched
        {
            let is_static = others.contains(&*node.name);
            node.state = if is_static { NodeState::Static } else { NodeState::Dangling };
        } else if is_missing || is_used && wild.contains(&node.kind) && is_absent {
            node.state = NodeState::Dangling;
        } else if !is_used && is_gone {
            node.state = NodeState::Gone(ResourceState::Released);
        } else if let Some(warming) = &node.warming
            && node.state.is_present()
        {
            node.state = NodeState::Warming { since: Some(warming.since) };
        } else if !is_used && !self.awaited.contains(&id) && node.state == NodeState::Ready {
            // The reference may be in the bootstrap if the client gets no resources that could
            // refer to this one, or in a resource that was not recorded.
            let parents = usual_referring_kinds(node.kind);
            let has_possible_users = parents.iter().any(|parent| self.sent.contains(parent));
            let has_unseen_users = parents.iter().any(|parent| self.unseen.contains(parent));
            if has_orphans(node.kind) && has_possible_users && !has_unseen_users {
                node.state = NodeState::Orphan;
            }
        }
        // An inline entry is a part of its list.
        if node.state.is_present() && node.list.is_none() {
            *self.counts.entry(node.kind).or_default() += 1;
        }
        if node.is_problem() {
            self.problems.push(id);
        }
        let is_ignored = node.state == NodeState::Ignored;
        if node.state.is_present() || node.state.is_problem() || is_redirect || is_ignored {
            match node.kind == Kind::Lds && node.list.is_none() {
                true if !self.is_below_listener(id) => self.roots.push(id),
                false if !is_used => self.unreferenced.push(id),
                _ => {}
            }
        }
    }

    /// Whether a listener is the target of another one, which the tree shows above it.
    fn is_below_listener(&self, id: NodeId) -> bool {
        let (mut queue, mut seen) = (vec![id], HashSet::from([id]));
        while let Some(node) = queue.pop().and_then(|at| self.nodes.get(at)) {
            for user in &node.users {
                let Some(above) = self.nodes.get(*user) else { continue };
                if above.kind != Kind::Lds || !seen.insert(*user) {
                    continue;
                }
                if above.users.is_empty() {
                    return true;
                }
                queue.push(*user);
            }
        }
        false
    }

    /// Marks the nodes with a problem and the nodes above them.
    pub(super) fn mark_troubled(&mut self) {
        let mut queue = self.problems.clone();
        while let Some(id) = queue.pop() {
            let Some(node) = self.nodes.get_mut(id).filter(|node| !node.is_troubled) else { continue };
            node.is_troubled = true;
            queue.extend(node.users.iter().copied());
        }
    }

    /// Records in each node which pending states it and the nodes below have.
    pub(super) fn mark_pending(&mut self) {
        let own = self.nodes.iter().map(|node| node.state.pending()).enumerate();
        let mut queue: Vec<(NodeId, PendingStates)> = own.filter(|(_, states)| !states.is_empty()).collect();
        while let Some((id, states)) = queue.pop() {
            // Each node changes at most once for each state.
            let Some(node) = self.nodes.get_mut(id) else { continue };
            let all = node.pending.or(states);
            if all != node.pending {
                node.pending = all;
                queue.extend(node.users.iter().map(|user| (*user, all)));
            }
        }
    }
}
