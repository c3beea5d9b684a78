use std::sync::{Arc, Mutex, PoisonError};

use xdscope_schema::links::{FoundReference, ReferenceFinder};
use xdscope_schema::{Fault, FaultAt, Schema};
use xdscope_wire::xdstp::lists;

/// The message that wraps a resource.
const ANY: &str = "google.protobuf.Any";

/// Comparison and validation of resources by their descriptors.
pub trait ResourceSemantics: Send + Sync {
    /// Whether two `Any`s are equal messages although their bytes differ, for example in map order.
    fn same(&self, a: &[u8], b: &[u8]) -> bool;

    /// Returns why a client would refuse an `Any`: it is damaged, or violates constraints of its
    /// type (docs/protocol.md#j-01). Empty if there is no known reason.
    fn broken(&self, _any: &[u8]) -> Vec<String> {
        Vec::new()
    }

    /// Returns the resources that an `Any` refers to.
    fn references(&self, _any: &[u8]) -> Vec<FoundReference> {
        Vec::new()
    }
}

/// Comparison, validation and references by the descriptors of a schema.
pub struct SchemaSemantics {
    schema: Arc<Schema>,
    finder: Mutex<ReferenceFinder>,
}

impl SchemaSemantics {
    /// Creates the semantics of a schema.
    pub fn new(schema: Arc<Schema>) -> SchemaSemantics {
        let finder = Mutex::new(ReferenceFinder::new(schema.clone()));
        SchemaSemantics { schema, finder }
    }
}

impl ResourceSemantics for SchemaSemantics {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self.schema.same_meaning(a, b)
    }

    fn broken(&self, any: &[u8]) -> Vec<String> {
        content_faults(&self.schema, any)
    }

    fn references(&self, any: &[u8]) -> Vec<FoundReference> {
        self.finder.lock().unwrap_or_else(PoisonError::into_inner).references(any)
    }
}

/// Returns why a client would refuse an `Any`: it is damaged, or violates constraints of its type
/// (docs/protocol.md#j-01). A locator that is a string, as in the original proposal, is none
/// (docs/protocol.md#l-24).
pub fn content_faults(schema: &Schema, any: &[u8]) -> Vec<String> {
    // The client can know types and fields that these descriptors do not have.
    let damaged = |fault: &FaultAt| !matches!(fault.fault, Fault::UnknownType(_) | Fault::UnknownFields(_));
    let published = lists::published(any);
    let any = published.as_deref().unwrap_or(any);
    let faults = schema.faults(ANY, any);
    let faults: Vec<String> = faults.iter().filter(|fault| damaged(fault)).map(ToString::to_string).collect();
    if !faults.is_empty() {
        return faults;
    }
    // Undecodable messages have returned above.
    schema.violations(ANY, any).unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// A comparison without validation.
impl<F: Fn(&[u8], &[u8]) -> bool + Send + Sync> ResourceSemantics for F {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self(a, b)
    }
}
