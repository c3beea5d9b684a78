//! The owners of resources, and what an owner made.

use serde_json::Value;

use super::object::Object;
use super::{time, type_word};
use crate::report;
use xdscope_engine::made::{MadeResource, MadeSince, Outcome, OwnerSummary};
use xdscope_schema::owners::{Owner, OwnerSource};
use xdscope_wire::event::{Clock, Seq, Time};

/// The member `owners` of a `resource` or a NACK. `None` without owners.
pub fn owners(owners: &[Owner]) -> Option<Value> {
    (!owners.is_empty()).then(|| owners.iter().map(owner).collect())
}

/// Adds the member `owners` to an object, if there are any.
pub fn add_owners(object: &mut Value, list: &[Owner]) {
    if let (Value::Object(fields), Some(owners)) = (object, owners(list)) {
        fields.insert("owners".into(), owners);
    }
}

fn owner(owner: &Owner) -> Value {
    let mut out = Object::bare();
    add_owner(&mut out, owner);
    out.done()
}

fn add_owner(out: &mut Object, owner: &Owner) {
    out.put("kind", owner.kind.as_str());
    out.put("namespace", owner.namespace.as_str());
    out.put("name", owner.name.as_str());
    out.some("guess", (owner.source == OwnerSource::Name).then_some(true));
}

/// The `owner` object: an owner, and what became of its resources.
pub fn owner_summary(summary: &OwnerSummary) -> Value {
    let mut out = Object::new("owner");
    add_owner(&mut out, &summary.owner);
    out.put("resources", summary.resources);
    out.put("clients", summary.clients);
    out.put("worst", summary.counts.worst().map(Outcome::word));
    for outcome in Outcome::ALL {
        out.put(outcome.word(), summary.counts.of(outcome));
    }
    out.some("command", report::kubectl_command(&summary.owner));
    out.done()
}

/// The `made` object: a resource that an owner made, in one client.
///
/// `reason` is the reason for which the client refused the resource, or its push.
pub fn made(
    resource: &MadeResource,
    since: Option<&MadeSince>,
    reason: Option<String>,
    clock: &Clock,
) -> Value {
    let MadeResource { fact, .. } = resource;
    let mut out = Object::new("made");
    out.put("owner", owner(&resource.owner));
    out.put("stream", fact.stream.0);
    out.put("node", fact.node.as_deref());
    out.put("type", type_word(&fact.type_url));
    out.put("name", &*fact.name);
    out.put("outcome", resource.outcome.word());
    out.put("state", fact.state.word());
    out.put("version", fact.standing().map(|version| &**version));
    out.put("in_force", fact.in_force.as_ref().map(|known| &*known.version));
    out.some("reason", reason);
    out.some("warming", resource.warming.as_ref().map(report::warming_needs));
    match since {
        Some(MadeSince::Push(push)) => {
            let mut member = message(push.n, push.at, clock);
            member.put("version", &*push.version);
            out.put("push", member.done());
        }
        Some(MadeSince::Request { n, at }) => out.put("request", message(*n, *at, clock).done()),
        None => {}
    }
    out.done()
}

fn message(n: Seq, at: Time, clock: &Clock) -> Object {
    let mut out = Object::bare();
    out.put("n", n.0);
    out.put("time", time(at, clock));
    out
}
