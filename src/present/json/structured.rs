use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::object::Object;
use xdscope_engine::store::{GlobMembers, ResourceFact};
use xdscope_engine::structured::{HopFact, ListMembers, Members, StructuredFact};
use xdscope_schema::links::{AuthorityLookup, Link};

/// The member `xdstp` of a `resource`: what is known about a structured name.
pub fn structured(fact: &StructuredFact) -> Value {
    let parts = &fact.parts;
    let mut out = Object::bare();
    out.put("authority", parts.authority.as_str());
    out.put("type", parts.resource_type.as_str());
    out.put("id", parts.id.as_str());
    let parameters: Map<String, Value> =
        parts.parameters.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    out.put("parameters", parameters);
    out.put("directives", json!(parts.directives));
    out.some("glob", fact.glob.as_deref());
    out.some("members", fact.members.as_ref().map(members));
    out.put("redirects", json!(fact.redirects));
    out.put("alternatives", json!(fact.alternatives));
    out.put("alternative_of", json!(fact.alternative_of));
    out.some("served_by", fact.served_by.as_deref());
    out.put("hops", fact.hops.iter().map(hop).collect::<Vec<_>>());
    out.done()
}

fn members(members: &Members) -> Value {
    match members {
        Members::Glob(glob) => glob_members(*glob).done(),
        Members::List(list) => list_members(list),
    }
}

fn glob_members(members: GlobMembers) -> Object {
    let mut out = Object::bare();
    out.put("kind", "glob");
    out.put("present", members.total());
    out.put("direct", members.direct);
    out.put("deeper", members.deeper);
    out.some("refused", (members.refused > 0).then_some(members.refused));
    out
}

fn list_members(list: &ListMembers) -> Value {
    let mut out = Object::bare();
    out.put("kind", "list");
    out.put("present", list.present);
    out.put("entries", list.entries);
    out.put("inline", list.inline);
    out.put("waiting", list.waiting);
    out.put("absent", list.absent);
    out.put("not_requested", list.not_requested);
    let first = list.first.iter().map(|member| {
        let mut out = Object::bare();
        out.put("name", member.name.as_str());
        out.put("state", member.state.word());
        out.some("version", member.version.as_deref());
        out.some("served_by", member.served_by.as_deref());
        out.done()
    });
    out.put("first", first.collect::<Vec<_>>());
    out.done()
}

fn hop(hop: &HopFact) -> Value {
    let mut out = Object::bare();
    out.put("stream", hop.stream.0);
    out.put("node", hop.node.as_deref());
    out.put("server", hop.server.as_deref());
    out.put("version", hop.version.as_deref());
    out.put("state", hop.state.word());
    out.put("refused", hop.refused);
    out.put("same_content", hop.is_same);
    out.done()
}

/// The member `globs` of a `state`: the subscribed globs with the number of their members.
pub fn globs(globs: &[ResourceFact], members: &HashMap<Arc<str>, GlobMembers>) -> Value {
    let glob = |fact: &ResourceFact| {
        let mut out = glob_members(members.get(&fact.name).copied().unwrap_or_default());
        out.put("name", &*fact.name);
        out.put("state", fact.state.word());
        out.done()
    };
    globs.iter().map(glob).collect()
}

/// The member `authorities` of a `resource`: where the server of each referenced `xdstp` name is
/// looked up. `None` without such a reference.
pub fn authorities(links: &[Link]) -> Option<Value> {
    let looked_up = links.iter().filter_map(|link| Some((link, link.authority.as_ref()?)));
    let items = looked_up.map(|(link, lookup)| {
        let (authority, by) = match lookup {
            AuthorityLookup::ConfigSource { authority } => (authority, "config_source"),
            AuthorityLookup::Bootstrap { authority } => (authority, "bootstrap"),
        };
        let mut out = Object::bare();
        out.put("path", link.path.as_str());
        out.put("type", link.kind.word());
        out.put("name", link.name.as_str());
        out.put("authority", authority.as_str());
        out.put("by", by);
        out.done()
    });
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then_some(Value::Array(items))
}
