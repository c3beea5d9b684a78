use serde_json::{Value, json};

use super::*;

/// Returns the violations of a message in protobuf JSON as texts.
fn broken(name: &str, body: Value) -> Vec<String> {
    let schema = Schema::builtin();
    let bytes = schema.encode(name, &body).unwrap();
    schema.violations(name, &bytes).unwrap().iter().map(ToString::to_string).collect()
}

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

#[test]
fn accepts_valid_messages() {
    let eds = json!({"name": "c", "type": "EDS", "connect_timeout": "1s",
        "eds_cluster_config": {"eds_config": {"ads": {}, "resource_api_version": "V3"}}});
    assert_eq!(broken(CLUSTER, eds), Vec::<String>::new());
    assert_eq!(
        broken("envoy.config.endpoint.v3.ClusterLoadAssignment", json!({"cluster_name": "c"})),
        Vec::<String>::new()
    );
}

#[test]
fn reports_violations_of_each_kind_of_rule() {
    let route = "envoy.config.route.v3.RouteConfiguration";
    let host = |host: Value| json!({"name": "r", "virtual_hosts": [host]});
    for (name, body, wanted) in [
        (CLUSTER, json!({}), "name must not be empty"),
        (CLUSTER, json!({"name": "c", "connect_timeout": "0s"}), "connect_timeout must be greater than 0s"),
        (CLUSTER, json!({"name": "c", "type": 99}), "type must be a defined value, not 99"),
        (
            CLUSTER,
            json!({"name": "c", "per_connection_buffer_limit_bytes": 1, "health_checks": [{"timeout": "0s"}]}),
            "health_checks[0].timeout must be greater than 0s",
        ),
        (CLUSTER, json!({"name": "c", "health_checks": [{}]}), "health_checks[0].timeout must be set"),
        (
            CLUSTER,
            json!({"name": "c", "lb_subset_config": {"subset_selectors": [{"fallback_policy": 77}]}}),
            "lb_subset_config.subset_selectors[0].fallback_policy must be a defined value, not 77",
        ),
        (route, host(json!({"name": "v"})), "virtual_hosts[0].domains must have at least 1 item"),
        (
            route,
            host(json!({"name": "v", "domains": ["*"], "routes": [{"match": {"prefix": "/"}}]})),
            "virtual_hosts[0].routes[0].action must be set: one of route, redirect, direct_response, filter_action, \
             non_forwarding_action",
        ),
        (
            route,
            host(json!({"name": "v", "domains": ["*"], "routes": [{"match": {"prefix": "/"},
                "direct_response": {"status": 99}}]})),
            "virtual_hosts[0].routes[0].direct_response.status must be at least 200 and less than 600",
        ),
        (
            route,
            host(json!({"name": "v", "domains": ["*"], "request_headers_to_remove": ["a\nb"]})),
            "virtual_hosts[0].request_headers_to_remove[0] must be a header name",
        ),
    ] {
        let found = broken(name, body.clone());
        assert!(found.iter().any(|one| one == wanted), "{body}: {found:?}");
    }
}

#[test]
fn validates_payloads_of_any() {
    let manager = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    let body = json!({"name": "l", "filter_chains": [{"filters": [{"name": "f", "typed_config": {"@type": manager}}]}]});
    let found = broken("envoy.config.listener.v3.Listener", body);
    assert!(
        found
            .iter()
            .any(|one| one == "filter_chains[0].filters[0].typed_config.stat_prefix must not be empty"),
        "{found:?}"
    );
    let schema = Schema::builtin();
    let any = schema
        .encode("google.protobuf.Any", &json!({"@type": format!("type.googleapis.com/{CLUSTER}")}))
        .unwrap();
    let found = schema.violations("google.protobuf.Any", &any).unwrap();
    assert_eq!((found.len(), found[0].path.as_str()), (1, "name"));
}

#[test]
fn rejects_unknown_types_and_undecodable_bytes() {
    let schema = Schema::builtin();
    assert_eq!(schema.violations("no.such.Type", b""), Err(Unchecked::UnknownType("no.such.Type".into())));
    assert_eq!(schema.violations(CLUSTER, b"\x0a\xff"), Err(Unchecked::Unreadable(CLUSTER.into())));
}

