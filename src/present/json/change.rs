use serde_json::Value;

use xdscope_engine::diff::{Change, Op};
use xdscope_schema::owners::Owner;
use xdscope_wire::event::TypeUrl;

use super::object::Object;
use super::type_word;

/// The parts of a `change` object.
pub struct ChangeOf<'a> {
    /// The type of the resource.
    pub type_url: &'a TypeUrl,
    /// The name of the resource.
    pub name: &'a str,
    /// Whether the resource was added, changed or removed.
    pub op: Op,
    /// The version before, if it is known.
    pub from: Option<&'a str>,
    /// The version after, if it is known.
    pub to: Option<&'a str>,
    /// The nodes that have the resource, if they are distinguished.
    pub nodes: &'a [String],
    /// The Kubernetes objects that the resource was made from.
    pub owners: &'a [Owner],
    /// Empty if the resource is on one side only or cannot be decoded.
    pub changes: &'a [Change],
}

/// The `change` object: one resource that differs, and the paths of its differences.
pub fn change(fact: &ChangeOf<'_>) -> Value {
    let mut out = Object::new("change");
    out.put("type", type_word(fact.type_url));
    out.put("name", fact.name);
    out.put("op", fact.op.word());
    out.some("from_version", fact.from);
    out.some("to_version", fact.to);
    out.some("owners", super::owners(fact.owners));
    out.some("nodes", (!fact.nodes.is_empty()).then(|| fact.nodes.to_vec()));
    let paths = fact.changes.iter().map(|change| {
        let mut path = Object::bare();
        path.put("path", change.path.to_string());
        path.put("op", change.op.word());
        path.some("from", change.from.clone());
        path.some("to", change.to.clone());
        path.done()
    });
    out.put("paths", paths.collect::<Vec<Value>>());
    out.done()
}
