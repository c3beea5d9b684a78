//! References from resources to other resources.
//!
//! A table lists the fields that hold names, with the type of the named resource. The search
//! follows the descriptors of a resource, also through `Any`s. Texts in other fields never count as
//! names.

mod names;
mod on_demand;
mod routed;
mod source;
#[cfg(test)]
mod tests;
mod walk;

pub use names::{FoundReference, ReferenceFinder, RouteSource};
pub use on_demand::fetches_clusters;
pub use routed::{RoutedClusters, clusters_of_api_listener, clusters_of_routes, is_api_listener};
pub use source::{AuthorityLookup, OtherSource, SourceKind};
pub use walk::inner_message;

use serde_json::Value;

use crate::Schema;
use xdscope_wire::event::Kind;

/// A reference from a field to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Path of the field in the referring resource, such as `eds_cluster_config.service_name`.
    pub path: String,
    /// Type of the referenced resource.
    pub kind: Kind,
    /// Name of the referenced resource. A VHDS or SRDS name that ends in `*` stands for all names
    /// with that prefix.
    pub name: String,
    /// The config source of the referenced resource, if stated (`docs/protocol.md#i-06`).
    pub source: Option<SourceKind>,
    /// The config source, if it is neither ADS nor the source of the referring resource.
    pub other_source: Option<OtherSource>,
    /// The lookup of the authority of an `xdstp://` name (`docs/protocol.md#k-23`). `None` for
    /// other names.
    pub authority: Option<AuthorityLookup>,
}

impl Link {
    /// Whether the reference covers a resource with this name.
    pub fn matches_name(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) if self.kind == Kind::Vhds || self.kind == Kind::Srds => name.starts_with(start),
            _ => self.name == name,
        }
    }
}

/// Returns the references of a resource, in the order of its fields.
///
/// `body` is protobuf JSON with the original field names and an `@type`.
pub fn links_of(schema: &Schema, body: &Value) -> Vec<Link> {
    let mut links = Vec::new();
    if let Some(message) = body.get("@type").and_then(Value::as_str).and_then(|url| schema.message(url)) {
        walk::message(schema, body, &message, &mut String::new(), 0, &mut links);
    }
    links
}

/// Returns the types whose resources can refer to resources of this type.
pub fn referring_kinds(kind: Kind) -> impl Iterator<Item = Kind> {
    usual_referring_kinds(kind).iter().chain(rare_referring_kinds(kind)).copied()
}

/// Returns the types whose resources usually refer to resources of this type.
pub fn usual_referring_kinds(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Rds => &[Kind::Lds, Kind::Srds],
        Kind::Srds | Kind::Ecds => &[Kind::Lds],
        Kind::Vhds => &[Kind::Rds],
        Kind::Cds => &[Kind::Lds, Kind::Rds, Kind::Vhds, Kind::Cds, Kind::Ecds],
        Kind::Eds => &[Kind::Cds],
        Kind::Sds => &[Kind::Lds, Kind::Cds],
        Kind::Leds => &[Kind::Eds],
        _ => &[],
    }
}

/// Returns the types whose resources can refer to resources of this type, but seldom do.
fn rare_referring_kinds(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Ecds => &[Kind::Rds],
        Kind::Sds => &[Kind::Ecds],
        _ => &[],
    }
}