#[test]
fn limits_the_number_of_violations() {
    let hosts: Vec<Value> = (0..500).map(|_| json!({})).collect();
    assert_eq!(
        broken("envoy.config.route.v3.RouteConfiguration", json!({"virtual_hosts": hosts})).len(),
        MAX_VIOLATIONS
    );
}

#[test]
fn rejects_durations_that_no_client_can_use() {
    let route = |duration: &str| {
        let action = json!({"cluster": "c", "timeout": duration});
        let routes = json!([{"match": {"prefix": "/"}, "route": action}]);
        let hosts = json!([{"name": "v", "domains": ["*"], "routes": routes}]);
        broken("envoy.config.route.v3.RouteConfiguration", json!({"name": "r", "virtual_hosts": hosts}))
    };
    // The API states no rule for this field.
    let wanted = "virtual_hosts[0].routes[0].route.timeout must be a duration from 0s to 9223372035s";
    assert_eq!(route("-1s"), [wanted]);
    assert_eq!(route("9223372036s"), [wanted]);
    assert_eq!(route("9223372035.999999999s"), Vec::<String>::new());
    assert_eq!(route("0s"), Vec::<String>::new());
    let cluster = json!({"name": "c", "connect_timeout": "-1s"});
    assert_eq!(broken(CLUSTER, cluster), ["connect_timeout must be a duration from 0s to 9223372035s"]);
}

#[test]
fn accepts_nan_in_ranges() {
    let ratio = |value: Value| {
        broken(CLUSTER, json!({"name": "c", "preconnect_policy": {"per_upstream_preconnect_ratio": value}}))
    };
    assert_eq!(ratio(json!("NaN")), Vec::<String>::new());
    let wanted = "preconnect_policy.per_upstream_preconnect_ratio must be at least 1 and at most 3";
    assert_eq!(ratio(json!("Infinity")), [wanted]);
}

