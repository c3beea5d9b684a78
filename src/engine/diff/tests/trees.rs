use serde_json::{Value, json};

use super::strict;
use crate::diff::{Change, IgnorePattern, Op, Options, compare};

fn changes(old: &Value, new: &Value, options: &Options) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
    let line = |change: &Change| {
        format!("{} {}: {} {}", change.op.word(), change.path, text(&change.from), text(&change.to))
    };
    compare(old, new, options).changes.iter().map(line).collect()
}

fn simple(old: &Value, new: &Value) -> Vec<String> {
    changes(old, new, &Options::default())
}

#[test]
fn paths_contain_keys_of_items() {
    let old = json!({"name": "reviews", "connect_timeout": "5s", "circuit_breakers": {"thresholds": [
        {"max_connections": 1024}, {"priority": "HIGH", "max_connections": 9}]}});
    let new = json!({"name": "reviews", "connect_timeout": "0s", "circuit_breakers": {"thresholds": [
        {"priority": "HIGH", "max_connections": 9}, {"max_connections": 2048}]}});
    assert_eq!(
        simple(&old, &new),
        [
            "changed connect_timeout: \"5s\" \"0s\"",
            "changed circuit_breakers.thresholds[priority=DEFAULT].max_connections: 1024 2048",
        ]
    );
    assert_eq!(compare(&old, &new, &Options::default()).reordered.len(), 1);
}

#[test]
fn recognizes_each_kind_of_key() {
    let endpoint = |host: &str, port: u16, weight: u32| {
        json!({"endpoint": {"address": {"socket_address": {"address": host, "port_value": port}}},
            "load_balancing_weight": weight})
    };
    let list = |host| {
        json!({"endpoints": [{"locality": {"region": "eu", "zone": "b"}, "priority": 1, "lb_endpoints": [
            endpoint("10.0.0.1", 80, 1), endpoint(host, 80, 1)]}]})
    };
    assert_eq!(
        simple(&list("10.0.0.2"), &list("10.0.0.3")).iter().map(|line| &line[..75]).collect::<Vec<_>>(),
        [
            "removed endpoints[locality=eu/b/:1].lb_endpoints[address=10.0.0.2:80]: {\"en",
            "added endpoints[locality=eu/b/:1].lb_endpoints[address=10.0.0.3:80]: - {\"en",
        ]
    );
    for (old, new, path) in [
        (
            json!({"v": [{"domains": ["a", "b"], "x": 1}]}),
            json!({"v": [{"domains": ["a", "b"], "x": 2}]}),
            "v[domains=a,b].x",
        ),
        (
            json!({"h": [{"header": {"key": "k", "value": "1"}}]}),
            json!({"h": [{"header": {"key": "k", "value": "2"}}]}),
            "h[key=k].header.value",
        ),
        (
            json!({"p": [{"address_prefix": "10.0.0.0", "prefix_len": 8, "x": 1}]}),
            json!({"p": [{"address_prefix": "10.0.0.0", "prefix_len": 8}]}),
            "p[address=10.0.0.0/8].x",
        ),
        (
            json!({"l": [{"pipe": 1, "address": {"pipe": {"path": "/a b"}}}]}),
            json!({"l": [{"pipe": 2, "address": {"pipe": {"path": "/a b"}}}]}),
            "l[address=\"/a b\"].pipe",
        ),
        (
            json!({"m": {"envoy.lb": {"canary": true}}}),
            json!({"m": {"envoy.lb": {"canary": false}}}),
            "m[\"envoy.lb\"].canary",
        ),
        // Duplicate names are not keys, so the path has indexes.
        (
            json!({"v": [{"name": "a"}, {"name": "a", "x": 1}]}),
            json!({"v": [{"name": "a"}, {"name": "a", "x": 2}]}),
            "v[1].x",
        ),
    ] {
        let paths: Vec<String> = compare(&old, &new, &Options::default())
            .changes
            .iter()
            .map(|change| change.path.to_string())
            .collect();
        assert_eq!(paths, [path]);
    }
}

