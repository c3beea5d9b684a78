use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::store::{
    MessageKind, Options, Origin, ResourceState, RowFact, StateTraffic, StateVerdicts, StateVersions,
    SubscriptionFact, SummaryFact, TypeState,
};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Clock, Code, Dir, Kind, Seq, StreamId, Time, TypeUrl, Variant};
use xdscope_wire::text::parse_duration;

fn arcs(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(*text)).collect()
}

fn nack() -> MessageFact {
    MessageFact {
        row: RowFact {
            n: Some(Seq(487)),
            at: Time::from_secs_f64(128.155),
            stream: StreamId(2),
            node: Some(Arc::from("edge-gw-1")),
            dir: Some(Dir::Req),
            type_url: Kind::Cds.type_url(ApiVersion::V3).unwrap(),
            kind: MessageKind::Nack,
            class: None,
            implied: false,
            other_reading: None,
            version: Arc::from("41"),
            nonce: Arc::from("a820"),
            answers: Some(Seq(486)),
            latency: Some(Duration::from_millis(150)),
            same: 0,
            count: 119,
            size: 1_500_000,
            error: Some((Code(13), Arc::from("Error adding cluster(s) reviews: ConnectTimeout"))),
            faults: None,
            keeps: None,
            partial: false,
            stated: None,
            note: None,
        },
        names: arcs(&["Reviews", "outbound|9080||cart"]),
        added: vec![],
        changed: vec![],
        removed: arcs(&["gone"]),
        details: Default::default(),
    }
}

fn state() -> StateFact {
    let summary = SummaryFact {
        stream: StreamId(1),
        node: Some(Arc::from("edge-gw-1")),
        variant: Variant::Ads,
        type_url: Kind::Eds.type_url(ApiVersion::V3).unwrap(),
        state: TypeState::Miss,
        last_state: None,
        since: Time::from_secs_f64(100.0),
        open_nacks: 1,
        open_nack: None,
        missing: 1,
        overdue: 0,
        owed_again: 0,
        errors: 0,
        malformed: 0,
        names: 1,
        resources: 118,
        refused: 0,
        refused_unnamed: 0,
        is_diverged: false,
    };
    StateFact {
        summary,
        versions: StateVersions {
            in_force: Some(Arc::from("41")),
            offered: Some(Arc::from("42")),
            ..StateVersions::default()
        },
        nonce: Some(Arc::from("a77c")),
        pending: vec![],
        subscription: SubscriptionFact {
            names: arcs(&["ledger-v2"]),
            missing: arcs(&["ledger-v2"]),
            ..SubscriptionFact::default()
        },
        verdicts: StateVerdicts { ack_ms: Some((6.0, 9.0)), ..StateVerdicts::default() },
        traffic: StateTraffic { pushes: 9, bytes: 44_000, ..StateTraffic::default() },
        diverged: None,
    }
}

fn resource() -> ResourceFact {
    ResourceFact {
        earlier_refusal: None,
        stream: StreamId(1),
        node: None,
        type_url: TypeUrl::from("type.googleapis.com/acme.v1.Widget"),
        name: Arc::from("w1"),
        aliases: arcs(&["w-alias"]),
        version: Some(Arc::from("3")),
        acked_version: None,
        state: ResourceState::Present,
        is_stream_down: false,
        is_unreadable: false,
        owed_again: None,
        refused: true,
        refusal: None,
        in_force: None,
        is_unanswered: false,
        is_removal_unanswered: false,
        absent_by: None,
        unclassified: None,
        origin: Origin::Named,
        hash: None,
        size: 900,
        ttl_deadline: None,
        ttl_left: None,
        ttl: None,
        error: None,
        content: None,
    }
}

/// A store of a source that began on 2026-03-02 at 14:00:00 UTC, 3 minutes ago.
fn store() -> Store {
    let clock = Clock { epoch: Some(1_772_460_000_000_000_000), untimed: false };
    let mut store = Store::new(Catalog::in_memory(), clock, Options::default());
    store.advance(Time::from_secs_f64(180.0));
    store
}

fn on_message(text: &str) -> bool {
    Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).message(&nack(), &store())
}

#[test]
fn matches_messages() {
    for text in [
        "",
        "  ",
        "edge",
        "EDGE-gw|edge-gw",
        "cds nack",
        "connecttimeout",
        "ConnectTimeout",
        "\"cluster(s) reviews\"",
        "edge*",
        "/cluster.s. rev/",
        "type:cds",
        "type:Cluster",
        "type:clusters",
        "type:type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "type:*cluster*",
        "node:edge-gw-1",
        "node:edge*",
        "stream:2",
        "stream:#2",
        "dir:req",
        "kind:nack",
        "kind:n*",
        "kind:/^nack$/",
        "name:reviews",
        "name:/^rev/",
        "name:outbound\"|9080||\"*",
        "name:gone",
        "version:41",
        "nonce:a820",
        "err:timeout",
        "size>1M",
        "size>=1.5MB",
        "size<1.5MiB",
        "lat>100ms",
        "lat<=0.15s",
        "age>50s",
        "res>100",
        "res=119",
        "res:119",
        "#487",
        "#478..#498",
        "#478..498",
        "#400..",
        "after:14:02",
        "after:14:02:08",
        "before:14:02:08.156",
        "after:+2m",
        "after:#486",
        "before:#488",
        "after:2026-03-02T14:02:08Z",
        "type:eds | kind:nack",
        "!type:eds",
        "!(type:eds | kind:ack) edge",
        "!!edge",
        "(edge)(cds)",
    ] {
        assert!(on_message(text), "{text} should match");
    }
}

