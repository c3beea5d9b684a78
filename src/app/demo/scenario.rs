//! The scenarios of the demo: the nodes, the resources, and how the resources change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::client::NodeProfile;
use super::mesh::{Mesh, MeshError};
use super::storm::Storm;
use super::{tour, xdstp};
use xdscope_schema::Schema;
use xdscope_sources::peers::server::{Faults, Plan};

/// A scenario of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// All nodes of the tour.
    Tour,
    /// The node that rejects a cluster, again and again.
    NackLoop,
    /// The nodes that wait for resources that never come.
    Warming,
    /// The nodes that speak delta.
    Delta,
    /// Federated names: authorities, globs, a name without an answer.
    Xdstp,
    /// Many streams and many resources.
    Storm(Storm),
}

/// The mistakes of the control plane.
const FAULTS: Faults = Faults {
    resend_refused: Some(Duration::from_secs(10)),
    stream_lifetime: None,
    push_unchanged: true,
    ignore_unknown_names: true,
};

/// The lifetime of the streams of [`tour::PAYMENTS`].
const SHORT_STREAM_LIFETIME: Duration = Duration::from_secs(2);

impl Scenario {
    pub const ALL: [Scenario; 6] = [
        Scenario::Tour,
        Scenario::NackLoop,
        Scenario::Warming,
        Scenario::Delta,
        Scenario::Xdstp,
        Scenario::Storm(Storm::FULL),
    ];

    /// The name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Scenario::Tour => "tour",
            Scenario::NackLoop => "nack-loop",
            Scenario::Warming => "warming",
            Scenario::Delta => "delta",
            Scenario::Xdstp => "xdstp",
            Scenario::Storm(_) => "storm",
        }
    }

    /// A description for the list of scenarios.
    pub fn about(self) -> &'static str {
        match self {
            Scenario::Tour => "six nodes, one for each kind of problem",
            Scenario::NackLoop => "a rejected cluster that the control plane sends again and again",
            Scenario::Warming => "names that are requested and never delivered",
            Scenario::Delta => "incremental streams: slow answers, a stream that ends and comes back",
            Scenario::Xdstp => "xdstp names: globs, two authorities, one of which does not answer",
            Scenario::Storm(_) => {
                "1,000 streams on 20 connections, 100,000 clusters, 100,000 endpoints that move"
            }
        }
    }

    /// A hint at what to look at first.
    pub fn hint(self) -> &'static str {
        match self {
            Scenario::Tour | Scenario::NackLoop => {
                "one cluster is rejected: } goes to a problem, Enter opens it, 6 shows why, d what changed"
            }
            Scenario::Warming => {
                "names without an answer: 7 shows who requested them when, 8 what waits for them"
            }
            Scenario::Delta => "delta: 2 shows what each stream holds, 3 L draws the messages as a ladder",
            Scenario::Xdstp => "7 shows which names and globs are requested, 4 the resources for them",
            Scenario::Storm(_) => {
                "1,000 streams on 20 connections, 100,000 clusters and 100,000 endpoints; z unfolds those in sync"
            }
        }
    }

    /// The nodes of each connection.
    pub(super) fn connections(self) -> Vec<Vec<NodeProfile>> {
        let alone = |nodes: Vec<NodeProfile>| nodes.into_iter().map(|node| vec![node]).collect();
        let some = |takes_part: fn(&NodeProfile) -> bool| {
            alone(tour::nodes().into_iter().filter(takes_part).collect())
        };
        match self {
            Scenario::Tour => some(|_| true),
            Scenario::NackLoop => some(|node| node.rejects_bad_clusters),
            Scenario::Warming => some(|node| node.rejects_bad_clusters || node.id == tour::CART),
            Scenario::Delta => some(|node| node.variant.is_delta()),
            Scenario::Xdstp => alone(xdstp::nodes()),
            Scenario::Storm(size) => size.connections(),
        }
    }

    /// Returns the resources that the control plane has at first.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo.
    pub(super) fn first(self, schema: &Schema, seed: u64) -> Result<Mesh, MeshError> {
        match self {
            Scenario::Xdstp => xdstp::first(schema, seed),
            Scenario::Storm(size) => size.first(schema, seed),
            _ => Mesh::first(schema, seed),
        }
    }

    /// Returns the resources for the first change, shortly after the nodes have connected.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo.
    pub(super) fn second(self, mesh: &Mesh, schema: &Schema) -> Result<Mesh, MeshError> {
        match self {
            Scenario::Xdstp => xdstp::second(mesh, schema),
            Scenario::Storm(_) => Ok(mesh.clone()),
            _ => mesh.with_mistakes(schema),
        }
    }

    /// Returns the resources for each later change.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo.
    pub(super) fn next(self, mesh: &Mesh, schema: &Schema, version: u64) -> Result<Mesh, MeshError> {
        match self {
            Scenario::Xdstp => xdstp::with_moved_endpoints(mesh, schema, version),
            Scenario::Storm(size) => size.with_moved_endpoints(mesh, schema, version),
            _ => mesh.with_moved_endpoints(schema, version),
        }
    }

    /// The time between changes.
    pub(super) fn interval(self) -> Duration {
        Duration::from_secs(if matches!(self, Scenario::Storm(_)) { 1 } else { 4 })
    }
}

/// Returns what the control plane serves: the resources, and its mistakes.
pub(super) fn plan(mesh: &mut Mesh) -> Plan {
    let all = mesh.snapshot().with_faults(FAULTS);
    let short_lived = Faults { stream_lifetime: Some(SHORT_STREAM_LIFETIME), ..FAULTS };
    let payments = Arc::new(all.clone().with_faults(short_lived));
    let by_node = BTreeMap::from([(tour::PAYMENTS.to_owned(), payments)]);
    Plan::Snapshots { by_node, all: Arc::new(all) }
}
