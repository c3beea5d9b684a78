use crate::schema::{Fault, FaultAt, Schema};

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
}

impl ResourceSemantics for Schema {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self.same_meaning(a, b)
    }

    fn broken(&self, any: &[u8]) -> Vec<String> {
        // The client can know types and fields that these descriptors do not have.
        let damaged =
            |fault: &FaultAt| !matches!(fault.fault, Fault::UnknownType(_) | Fault::UnknownFields(_));
        let faults: Vec<String> =
            self.faults(ANY, any).iter().filter(|fault| damaged(fault)).map(ToString::to_string).collect();
        if !faults.is_empty() {
            return faults;
        }
        // Undecodable messages have returned above.
        self.violations(ANY, any).unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

/// A comparison without validation.
impl<F: Fn(&[u8], &[u8]) -> bool + Send + Sync> ResourceSemantics for F {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self(a, b)
    }
}
