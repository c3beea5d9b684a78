use std::time::Duration;

use xdscope_engine::store::{
    AbsentBy, EventKind, LineFact, MatchedVersion, MessageDetails, MessageEvent, MessageFact,
    ResourceErrorFact, ResourceFact, ResourceState, TtlChange, Wildcard,
};
use xdscope_wire::text::{age, count, shown_name, type_label};

use super::names;

/// Names that the sentence of an event lists.
const MAX_NAMES: usize = 3;

/// Returns an event in words: `wildcard dropped: only names are requested from now on`.
pub fn event(event: &MessageEvent) -> String {
    let list = || listed(event);
    let [first, second] = [0, 1].map(|at| event.names.get(at).map_or("", |name| name));
    match event.kind {
        EventKind::WildcardEntered(kind) => format!("wildcard entered{}", entered(kind)),
        EventKind::WildcardDropped(_) => "wildcard dropped: only names are requested from now on".to_owned(),
        EventKind::PhantomUnsubscription => {
            format!("phantom unsubscription: {} {} not subscribed", list(), was(event.count))
        }
        EventKind::PendingReclassification => {
            format!("pending reclassification: {}, unsubscribed under the wildcard", list())
        }
        EventKind::OnDemand => format!("on demand: {}, without an update that refers to it", list()),
        EventKind::CameIntoExistence(by) => format!("came into existence: {}, {}", list(), absent_before(by)),
        EventKind::AliasResolved => format!("alias resolved: {first} is {second}"),
        EventKind::TtlSet { to } => format!("TTL set to {}: {}", seconds(to), list()),
        EventKind::TtlChanged { from, to } => {
            format!("TTL changed from {} to {}: {}", seconds(from), seconds(to), list())
        }
        EventKind::TtlRemoved { from } => format!("TTL removed, was {}: {}", seconds(from), list()),
        EventKind::HeartbeatMatched(version) => format!("heartbeat {}: {}", matched(version), list()),
        EventKind::ControlPlaneChanged => format!("control plane changed from {first} to {second}"),
        EventKind::NodeChanged => format!("node changed: {}", list()),
        EventKind::Failover => format!("failover from {first} to {second}"),
        EventKind::MembersAdded => members(event, "new in"),
        EventKind::MembersRemoved => members(event, "gone from"),
        EventKind::TypeOrder => {
            let labels: Vec<String> = event.names.iter().map(|url| type_label(url)).collect();
            format!("sent in the order {}", labels.join(", "))
        }
    }
}

/// Returns the events of a message in words. `with_order`: also the order of types.
pub fn events(details: &MessageDetails, with_order: bool) -> Vec<String> {
    let is_shown = |event: &&MessageEvent| with_order || event.kind != EventKind::TypeOrder;
    details.events.iter().filter(is_shown).map(event).collect()
}

/// Returns the remark on a message, its events, and errors of resources: the text of the column
/// NOTE. `with_order`: also the order of types.
pub fn remarks(fact: &MessageFact, line: &LineFact, with_order: bool) -> String {
    let details = &fact.details;
    let mut parts = vec![super::note(line)];
    parts.extend(details.is_canary.then(|| "canary".to_owned()));
    let errors = details.resource_errors.iter().take(MAX_NAMES);
    parts.extend(errors.map(|error| format!("{}: {}", shown_name(&error.name), resource_error(error))));
    let more = details.resource_errors.len().saturating_sub(MAX_NAMES);
    parts.extend((more > 0).then(|| format!("{} more resources with errors", count(more as u64))));
    parts.extend(events(details, with_order));
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// Lists the first names of an event, and counts the others.
fn listed(event: &MessageEvent) -> String {
    let kept = names(&event.names[..event.names.len().min(MAX_NAMES)], MAX_NAMES);
    match event.count.saturating_sub(MAX_NAMES as u64) {
        0 => kept,
        more => format!("{kept} and {} more", count(more)),
    }
}

/// Members of a glob that came or went: `new in xdstp://a/T/m/*: b, c`.
fn members(event: &MessageEvent, what: &str) -> String {
    let Some((glob, members)) = event.names.split_first() else { return what.to_owned() };
    let count = event.count.saturating_sub(1);
    let members = MessageEvent { kind: event.kind, names: members.to_vec(), count };
    format!("{what} {}: {}", shown_name(glob), listed(&members))
}

fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn entered(kind: Wildcard) -> &'static str {
    match kind {
        Wildcard::Explicit => " by the name *",
        Wildcard::Legacy => " by an empty list",
        Wildcard::Ambiguous => ", perhaps: the first request only unsubscribes",
        Wildcard::None | Wildcard::Unknown => "",
    }
}

