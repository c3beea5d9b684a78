use crate::engine::store::{AbsentBy, ResourceFact, ResourceState};
use crate::wire::event::{Kind, Seq, Time};

use super::{Graph, NodeId};

/// How a resource stands in the graph of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Sent and accepted.
    Ready,
    /// The same, and nothing that the client was sent refers to it (any more). It stays: the
    /// protocol has no deletion of such types (rows E-45, L-11).
    Orphan,
    /// Sent, no answer yet.
    Sent,
    /// Its newest content was refused.
    Refused,
    /// Sent, and waits for what it refers to (rows H-01 to H-06): since the oldest question for
    /// that.
    Warming { since: Option<Time> },
    /// Asked for and not sent: when and by which request.
    Waiting { since: Option<(Time, Seq)> },
    /// The same, for longer than the limit.
    Missing { since: Option<(Time, Seq)> },
    /// Said not to exist, or taken away.
    Gone(ResourceState),
    /// Referred to, and neither sent nor asked for.
    NotAsked,
    /// Referred to, while the client gets all of the type and this is not among them.
    Dangling,
}

impl NodeState {
    /// `asked`: since when and by which request it is waited for.
    pub(super) fn of(fact: &ResourceFact, asked: Option<(Time, Seq)>) -> NodeState {
        match fact.state {
            _ if fact.refused => NodeState::Refused,
            ResourceState::Present if fact.acked_version.is_none() => NodeState::Sent,
            ResourceState::Present | ResourceState::Kept | ResourceState::Orphan => NodeState::Ready,
            ResourceState::Waiting => NodeState::Waiting { since: asked },
            // The client's own timer says so: for whoever looks, nothing came.
            ResourceState::Absent if fact.absent_by == Some(AbsentBy::Timer) => {
                NodeState::Missing { since: asked }
            }
            state => NodeState::Gone(state),
        }
    }

    /// The client was sent it and has it, or has what was there before.
    pub fn is_present(&self) -> bool {
        matches!(
            self,
            NodeState::Ready
                | NodeState::Orphan
                | NodeState::Sent
                | NodeState::Refused
                | NodeState::Warming { .. }
        )
    }

    /// Someone must act on it.
    pub fn is_problem(&self) -> bool {
        matches!(
            self,
            NodeState::Refused | NodeState::Missing { .. } | NodeState::Dangling | NodeState::Warming { .. }
        ) || matches!(self, NodeState::Gone(state) if *state != ResourceState::Released)
    }

    /// Whether what refers to it can't be used until it is there.
    fn holds_up(&self) -> bool {
        matches!(self, NodeState::Waiting { .. } | NodeState::Missing { .. })
    }

    /// `in sync`, `warming`, `dangling`.
    pub fn word(&self) -> &'static str {
        match self {
            NodeState::Ready => "in sync",
            NodeState::Orphan => "orphan",
            NodeState::Sent => "sent",
            NodeState::Refused => "NACK",
            NodeState::Warming { .. } => "warming",
            NodeState::Waiting { .. } => "waiting",
            NodeState::Missing { .. } => "missing",
            NodeState::Gone(state) => state.word(),
            NodeState::NotAsked => "not asked for",
            NodeState::Dangling => "dangling",
        }
    }
}

/// Whether resources of a type can outlive what refers to them.
pub fn has_orphans(kind: Kind) -> bool {
    !referring_kinds(kind).is_empty()
}

/// The types whose resources refer to those of a type.
fn referring_kinds(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Eds => &[Kind::Cds],
        Kind::Rds => &[Kind::Lds, Kind::Srds],
        Kind::Vhds => &[Kind::Rds],
        Kind::Ecds => &[Kind::Lds],
        Kind::Sds => &[Kind::Cds, Kind::Lds],
        _ => &[],
    }
}

impl Graph {
    /// What follows from the whole for one node, with all nodes and edges there: dangling, warming,
    /// orphaned. Of the `wild` types the client gets all.
    pub(super) fn derive_state(&mut self, id: NodeId, wild: &[Kind]) {
        // Listeners warm up on routes, clusters on endpoints and secrets; routes are not warmed
        // (row H-03).
        let warming = self.warming(id);
        let Some(node) = self.nodes.get_mut(id) else { return };
        let used = !node.users.is_empty();
        let gone = matches!(node.state, NodeState::Gone(_));
        if used && wild.contains(&node.kind) && (gone || node.state == NodeState::NotAsked) {
            node.state = NodeState::Dangling;
        } else if !used && gone {
            node.state = NodeState::Gone(ResourceState::Released);
        } else if let Some(since) = warming {
            node.state = NodeState::Warming { since };
        } else if !used && node.state == NodeState::Ready {
            // What refers to it may be in a bootstrap, where the client gets nothing that could.
            let could = referring_kinds(node.kind).iter().any(|parent| self.sent.contains(parent));
            if could {
                node.state = NodeState::Orphan;
            }
        }
        if node.state.is_present() {
            *self.counts.entry(node.kind).or_default() += 1;
        }
        if node.state.is_problem() {
            self.problems.push(id);
        }
        if node.state.is_present() || node.state.is_problem() {
            match node.kind {
                Kind::Lds => self.roots.push(id),
                _ if !used => self.loose.push(id),
                _ => {}
            }
        }
    }

    /// What is above a problem.
    pub(super) fn mark_troubled(&mut self) {
        let mut queue = self.problems.clone();
        while let Some(id) = queue.pop() {
            let Some(node) = self.nodes.get_mut(id).filter(|node| !node.troubled) else { continue };
            node.troubled = true;
            queue.extend(node.users.iter().copied());
        }
    }

    /// Since when a node that is sent waits for what it refers to.
    fn warming(&self, id: NodeId) -> Option<Option<Time>> {
        let node = self.nodes.get(id)?;
        // A client that asks for the endpoints of a new cluster took it, whatever it refused of the
        // same push.
        let taken = match node.state {
            NodeState::Ready | NodeState::Sent => true,
            NodeState::Refused => node.acked_version.is_none(),
            _ => false,
        };
        if !taken || !matches!(node.kind, Kind::Lds | Kind::Cds) {
            return None;
        }
        let below = node.uses.iter().filter_map(|(to, _)| self.nodes.get(*to));
        let held_up: Vec<&NodeState> = below
            .filter(|below| matches!(below.kind, Kind::Eds | Kind::Rds | Kind::Sds) && below.state.holds_up())
            .map(|below| &below.state)
            .collect();
        let since = held_up.iter().filter_map(|state| match state {
            NodeState::Waiting { since } | NodeState::Missing { since } => since.map(|(at, _)| at),
            _ => None,
        });
        let since = since.min();
        (!held_up.is_empty()).then_some(since)
    }
}
