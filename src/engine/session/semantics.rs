use crate::schema::{Fault, FaultAt, Schema};

/// What a resource travels in.
const ANY: &str = "google.protobuf.Any";

/// Tells of contents what their bytes alone do not.
pub trait ResourceSemantics: Send + Sync {
    /// Whether two `Any`s whose bytes differ mean the same (map order, field order).
    fn same(&self, a: &[u8], b: &[u8]) -> bool;

    /// Why a client that holds an `Any` against its type would refuse it, naming fields: it is damaged, or breaks the
    /// constraints that the type puts on fields (row J-01). Empty: nothing is known against it.
    fn broken(&self, _any: &[u8]) -> Vec<String> {
        Vec::new()
    }
}

impl ResourceSemantics for Schema {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self.same_meaning(a, b)
    }

    fn broken(&self, any: &[u8]) -> Vec<String> {
        // A type or a field that is not known here may be known to the client that is stood in for.
        let damaged =
            |fault: &FaultAt| !matches!(fault.fault, Fault::UnknownType(_) | Fault::UnknownFields(_));
        let faults: Vec<String> =
            self.faults(ANY, any).iter().filter(|fault| damaged(fault)).map(ToString::to_string).collect();
        if !faults.is_empty() {
            return faults;
        }
        // What can't be read for its constraints has been dealt with above.
        self.violations(ANY, any).unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

/// A comparison alone.
impl<F: Fn(&[u8], &[u8]) -> bool + Send + Sync> ResourceSemantics for F {
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        self(a, b)
    }
}
