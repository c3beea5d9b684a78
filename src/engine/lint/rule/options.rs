//! Options of linting, and the look-ups that linting needs from the descriptors.

use std::sync::Arc;
use std::time::Duration;

use xdscope_schema::Violation;
use xdscope_schema::links::{RouteSource, SourceKind};
use xdscope_wire::Profile;
use xdscope_wire::event::Kind;

/// Timeouts of rules. None runs over a source without timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// For the verdict on a response.
    pub ack: Duration,
    /// For the answer to a request that must be answered.
    pub answer: Duration,
    /// Until a requested resource is presumed not to exist: `docs/protocol.md#e-46`.
    pub exist: Duration,
    /// For the resources that a warming resource waits for: `docs/protocol.md#h-04`.
    pub warm: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        let fifteen = Duration::from_secs(15);
        Timers { ack: Duration::from_secs(5), answer: fifteen, exist: fifteen, warm: fifteen }
    }
}

/// A reference from one resource to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Type of the other resource.
    pub kind: Kind,
    /// Name of the other resource.
    pub name: String,
    /// The stated source of the other resource: `docs/protocol.md#i-06`.
    pub source: Option<SourceKind>,
    /// The cluster that the source names.
    pub cluster: Option<Box<str>>,
    /// For scoped routes: the stated source of the route configurations that they lead to.
    pub routes: Option<Box<RouteSource>>,
    /// For a cluster of a route: whether an Envoy refuses the routes if it lacks the cluster.
    pub is_validated: bool,
}

/// Reads the references of a resource from its `Any`.
pub type Links = Arc<dyn Fn(&[u8]) -> Vec<Reference> + Send + Sync>;

/// Checks a resource, given as an `Any`, against the constraints of the API.
///
/// Returns all broken constraints, or `None` if the type is unknown or the resource cannot be read.
pub type Constraints = Arc<dyn Fn(&[u8]) -> Option<Vec<Violation>> + Send + Sync>;

/// Tells whether the descriptors have a message of that name.
pub type KnownTypes = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How to judge a source.
#[derive(Clone, Default)]
pub struct Options {
    /// Timeouts of rules.
    pub timers: Timers,
    /// The edition of the protocol for streams that do not state their own.
    pub profile: Option<Profile>,
    /// Known message types. Without this only the built-in types are known.
    pub types: Option<KnownTypes>,
    /// Reader of references. Without this, rules about references are silent.
    pub links: Option<Links>,
    /// Checker of constraints. Without this, rules about constraints are silent.
    pub constraints: Option<Constraints>,
    /// The most contents to read references from; beyond it, rules about references are silent.
    pub contents: Option<usize>,
    /// The most contents to check against constraints; beyond it, rules about constraints are
    /// silent.
    pub constrained: Option<usize>,
}
