//! Which resources a resource refers to, found by its fields.
//!
//! A table of fields, by the message that has them, says what each refers to; the body is walked beside its
//! descriptors, through `Any`s. No text is taken for a name because it looks like one.

mod names;
mod source;
#[cfg(test)]
mod tests;
mod walk;

pub use names::ReferenceFinder;
pub use source::{AuthorityLookup, SourceKind};

use serde_json::Value;

use crate::schema::Schema;
use crate::wire::event::Kind;

/// One reference: from a field to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The field in the referring resource, `eds_cluster_config.service_name`.
    pub path: String,
    /// The type referred to.
    pub kind: Kind,
    /// The name referred to. A name that ends in `/*` stands for all names with that beginning (VHDS).
    pub name: String,
    /// Where the resource says that the other one comes from (row I-06); `None` where it does not say.
    pub source: Option<SourceKind>,
    /// How the server for a structured name is found (row K-23); `None` for a plain name.
    pub way: Option<AuthorityLookup>,
}

impl Link {
    /// Whether a resource of that name is meant.
    pub fn matches_name(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) if self.kind == Kind::Vhds || self.kind == Kind::Srds => name.starts_with(start),
            _ => self.name == name,
        }
    }
}

/// References of one resource, in the order of its fields. `body` is its protobuf JSON with the API's own field names
/// and an `@type`.
pub fn links_of(schema: &Schema, body: &Value) -> Vec<Link> {
    let mut links = Vec::new();
    if let Some(message) = body.get("@type").and_then(Value::as_str).and_then(|url| schema.message(url)) {
        walk::message(schema, body, &message, &mut String::new(), 0, &mut links);
    }
    links
}

/// The types whose resources can refer to this one.
pub fn referring_kinds(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Rds => &[Kind::Lds, Kind::Srds],
        Kind::Srds => &[Kind::Lds],
        Kind::Vhds => &[Kind::Rds],
        Kind::Ecds => &[Kind::Lds, Kind::Rds],
        Kind::Cds => &[Kind::Lds, Kind::Rds, Kind::Vhds, Kind::Cds, Kind::Ecds],
        Kind::Eds => &[Kind::Cds],
        Kind::Sds => &[Kind::Lds, Kind::Cds, Kind::Ecds],
        Kind::Leds => &[Kind::Eds],
        _ => &[],
    }
}