#[test]
fn rejects_other_messages() {
    for text in [
        "Edge",
        "ledger",
        "nod*",
        "\"edge*\"",
        "type:eds",
        "node:edge",
        "node:*-2",
        "stream:1",
        "dir:resp",
        "kind:ack",
        "name:rev",
        "name:REVIEWS",
        "version:4",
        "nonce:a82",
        "err:absent",
        "size>2M",
        "lat>150ms",
        "age>1m",
        "res<119",
        "#486",
        "#488..#498",
        "after:14:02:09",
        "before:14:02:08",
        "before:+2m",
        "after:#487",
        "before:2026-03-02T14:02:08Z",
        "type:eds | kind:ack",
        "!edge",
        "edge !cds",
        "type:eds | cds kind:ack",
        "state:synced",
        "rule:nack",
        "has:connect_timeout",
    ] {
        assert!(!on_message(text), "{text} should not match");
    }
}

#[test]
fn matches_states_and_resources() {
    let store = store();
    let on_state = |text: &str| Filter::parse(text).unwrap().state(&state(), &store);
    for text in
        ["state:miss", "MISS|miss", "name:ledger-v2", "version:41 version:42", "age>1m", "res:118", "lat<7ms"]
    {
        assert!(on_state(text), "{text}");
    }
    for text in ["state:synced", "kind:push", "age>2m", "err:x"] {
        assert!(!on_state(text), "{text}");
    }
    let on_resource = |text: &str| Filter::parse(text).unwrap().resource(&resource(), &store);
    for text in
        ["type:acme.v1.Widget", "type:Widget", "w-alias", "state:present", "state:nack", "size<1k", "name:w*"]
    {
        assert!(on_resource(text), "{text}");
    }
    for text in ["type:cds", "state:absent", "node:*", "after:+1s"] {
        assert!(!on_resource(text), "{text}");
    }
}

#[test]
fn errors_have_positions() {
    let mut shown = String::new();
    for text in [
        "edge tpye:cds",
        "kind:nak",
        "state:broken",
        "dir:up",
        "size>big",
        "lat>100",
        "res>x",
        "node>3",
        "type:",
        "a |",
        "| a",
        "(a",
        "a)",
        "()",
        "!",
        "name:/(/",
        "/open",
        "\"open",
        "#x",
        "#1..#y",
        "after:noon",
        "after:25:00",
        "stream:x",
        "size:/1/",
        "has:a..b",
        "field:a",
    ] {
        let error = Filter::parse(text).expect_err(text);
        shown.push_str(&format!("{text}\n{}^ {}\n", " ".repeat(error.at), error.reason));
    }
    let deep = "(".repeat(100) + "a";
    shown.push_str(&Filter::parse(&deep).unwrap_err().to_string());
    insta::assert_snapshot!(shown);
}

#[test]
fn matches_words_that_look_like_fields_as_text() {
    let mut fact = nack();
    fact.names = arcs(&["xdstp://auth/envoy.config.cluster.v3.Cluster/a", "a=b", "key:value"]);
    for text in ["xdstp://auth", "name:xdstp://auth/*", "a=b", "\"key:value\""] {
        assert!(Filter::parse(text).unwrap().message(&fact, &store()), "{text}");
    }
}

#[test]
fn check_refuses_fields_that_rows_lack() {
    let check = |text: &str, rows| Filter::parse(text).unwrap().check(rows);
    assert_eq!(check("type:cds kind:nack", RowKind::Messages), Ok(()));
    assert_eq!(check("type:cds state:nack", RowKind::States), Ok(()));
    let refused = check("type:cds (edge | !state:nack)", RowKind::Messages).unwrap_err();
    assert_eq!((refused.at, refused.reason.as_str()), (18, "`state` does not apply to messages"));
    for (text, rows) in [
        ("kind:ack", RowKind::States),
        ("rule:x", RowKind::Messages),
        ("#1", RowKind::Resources),
        ("has:a", RowKind::States),
    ] {
        assert!(check(text, rows).is_err(), "{text}");
    }
}

struct Bodies(Value);

impl ContentLookup for Bodies {
    fn message(&self, _n: Seq, see: &mut dyn FnMut(&Value) -> bool) {
        let _ = see(&json!({"name": "other"})) || see(&self.0);
    }
    fn resource(&self, _fact: &ResourceFact, see: &mut dyn FnMut(&Value) -> bool) {
        see(&self.0);
    }
}