fn absent_before(by: AbsentBy) -> &'static str {
    match by {
        AbsentBy::Server => "reported as missing before",
        AbsentBy::Timer => "missing until now",
        AbsentBy::Legacy => "sent without content before",
    }
}

fn matched(version: MatchedVersion) -> &'static str {
    match version {
        MatchedVersion::Wrapper => "matches the version of the wrapper",
        MatchedVersion::Response => "matches the version of the response",
        MatchedVersion::Both => "matches the versions of wrapper and response",
        MatchedVersion::Neither => "matches no version, and has no effect",
    }
}

/// Returns a time to live: `10s`, `1.5s`.
fn seconds(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{:.1}s", time.as_secs_f64()),
    }
}

/// Returns the error that a server reports for a resource: `NOT_FOUND: no such cluster (does not
/// exist)`.
pub fn resource_error(error: &ResourceErrorFact) -> String {
    let meaning = match (error.code == ResourceErrorFact::NOT_FOUND, error.is_absent) {
        (true, _) => "does not exist",
        (false, true) => "not sent",
        (false, false) => "the client keeps what it has",
    };
    let colon = if error.message.is_empty() { "" } else { ": " };
    format!("{}{colon}{} ({meaning})", error.code, error.message)
}

/// Returns the time that is left until a resource expires: `9.0s left of 10s`, `expired after 10s`;
/// `None` without a time to live.
pub fn ttl_left(fact: &ResourceFact) -> Option<String> {
    let length = fact.ttl.as_ref().and_then(|ttl| ttl.ttl);
    let of = |word: &str| length.map(|ttl| format!(" {word} {}", seconds(ttl))).unwrap_or_default();
    if fact.state == ResourceState::Expired {
        return Some(format!("expired{}", of("after")));
    }
    let left = fact.ttl_left?;
    Some(format!("{} left{}", age(left), of("of")))
}

/// Returns the lengths of a time to live and its heartbeats: `10s (#2), 20s (#4); 3 heartbeats`.
pub fn ttl_history(fact: &ResourceFact) -> Option<String> {
    let ttl = fact.ttl.as_ref()?;
    let change = |change: &TtlChange| {
        let length = change.ttl.map_or_else(|| "none".to_owned(), seconds);
        format!("{length} (#{})", change.n.0)
    };
    let changes: Vec<String> = ttl.changes.iter().map(change).collect();
    let beats = match ttl.heartbeats {
        0 => String::new(),
        1 => "; 1 heartbeat".to_owned(),
        n => format!("; {} heartbeats", count(n)),
    };
    Some(format!("{}{beats}", changes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn of(kind: EventKind, names: &[&str], count: u64) -> String {
        event(&MessageEvent { kind, names: names.iter().map(|name| Arc::from(*name)).collect(), count })
    }

    #[test]
    fn names_are_listed_and_counted() {
        let names = ["a", "b", "c", "d"];
        assert_eq!(
            of(EventKind::PhantomUnsubscription, &names, 70),
            "phantom unsubscription: a, b, c and 67 more were not subscribed"
        );
        assert_eq!(
            of(EventKind::PhantomUnsubscription, &["a"], 1),
            "phantom unsubscription: a was not subscribed"
        );
        assert_eq!(of(EventKind::AliasResolved, &["a", "b"], 2), "alias resolved: a is b");
        let ttl = EventKind::TtlRemoved { from: Duration::from_millis(1500) };
        assert_eq!(of(ttl, &["a"], 1), "TTL removed, was 1.5s: a");
        let cds = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        assert_eq!(
            of(EventKind::TypeOrder, &[cds, "t/X"], 2),
            format!("sent in the order CDS, {}", type_label("t/X"))
        );
    }
}
