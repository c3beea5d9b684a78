//! The owners of a resource.

use serde_json::Value;

use super::object::Object;
use xdscope_schema::owners::{Owner, OwnerSource};

/// The member `owners` of a `resource` or a NACK. `None` without owners.
pub fn owners(owners: &[Owner]) -> Option<Value> {
    let objects = owners.iter().map(|owner| {
        let mut out = Object::bare();
        out.put("kind", owner.kind.as_str());
        out.put("namespace", owner.namespace.as_str());
        out.put("name", owner.name.as_str());
        out.some("guess", (owner.source == OwnerSource::Name).then_some(true));
        out.done()
    });
    (!owners.is_empty()).then(|| objects.collect())
}