#[test]
fn matches_content_by_path_and_value() {
    let bodies = Bodies(json!({
        "name": "reviews",
        "edsClusterConfig": {"service_name": "reviews.default"},
        "connectTimeout": "0s",
        "circuitBreakers": {"thresholds": [{"maxConnections": 1024}, {"maxConnections": 2048}]},
        "respectDnsTtl": true,
    }));
    let has = |text: &str| {
        let filter = Filter::parse(text).unwrap();
        assert!(filter.needs_content(), "{text}");
        filter.message_with(&nack(), &store(), &bodies)
            && filter.resource_with(&resource(), &store(), &bodies)
    };
    for text in [
        "has:eds_cluster_config",
        "has:service_name",
        "has:eds_cluster_config.service_name",
        "has:thresholds.max_connections",
        "field:connect_timeout=0s",
        "field:connectTimeout=0s",
        "field:service_name=reviews*",
        "field:max_connections=2048",
        "field:respect_dns_ttl=true",
        "field:eds_cluster_config.serviceName=\"reviews.default\"",
    ] {
        assert!(has(text), "{text}");
    }
    for text in [
        "has:load_assignment",
        "has:service_name.eds_cluster_config",
        "field:connect_timeout=5s",
        "field:service_name=reviews",
        "field:eds_cluster_config=reviews.default",
    ] {
        assert!(!has(text), "{text}");
    }
    assert!(!Filter::parse("type:cds").unwrap().needs_content());
}

#[test]
fn times_of_day_respect_zone_and_midnight() {
    // 23:59:00 in Kiritimati (UTC+14) is 09:59:00 UTC.
    let clock = Clock { epoch: Some(1_772_445_540_000_000_000), untimed: false };
    let mut store = Store::new(Catalog::in_memory(), clock, Options::default());
    store.advance(Time::from_secs_f64(180.0));
    let zone = TimeZone::fixed(jiff::tz::offset(14));
    let mut fact = nack();
    fact.row.at = Time::from_secs_f64(128.155);
    for (text, expected) in [
        ("after:23:58", true),
        ("after:23:59:30 before:00:01:09", true),
        ("after:00:01", true),
        ("before:00:01", false),
        ("after:00:02", false),
    ] {
        let filter = Filter::parse(text).unwrap().in_zone(zone.clone());
        assert_eq!(filter.message(&fact, &store), expected, "{text}");
    }
}

#[test]
fn untimed_sources_have_no_ages() {
    let clock = Clock { epoch: None, untimed: true };
    let store = Store::new(Catalog::in_memory(), clock, Options::default());
    for text in ["age<1d", "after:+0s", "before:+1d"] {
        assert!(!Filter::parse(text).unwrap().message(&nack(), &store), "{text}");
    }
}

#[test]
fn positions_are_written_as_they_are_read() {
    for text in ["#487", "+90s", "14:02:08.155", "2026-03-02T14:02:08Z"] {
        let time = FilterTime::parse(text).expect("a moment");
        assert_eq!(FilterTime::parse(&time.to_string()), Some(time), "{text}");
    }
}

#[test]
fn quoted_words_match_the_text_itself() {
    for name in ["reviews", "outbound|8080|v1|host", "a*b", "say \"hi\" \\", "xdstp://a/b?x=1"] {
        let mut fact = nack();
        fact.names = vec![Arc::from(name)];
        let filter = Filter::parse(&format!("name:{}", quoted_word(name))).expect("a filter");
        let store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
        assert!(filter.message(&fact, &store), "{name}");
        fact.names = vec![Arc::from("other")];
        assert!(!filter.message(&fact, &store), "{name}");
    }
}

#[test]
fn parses_durations_and_sizes() {
    for (text, expected) in [
        ("0", Some(0.0)),
        ("1.5s", Some(1.5)),
        ("100ms", Some(0.1)),
        ("2h", Some(7200.0)),
        ("1m29s", Some(89.0)),
        ("1h30m0.5s", Some(5400.5)),
        ("1m29", None),
        ("15", None),
        ("-1s", None),
        ("1e3s", None),
        ("s", None),
    ] {
        assert_eq!(parse_duration(text).map(|d| d.as_secs_f64()), expected, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn accepts_or_rejects_any_expression(text in "[a-z:/|!()\"*#.<>=0-9 \\\\é]{0,40}") {
        if let Ok(filter) = Filter::parse(&text) {
            filter.message(&nack(), &store());
        } else if let Err(error) = Filter::parse(&text) {
            proptest::prop_assert!(text.is_char_boundary(error.at), "{} in {text:?}", error.at);
        }
    }
}

#[test]
fn recognizes_plain_words() {
    let word = |text: &str| Filter::parse(text).unwrap().plain_word().map(str::to_owned);
    assert_eq!(word("reviews"), Some("reviews".to_owned()));
    assert_eq!(word("\"a b\""), Some("a b".to_owned()));
    for other in ["Reviews", "rev*", "/rev/", "name:reviews", "!reviews", "a b", "a | b", "é", ""] {
        assert_eq!(word(other), None, "{other}");
    }
}
