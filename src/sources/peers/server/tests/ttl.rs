//! Resources with a TTL: wrapped, refreshed by heartbeats, and left to expire.

use std::time::Duration;

use super::*;
use xdscope_wire::NodeInfo;

const FEATURES: &[&str] = &[NodeInfo::TTL_FEATURE, NodeInfo::WRAPPER_FEATURE];

/// Resources with a content that is their version, and a TTL in seconds; 0 is none.
fn timed(url: &str, version: &str, resources: &[(&str, &str, u64)]) -> (TypeUrl, Type) {
    let resource = |(name, text, ttl): &(&str, &str, u64)| {
        let bare = SnapshotResource::new((*text).to_owned(), any(url, name, text));
        let ttl = Some(Duration::from_secs(*ttl)).filter(|ttl| !ttl.is_zero());
        (Arc::from(*name), SnapshotResource { ttl, ..bare })
    };
    (url.into(), Type::new(version.to_owned(), resources.iter().map(resource).collect()))
}

/// A stream whose client names `names`, and the first response.
fn opened(path: &str, plan: &Arc<Plan>, says: &Says<'_>) -> (Client, Vec<String>) {
    let mut client = Client::new(path, plan);
    let first = client.say(says);
    (client, first)
}

fn says<'a>(url: &'a str, names: &'a [&'a str]) -> Says<'a> {
    Says { url, names, features: FEATURES, ..Says::default() }
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// Replaces the plan at a time, as a reload does, and returns the responses.
fn reload(client: &mut Client, before: &Arc<Plan>, now: f64, next: [(TypeUrl, Type); 1]) -> Vec<String> {
    let next = Plan::Snapshots { by_node: BTreeMap::new(), all: Arc::new(Snapshot::new(next.into())) };
    client.stream.handle_plan(at(now), Arc::new(next.after(before)));
    client.hear(at(now))
}

/// docs/protocol.md#g-04, docs/protocol.md#g-08
#[test]
fn sotw_sends_resource_again_before_ttl_ends() {
    let plan = plan([timed(EDS, "7", &[("a", "1", 10), ("b", "1", 0), ("c", "1", 4)])]);
    let (mut client, first) = opened(ADS, &plan, &says(EDS, &["a", "b", "c"]));
    assert_eq!(first, ["eds v=7 n=1 [a@7 ttl=10s b c@7 ttl=4s]", "at 2.0"]);
    assert_eq!(client.hear(at(2.0)), ["eds v=7 n=2 [c@7 ttl=4s]", "at 4.0"]);
    assert_eq!(client.hear(at(4.0)), ["eds v=7 n=3 [c@7 ttl=4s]", "at 5.0"]);
    assert_eq!(client.hear(at(5.0)), ["eds v=7 n=4 [a@7 ttl=10s]", "at 6.0"]);
    // The name is not requested any more.
    let fewer = Says { url: EDS, names: &["a"], nonce: "4", ..Says::default() };
    assert_eq!(client.say_at(at(5.5), &fewer), ["at 6.0"]);
    assert_eq!(client.hear(at(6.0)), ["at 10.0"]);
    assert_eq!(client.hear(at(10.0)), ["eds v=7 n=5 [a@7 ttl=10s]", "at 15.0"]);
}

/// docs/protocol.md#g-06, docs/protocol.md#g-07
#[test]
fn delta_refreshes_ttl_by_heartbeats() {
    let plan = plan([timed(CDS, "7", &[("a", "1", 10), ("b", "1", 0), ("c", "2", 4)])]);
    let (mut client, first) = opened(DELTA, &plan, &says(CDS, &[]));
    assert_eq!(first, ["cds v=7 n=1 [a@1 ttl=10s b@1 c@2 ttl=4s]", "at 2.0"]);
    assert_eq!(client.hear(at(2.0)), ["cds v=7 n=2 [c@2 ttl=4s heartbeat]", "at 4.0"]);
    assert_eq!(client.hear(at(4.0)), ["cds v=7 n=3 [c@2 ttl=4s heartbeat]", "at 5.0"]);
    assert_eq!(client.hear(at(5.0)), ["cds v=7 n=4 [a@1 ttl=10s heartbeat]", "at 6.0"]);
}