#[test]
fn order_matters_in_ordered_lists_and_strict_mode() {
    let list = |field: &str, names: [&str; 2]| json!({field: names.map(|name| json!({"name": name}))});
    let (a, b) = (list("virtual_hosts", ["a", "b"]), list("virtual_hosts", ["b", "a"]));
    let found = compare(&a, &b, &Options::default());
    assert_eq!((found.op(), found.reordered.len()), (None, 1));
    assert_eq!(found.new, a, "lines are compared in the order of the old one");
    assert_eq!(changes(&a, &b, &strict()), ["reordered virtual_hosts: [\"a\",\"b\"] [\"b\",\"a\"]"]);
    assert_eq!(compare(&a, &b, &strict()).op(), Some(Op::Reordered));
    let (a, b) = (list("http_filters", ["rbac", "router"]), list("http_filters", ["router", "rbac"]));
    let found = compare(&a, &b, &Options::default());
    assert_eq!((found.op(), found.reordered.len(), found.new), (Some(Op::Reordered), 0, b));
}

#[test]
fn inserting_an_item_in_front_is_one_change() {
    let route = |prefix: &str| json!({"match": {"prefix": prefix}});
    let old = json!({"routes": [route("/a"), route("/b"), route("/c")]});
    let new = json!({"routes": [route("/x"), route("/a"), route("/b"), route("/c2")]});
    assert_eq!(
        simple(&old, &new),
        [
            "added routes[0]: - {\"match\":{\"prefix\":\"/x\"}}",
            "changed routes[2→3].match.prefix: \"/c\" \"/c2\"",
        ]
    );
}

#[test]
fn compares_payloads_of_any_by_type() {
    let any = |url: &str, value: u32| json!({"typed_config": {"@type": url, "x": value}});
    assert_eq!(simple(&any("t/a", 1), &any("t/a", 2)), ["changed typed_config.x: 1 2"]);
    assert_eq!(simple(&any("t/a", 1), &any("t/b", 1)).len(), 1);
    assert!(simple(&any("t/a", 1), &any("t/b", 1))[0].starts_with("changed typed_config: {"));
}

#[test]
fn removes_ignored_fields() {
    let old =
        json!({"name": "a", "timeout": "1s", "v": [{"name": "x", "t": 1, "u": 1}, {"name": "y", "t": 1}]});
    let new = json!({"name": "a", "v": [{"name": "x", "t": 2, "u": 2}, {"name": "y", "t": 2}]});
    let with = |patterns: &[&str]| {
        let ignore = patterns.iter().map(|text| IgnorePattern::parse(text).unwrap()).collect();
        let found = compare(&old, &new, &Options { ignore, ..Options::default() });
        found.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(with(&[]), ["timeout", "v[name=x].t", "v[name=x].u", "v[name=y].t"]);
    assert_eq!(with(&["timeout", "v.t"]), ["v[name=x].u"]);
    assert_eq!(with(&["timeout", "v[name=x]"]), ["v[name=y].t"]);
    assert_eq!(with(&["**.t", "*.u"]), ["timeout"]);
    assert_eq!(with(&["v[*].t", "v[0].u"]), ["timeout"]);
    assert_eq!(with(&["v", "timeOut"]), Vec::<String>::new());
}

#[test]
fn secrets_with_different_seeds_are_incomparable() {
    let secret = |text: &str| json!({"inline_string": text});
    let (a, b) = (secret("[redacted 16 B, id 0001]"), secret("[redacted 16 B, id 0002]"));
    assert_eq!(simple(&a, &b).len(), 1, "of one session other ids are other values");
    assert_eq!(simple(&a, &a).len(), 0);
    let foreign = Options { has_foreign_seed: true, ..Options::default() };
    let found = compare(&a, &b, &foreign);
    assert_eq!((found.changes.len(), found.uncertain.len()), (0, 1));
    let longer = secret("[redacted 17 B, id 0002]");
    assert_eq!(compare(&a, &longer, &foreign).changes.len(), 1, "another length is another secret");
}

#[test]
fn compares_long_different_lists_in_bounded_time() {
    let list = |from: u64| Value::from((from..from + 20_000).collect::<Vec<_>>());
    assert_eq!(compare(&list(0), &list(100_000), &Options::default()).changes.len(), 20_000);
}
