//! What `--scenario` chooses: which nodes take part, what the control plane knows, and what becomes of it.

use std::time::Duration;

use crate::schema::Schema;

use super::storm::Storm;
use super::{Client, Mesh, tour, xdstp};

/// A story of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// All of the tour's nodes.
    Tour,
    /// The one whose cluster is refused, again and again.
    NackLoop,
    /// The ones that wait for what never comes.
    Warming,
    /// The ones that speak delta.
    Delta,
    /// Names of the federated kind: authorities, globs, a name without an answer.
    Xdstp,
    /// Many streams, many resources.
    Storm,
}

impl Scenario {
    pub const ALL: [Scenario; 6] = [
        Scenario::Tour,
        Scenario::NackLoop,
        Scenario::Warming,
        Scenario::Delta,
        Scenario::Xdstp,
        Scenario::Storm,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Scenario::Tour => "tour",
            Scenario::NackLoop => "nack-loop",
            Scenario::Warming => "warming",
            Scenario::Delta => "delta",
            Scenario::Xdstp => "xdstp",
            Scenario::Storm => "storm",
        }
    }

    /// What is to be seen.
    pub fn about(self) -> &'static str {
        match self {
            Scenario::Tour => "six nodes, one of each problem",
            Scenario::NackLoop => "a refused cluster that the control plane sends again and again",
            Scenario::Warming => "names that are asked for and never answered",
            Scenario::Delta => "incremental streams: slow answers, a stream that ends and comes back",
            Scenario::Xdstp => "xdstp names: globs, two authorities, one of which does not answer",
            Scenario::Storm => {
                "1,000 streams on 20 connections, 100,000 clusters, 100,000 endpoints that move"
            }
        }
    }

    /// What to look at first.
    pub fn hint(self) -> &'static str {
        match self {
            Scenario::Tour | Scenario::NackLoop => {
                "one cluster is refused: } goes to a problem, Enter opens it, 6 says why, d what changed"
            }
            Scenario::Warming => "names without an answer: 7 says who asked when, 8 what waits for them",
            Scenario::Delta => "delta: 2 says what each stream holds, 3 L draws who said what when",
            Scenario::Xdstp => "7 says which names and globs are asked for, 4 what came for them",
            Scenario::Storm => {
                "1,000 streams on 20 connections, 100,000 clusters and 100,000 endpoints; z unfolds those in sync"
            }
        }
    }

    /// The nodes that take part, together those that share a connection.
    pub fn clients(self) -> Vec<Vec<Client>> {
        let some = |takes_part: fn(&Client) -> bool| -> Vec<Vec<Client>> {
            tour::clients().into_iter().filter(takes_part).map(|client| vec![client]).collect()
        };
        match self {
            Scenario::Tour => some(|_| true),
            Scenario::NackLoop => some(|client| client.checks),
            Scenario::Warming => some(|client| client.checks || client.node_id == tour::CART),
            Scenario::Delta => some(|client| client.variant.is_delta()),
            Scenario::Xdstp => xdstp::clients().into_iter().map(|client| vec![client]).collect(),
            Scenario::Storm => Storm::FULL.clients(),
        }
    }

    /// What the control plane knows at first.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo.
    pub fn mesh(self, schema: &Schema, seed: u64) -> Result<Mesh, String> {
        match self {
            Scenario::Xdstp => xdstp::mesh(schema, seed),
            Scenario::Storm => Storm::FULL.mesh(schema, seed),
            _ => Mesh::good(schema, seed),
        }
    }

    /// What it knows once the clients have it.
    ///
    /// # Errors
    /// As for [`Scenario::mesh`].
    pub fn then(self, mesh: &Mesh, schema: &Schema) -> Result<Mesh, String> {
        match self {
            Scenario::Xdstp => xdstp::then(mesh, schema),
            Scenario::Storm => Ok(mesh.clone()),
            _ => mesh.bad(schema),
        }
    }

    /// What it knows a moment later.
    ///
    /// # Errors
    /// As for [`Scenario::mesh`].
    pub fn moved(self, mesh: &Mesh, schema: &Schema, version: u64) -> Result<Mesh, String> {
        match self {
            Scenario::Xdstp => xdstp::moved(mesh, schema, version),
            Scenario::Storm => Storm::FULL.moved(mesh, schema, version),
            _ => mesh.moved(schema, version),
        }
    }

    /// How long such a moment is.
    pub fn pace(self) -> Duration {
        Duration::from_secs(if self == Scenario::Storm { 1 } else { 4 })
    }
}