/// docs/protocol.md#g-03, docs/protocol.md#g-09
#[test]
fn ttl_needs_client_features() {
    let plan = plan([timed(EDS, "7", &[("a", "1", 10)])]);
    for features in [&[][..], &FEATURES[..1], &FEATURES[1..]] {
        let says = Says { features, ..says(EDS, &["a"]) };
        assert_eq!(opened(ADS, &plan, &says).1, ["eds v=7 n=1 [a]"], "{features:?}");
    }
    let says = |features| Says { features, ..says(EDS, &["a"]) };
    let first = |features| opened(DELTA, &plan, &says(features)).1;
    assert_eq!(first(&FEATURES[..1]), ["eds v=7 n=1 [a@1 ttl=10s]", "at 5.0"]);
    assert_eq!(first(&FEATURES[1..]), ["eds v=7 n=1 [a@1]"]);
    // A client that claims the resource has no timer either.
    let held = &[("a", "1")];
    assert_eq!(opened(DELTA, &plan, &Says { held, ..says(&[]) }).1, none());
}

/// docs/protocol.md#g-10
#[test]
fn sotw_sends_all_clusters_again() {
    let plan = plan([timed(CDS, "7", &[("a", "1", 10), ("b", "1", 0)])]);
    let (mut client, first) = opened(ADS, &plan, &says(CDS, &[]));
    assert_eq!(first, ["cds v=7 n=1 [a@7 ttl=10s b]", "at 5.0"]);
    assert_eq!(client.hear(at(5.0)), ["cds v=7 n=2 [a@7 ttl=10s b]", "at 10.0"]);
}

/// docs/protocol.md#g-04, docs/protocol.md#g-05
#[test]
fn reload_changes_and_removes_ttl_at_same_version() {
    for (path, mark) in [(ADS, "7"), (DELTA, "1")] {
        let first = plan([timed(EDS, "7", &[("a", "1", 10), ("b", "1", 0)])]);
        let (mut client, _) = opened(path, &first, &says(EDS, &["a", "b"]));
        let longer = reload(&mut client, &first, 1.0, [timed(EDS, "7", &[("a", "1", 20), ("b", "1", 0)])]);
        assert_eq!(longer, [format!("eds v=7 n=2 [a@{mark} ttl=20s]"), "at 5.0".into()], "{path}");
        assert_eq!(client.hear(at(5.0)), ["at 11.0"], "the heartbeat has moved");
        let none = reload(&mut client, &first, 6.0, [timed(EDS, "7", &[("a", "1", 0), ("b", "1", 0)])]);
        let bare = if path == ADS { "a" } else { "a@1" };
        assert_eq!(none, [format!("eds v=7 n=3 [{bare}]"), "at 11.0".into()], "{path}");
        assert_eq!(client.hear(at(11.0)), super::none());
    }
}

/// docs/protocol.md#g-02
#[test]
fn removed_resource_expires_in_sotw() {
    for (path, news) in [(ADS, &["at 5.0"][..]), (DELTA, &["eds v=7 n=2 [] -a", "at 5.0"])] {
        let first = plan([timed(EDS, "7", &[("a", "1", 10), ("b", "1", 0)])]);
        let (mut client, _) = opened(path, &first, &says(EDS, &["a", "b"]));
        assert_eq!(reload(&mut client, &first, 1.0, [timed(EDS, "7", &[("b", "1", 0)])]), news);
        assert_eq!(client.hear(at(60.0)), none(), "{path}: no heartbeat keeps it");
    }
}

/// docs/protocol.md#g-02
#[test]
fn refused_resource_has_no_heartbeat() {
    for path in [ADS, DELTA] {
        let plan = plan([timed(EDS, "7", &[("a", "1", 10)])]);
        let (mut client, _) = opened(path, &plan, &says(EDS, &["a"]));
        let nack = Says { url: EDS, names: &["a"], nonce: "1", error: true, ..Says::default() };
        let nack = if path == DELTA { Says { names: &[], ..nack } } else { nack };
        client.say_at(at(1.0), &nack);
        assert_eq!(client.hear(at(60.0)), none(), "{path}");
    }
}

/// docs/protocol.md#f-17, docs/protocol.md#g-02
#[test]
fn reconnect_restarts_ttl_of_claimed_resource() {
    let plan = plan([timed(EDS, "7", &[("a", "1", 10), ("b", "1", 10)])]);
    let says = Says { held: &[("a", "1")], ..says(EDS, &["a", "b"]) };
    let (_, first) = opened(DELTA, &plan, &says);
    assert_eq!(first, ["eds v=7 n=1 [b@1 ttl=10s a@1 ttl=10s heartbeat]", "at 5.0"]);
}
