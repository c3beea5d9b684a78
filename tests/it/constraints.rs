//! Compares the verdict of xdscope's constraint checks with the verdict of a real Envoy.

use serde_json::{Value, json};
use xdscope::schema::Schema;

use crate::support::world::World;

const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
const MANAGER: &str = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// Returns a route configuration with one route, which takes the fields of `action`.
fn routes(action: Value) -> Value {
    let route = json!({ "match": { "prefix": "/" }, "route": action });
    json!({ "name": "r", "virtual_hosts": [{ "name": "v", "domains": ["*"], "routes": [route] }] })
}

/// Returns a bootstrap with one listener that serves `routes` and the cluster `c` that they name.
fn bootstrap(routes: &Value) -> Value {
    let manager = json!({
        "@type": format!("type.googleapis.com/{MANAGER}"),
        "stat_prefix": "s",
        "route_config": routes,
        "http_filters": [{ "name": "router", "typed_config": { "@type": ROUTER } }],
    });
    json!({ "static_resources": {
        "listeners": [{
            "name": "l",
            "address": { "socket_address": { "address": "127.0.0.1", "port_value": 0 } },
            "filter_chains": [{ "filters": [{ "name": "hcm", "typed_config": manager }] }],
        }],
        "clusters": [{ "name": "c", "connect_timeout": "1s" }],
    } })
}

#[test]
fn header_constraints_agree_with_envoy() {
    let Some(world) = World::open("header_constraints_agree_with_envoy") else { return };
    let schema = Schema::builtin();
    let weighted = |header: Option<&str>| {
        let mut clusters = json!({ "clusters": [{ "name": "c", "weight": 1 }] });
        if let Some(header) = header {
            clusters["header_name"] = json!(header);
        }
        routes(json!({ "weighted_clusters": clusters }))
    };
    let mirror = |policy: Value| routes(json!({ "cluster": "c", "request_mirror_policies": [policy] }));
    let rewrite = |header: &str| routes(json!({ "cluster": "c", "host_rewrite_header": header }));
    let cluster_header = |header: &str| routes(json!({ "cluster_header": header }));
    let mut accepted = 0;
    let cases = [
        weighted(None),
        weighted(Some("x-random")),
        weighted(Some("x random")),
        weighted(Some("x\nrandom")),
        mirror(json!({ "cluster": "c" })),
        mirror(json!({ "cluster_header": "x-mirror" })),
        mirror(json!({ "cluster_header": "x\u{0}mirror" })),
        rewrite(""),
        rewrite("x-host"),
        rewrite("x\rhost"),
        cluster_header(""),
        cluster_header("x-cluster"),
        cluster_header("x\ncluster"),
    ];
    for case in &cases {
        let bytes = schema.encode(ROUTES, case).expect("a route configuration");
        let ours: Vec<_> = schema
            .violations(ROUTES, &bytes)
            .expect("a known type")
            .iter()
            .map(ToString::to_string)
            .collect();
        let refusal = world.envoy_refusal(&bootstrap(case));
        assert_eq!(ours.is_empty(), refusal.is_none(), "{case}: xdscope {ours:?}, Envoy {refusal:?}");
        accepted += usize::from(refusal.is_none());
    }
    assert!(accepted > 0 && accepted < cases.len(), "Envoy accepted {accepted} of {}", cases.len());
}