#[test]
fn checks_only_durations_of_load_balancing_policies() {
    let policy = |name: &str, body: Value| {
        let mut config = body;
        config["@type"] =
            json!(format!("type.googleapis.com/envoy.extensions.load_balancing_policies.{name}"));
        let extension = json!({"name": "p", "typed_config": config});
        let policies = json!([{"typed_extension_config": extension}]);
        broken(CLUSTER, json!({"name": "c", "load_balancing_policy": {"policies": policies}}))
    };
    assert_eq!(policy("maglev.v3.Maglev", json!({"table_size": 99999999})), Vec::<String>::new());
    let found = policy(
        "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
        json!({"blackout_period": "-1s", "oob_reporting_period": "1s"}),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("blackout_period must be a duration from 0s to 9223372035s"), "{found:?}");
    let found = policy("override_host.v3.OverrideHost", json!({}));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn checks_secrets_unless_they_are_redacted() {
    let name = "envoy.extensions.filters.http.aws_request_signing.v3.AwsRequestSigning";
    let signing = |secret: &str| {
        let inline = json!({"access_key_id": "a", "secret_access_key": secret});
        broken(name, json!({"service_name": "s", "credential_provider": {"inline_credential": inline}}))
    };
    assert_eq!(signing("s"), Vec::<String>::new());
    assert_eq!(signing("[redacted 40 B, id 12ab]"), Vec::<String>::new());
    assert_eq!(signing(""), ["credential_provider.inline_credential.secret_access_key must not be empty"]);
}

#[test]
fn orders_violations_as_envoy_finds_them() {
    // `connect_timeout` is declared after the oneof `cluster_discovery_type`, which comes last.
    let found = broken(CLUSTER, json!({"type": 99, "connect_timeout": "0s"}));
    assert_eq!(
        found,
        [
            "name must not be empty",
            "connect_timeout must be greater than 0s",
            "type must be a defined value, not 99"
        ]
    );
}

#[test]
fn lists_the_first_violations_and_counts_the_rest() {
    let texts: Vec<String> = (1..=10).map(|n| format!("f{n}")).collect();
    assert_eq!(list_violations(&texts[..2]), "f1; f2");
    assert_eq!(list_violations(&texts), "f1; f2; f3; f4; f5; f6; f7; f8; and 2 more");
}

/// Covers rules that the API does not use in resources, with a user's descriptor set.
#[test]
fn applies_rules_of_user_sets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.proto");
    std::fs::write(
        &path,
        r#"syntax = "proto3"; package own; import "validate/validate.proto"; import "google/protobuf/wrappers.proto";
        message M {
          string prefix = 1 [(validate.rules).string = {prefix: "a", ignore_empty: true}];
          string pattern = 2 [(validate.rules).string = {pattern: "^[a-c]+$", ignore_empty: true}];
          string address = 3 [(validate.rules).string = {address: true, ignore_empty: true}];
          google.protobuf.UInt32Value wrapped = 4 [(validate.rules).uint32 = {lte: 5}];
          map<string, int32> map = 5 [(validate.rules).map = {max_pairs: 1, keys: {string: {min_len: 2}}, values: {int32: {gt: 0}}}];
          repeated string list = 6 [(validate.rules).repeated = {unique: true, max_items: 2}];
          double outside = 7 [(validate.rules).double = {lt: -1, gt: 1, ignore_empty: true}];
          bytes bytes = 8 [(validate.rules).bytes = {in: ["x", "y"], ignore_empty: true}];
          uint64 number = 9 [(validate.rules).uint64 = {not_in: [7]}];
          M inner = 10 [(validate.rules).message.skip = true];
          string part = 11 [(validate.rules).string = {pattern: "[a-c]", ignore_empty: true}];
          string digits = 12 [(validate.rules).string = {pattern: "\\d+", ignore_empty: true}];
          string ip = 13 [(validate.rules).string = {ip: true, ignore_empty: true}];
          string host = 14 [(validate.rules).string = {hostname: true, ignore_empty: true}];
          repeated double numbers = 15 [(validate.rules).repeated.unique = true];
          repeated M messages = 16 [(validate.rules).message = {skip: true, required: true}];
          uint32 fixed = 17 [(validate.rules).uint32 = {gte: 5, lte: 5}];
        }"#,
    )
    .unwrap();
    let schema = Schema::with(&[], &[path], &[]).unwrap();
    let broken = |body: Value| {
        let bytes = schema.encode("own.M", &body).unwrap();
        let found = schema.violations("own.M", &bytes).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(broken(json!({})), "");
    for (body, wanted) in [
        (json!({"prefix": "b"}), "prefix must begin with \"a\""),
        (json!({"prefix": "ab"}), ""),
        (json!({"pattern": "abcd"}), "pattern must match \"^[a-c]+$\""),
        (json!({"address": "-"}), "address must be a host name or an IP address"),
        (json!({"address": "::1"}), ""),
        (json!({"wrapped": 6}), "wrapped must be at most 5"),
        (json!({"wrapped": 5}), ""),
        (
            json!({"map": {"a": 0}}),
            "map[\"a\"] must have at least 2 characters; map[\"a\"] must be greater than 0",
        ),
        (json!({"map": {"aa": 1, "bb": 1}}), "map must have at most 1 entry"),
        (
            json!({"list": ["a", "a", "b"]}),
            "list must have at most 2 items; list must not contain duplicate items",
        ),
        (json!({"outside": 0.5}), "outside must be less than -1 or greater than 1"),
        (json!({"outside": 2}), ""),
        (json!({"bytes": "eg=="}), "bytes must be one of \"x\", \"y\""),
        (json!({"number": 7}), "number must be none of 7"),
        (json!({"inner": {"prefix": "b"}}), ""),
        // Patterns must match the whole text, and their classes are ASCII.
        (json!({"part": "abc"}), "part must match \"[a-c]\""),
        (json!({"part": "b"}), ""),
        (json!({"digits": "\u{661}"}), "digits must match \"\\\\d+\""),
        (json!({"digits": "12"}), ""),
        (json!({"ip": "abcd"}), "ip must be an IP address"),
        (json!({"ip": "1.2.3.4"}), ""),
        (json!({"host": "a."}), ""),
        (json!({"host": format!("{}.", "a.".repeat(127))}), "host must be a host name"),
        (json!({"numbers": [0.0, -0.0]}), "numbers must not contain duplicate items"),
        (json!({"numbers": ["NaN", "NaN"]}), ""),
        // Rules about messages do not apply to lists.
        (json!({"messages": [{"prefix": "b"}]}), "messages[0].prefix must begin with \"a\""),
        // Equal bounds exclude nothing, as the range between them is empty.
        (json!({"fixed": 4}), ""),
    ] {
        assert_eq!(broken(body.clone()), wanted, "{body}");
    }
}
