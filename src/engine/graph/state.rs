use crate::engine::store::{AbsentBy, ResourceFact, ResourceState};
use crate::wire::event::{Kind, Seq, Time};

use super::{Graph, Id};

/// How a resource stands in the graph of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Sent and accepted.
    Ready,
    /// The same, and nothing that the client was sent refers to it (any more). It stays: the protocol has no deletion of
    /// such types (rows E-45, L-11).
    Orphan,
    /// Sent, no answer yet.
    Sent,
    /// Its newest content was refused.
    Refused,
    /// Sent, and waits for what it refers to (rows H-01 to H-06): since the oldest question for that.
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

impl State {
    /// `asked`: since when and by which request it is waited for.
    pub(super) fn of(fact: &ResourceFact, asked: Option<(Time, Seq)>) -> State {
        match fact.state {
            _ if fact.refused => State::Refused,
            ResourceState::Present if fact.acked_version.is_none() => State::Sent,
            ResourceState::Present | ResourceState::Kept | ResourceState::Orphan => State::Ready,
            ResourceState::Waiting => State::Waiting { since: asked },
            // The client's own timer says so: for whoever looks, nothing came.
            ResourceState::Absent if fact.absent_by == Some(AbsentBy::Timer) => {
                State::Missing { since: asked }
            }
            state => State::Gone(state),
        }
    }

    /// The client was sent it and has it, or has what was there before.
    pub fn is_present(&self) -> bool {
        matches!(self, State::Ready | State::Orphan | State::Sent | State::Refused | State::Warming { .. })
    }

    /// Someone must act on it.
    pub fn problem(&self) -> bool {
        matches!(self, State::Refused | State::Missing { .. } | State::Dangling | State::Warming { .. })
            || matches!(self, State::Gone(state) if *state != ResourceState::Released)
    }

    /// Whether what refers to it can't be used until it is there.
    fn holds_up(&self) -> bool {
        matches!(self, State::Waiting { .. } | State::Missing { .. })
    }

    /// `in sync`, `warming`, `dangling`.
    pub fn word(&self) -> &'static str {
        match self {
            State::Ready => "in sync",
            State::Orphan => "orphan",
            State::Sent => "sent",
            State::Refused => "NACK",
            State::Warming { .. } => "warming",
            State::Waiting { .. } => "waiting",
            State::Missing { .. } => "missing",
            State::Gone(state) => state.word(),
            State::NotAsked => "not asked for",
            State::Dangling => "dangling",
        }
    }
}

/// Whether resources of a type can outlive what refers to them.
pub fn has_orphans(kind: Kind) -> bool {
    !parents(kind).is_empty()
}

/// The types whose resources refer to those of a type.
fn parents(kind: Kind) -> &'static [Kind] {
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
    /// What follows from the whole for one node, with all nodes and edges there: dangling, warming, orphaned. Of the
    /// `wild` types the client gets all.
    pub(super) fn settle(&mut self, id: Id, wild: &[Kind]) {
        // Listeners warm up on routes, clusters on endpoints and secrets; routes are not warmed (row H-03).
        let warming = self.warming(id);
        let Some(node) = self.nodes.get_mut(id) else { return };
        let used = !node.users.is_empty();
        let gone = matches!(node.state, State::Gone(_));
        if used && wild.contains(&node.kind) && (gone || node.state == State::NotAsked) {
            node.state = State::Dangling;
        } else if !used && gone {
            node.state = State::Gone(ResourceState::Released);
        } else if let Some(since) = warming {
            node.state = State::Warming { since };
        } else if !used && node.state == State::Ready {
            // What refers to it may be in a bootstrap, where the client gets nothing that could.
            let could = parents(node.kind).iter().any(|parent| self.sent.contains(parent));
            if could {
                node.state = State::Orphan;
            }
        }
        if node.state.is_present() {
            *self.counts.entry(node.kind).or_default() += 1;
        }
        if node.state.problem() {
            self.problems.push(id);
        }
        if node.state.is_present() || node.state.problem() {
            match node.kind {
                Kind::Lds => self.roots.push(id),
                _ if !used => self.loose.push(id),
                _ => {}
            }
        }
    }

    /// What is above a problem.
    pub(super) fn trouble(&mut self) {
        let mut queue = self.problems.clone();
        while let Some(id) = queue.pop() {
            let Some(node) = self.nodes.get_mut(id).filter(|node| !node.troubled) else { continue };
            node.troubled = true;
            queue.extend(node.users.iter().copied());
        }
    }

    /// Since when a node that is sent waits for what it refers to.
    fn warming(&self, id: Id) -> Option<Option<Time>> {
        let node = self.nodes.get(id)?;
        // A client that asks for the endpoints of a new cluster took it, whatever it refused of the same push.
        let taken = match node.state {
            State::Ready | State::Sent => true,
            State::Refused => node.acked_version.is_none(),
            _ => false,
        };
        if !taken || !matches!(node.kind, Kind::Lds | Kind::Cds) {
            return None;
        }
        let below = node.uses.iter().filter_map(|(to, _)| self.nodes.get(*to));
        let held_up: Vec<&State> = below
            .filter(|below| matches!(below.kind, Kind::Eds | Kind::Rds | Kind::Sds) && below.state.holds_up())
            .map(|below| &below.state)
            .collect();
        let since = held_up.iter().filter_map(|state| match state {
            State::Waiting { since } | State::Missing { since } => since.map(|(at, _)| at),
            _ => None,
        });
        let since = since.min();
        (!held_up.is_empty()).then_some(since)
    }
}
