//! Warming resources, and what they and missing clusters mean for traffic.

use serde_json::Value;

use super::object::Object;
use super::time;
use xdscope_engine::graph::{Graph, NodeId};
use xdscope_engine::store::WarmingFact;
use xdscope_wire::event::Clock;

/// An item of the member `warming`: a resource, and what it waits for.
pub fn warming(fact: &WarmingFact, clock: &Clock) -> Value {
    let needs = fact.needs.iter().map(|need| {
        let mut out = Object::bare();
        out.put("type", need.kind.word());
        out.put("name", &*need.name);
        out.put("since", time(need.since, clock));
        out.put("asked", need.asked.map(|n| n.0));
        out.put("again", need.is_resend);
        out.put("absent", need.absent.map(|n| n.0));
        out.done()
    });
    let mut out = Object::bare();
    out.put("name", &*fact.name);
    out.put("since", time(fact.since, clock));
    out.put("response", fact.response.0);
    out.put("update", fact.is_update);
    out.put("withheld", fact.withheld.map(|n| n.0));
    out.put("waits_for", needs.collect::<Vec<Value>>());
    if !fact.other_waits.is_empty() {
        out.put("other_waits", fact.other_waits.iter().map(|text| &**text).collect::<Vec<_>>());
    }
    out.some("caused_by", fact.caused_by.as_ref().map(|facts| &*facts.by));
    let side = if fact.is_owed_by_client() { "client" } else { "server" };
    out.put("owes", Some(side).filter(|_| !fact.is_dumped));
    out.done()
}

/// The member `other_sources` of a `resource`: the resources that it refers to and that the client
/// gets from a source apart from ADS. `None` without any.
pub fn other_sources(graph: &Graph, user: NodeId) -> Option<Value> {
    let uses = graph.get(user)?.uses.iter();
    let items = uses.filter_map(|(id, path)| {
        let target = graph.get(*id)?;
        let source = target.other_source.as_ref()?;
        let mut out = Object::bare();
        out.put("path", &**path);
        out.put("type", target.kind.word());
        out.put("name", &*target.name);
        out.put("source", source.kind.word());
        out.put("place", source.place.as_deref());
        Some(out.done())
    });
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

/// The member `unavailable_clusters` of a `resource`: the clusters that a route in force points to
/// and that the client cannot use. `None` without any.
pub fn unavailable_clusters(graph: &Graph, route: NodeId, clock: &Clock) -> Option<Value> {
    let gaps = graph.gaps.iter().filter(|gap| gap.route == route);
    let items = gaps.filter_map(|gap| {
        let cluster = graph.get(gap.cluster)?;
        let mut out = Object::bare();
        out.put("name", &*cluster.name);
        out.put("state", cluster.state.word());
        out.put("since", gap.since.map_or(Value::Null, |since| time(since, clock)));
        Some(out.done())
    });
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then_some(Value::Array(items))
}
