//! Texts that each client wrote about faulty resources, with the faults that the parser finds.

use serde_json::json;

use super::*;

fn cluster() -> Value {
    json!([
        {"name": "c-echo", "lb_policy": "MAGLEV", "transport_socket": {"name": "tls", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"}}},
        {"name": "c-two", "type": "STATIC"},
    ])
}

fn route() -> Value {
    json!([{"name": "r-echo", "virtual_hosts": [{"name": "all", "routes": [{"match": {}, "route": {"cluster": "c-echo",
        "weighted_clusters": {"clusters": [{"name": "c-echo"}]}}}]}]}])
}

fn endpoint() -> Value {
    json!([{"cluster_name": "e-echo", "endpoints": [{"priority": 3, "lb_endpoints": [{"endpoint": {}}]}]}])
}

fn listener() -> Value {
    json!([{"name": "echo.test", "api_listener": {"api_listener": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "http_filters": [{"name": "nope", "typed_config": {"@type": "type.googleapis.com/google.protobuf.StringValue",
            "value": "x"}}]}}}])
}

fn check(table: &[(Kind, Value, &str, &str)]) {
    for (kind, bodies, text, wanted) in table {
        assert_eq!(super::found(*kind, bodies.clone(), text), [*wanted], "{text}");
    }
}

#[test]
fn envoy() {
    let wrong = json!([{"name": "c-inner"}, {"name": "c1"}]);
    check(&[
        (
            Kind::Cds,
            json!([{"connect_timeout": "1s"}, {"name": "c1"}]),
            "goo.gle/debugproto    \nconnect_timeout {\n  seconds: 1\n}\n: Proto constraint validation failed \
             (ClusterValidationError.Name: value length must be at least 1 characters)",
            "- name",
        ),
        (
            Kind::Cds,
            json!([{"name": "c-garbage"}, {"name": "c1"}]),
            "Unable to unpack as envoy.config.cluster.v3.Cluster: goo.gle/debugstr   \ntype_url: \
             \"type.googleapis.com/envoy.config.cluster.v3.Cluster\"\nvalue: \"\\377\\377\\377\\377\"\n",
            "- -",
        ),
        (
            Kind::Cds,
            wrong,
            "type URL type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment embedded in an individual Any \
             does not match the message-wide type URL type.googleapis.com/envoy.config.cluster.v3.Cluster in \
             DeltaDiscoveryResponse goo.gle/debugstr   \nsystem_version_info: \"x\"\nresources {\n  name: \
             \"c-inner\"\n}\ntype_url: \"type.googleapis.com/envoy.config.cluster.v3.Cluster\"\n",
            "- -",
        ),
    ]);
}

#[test]
fn grpc_core() {
    let one = |text: &str| format!("xDS response validation errors: [resource index 0: {text}]");
    let field = |name: &str, of: &str, path: &str| {
        one(&format!("{name}: INVALID_ARGUMENT: errors validating {of}: [field:{path} error:why]"))
    };
    const HCM: &str = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    let filter = format!(
        "api_listener.api_listener.value[{HCM}].http_filters[0].typed_config.value[google.protobuf.StringValue]"
    );
    check(&[
        (
            Kind::Rds,
            route(),
            &field(
                "r-echo",
                "RouteConfiguration resource",
                "virtual_hosts[0].routes[0].route.weighted_clusters",
            ),
            "r-echo virtual_hosts[0].routes[0].route.weighted_clusters",
        ),
        (
            Kind::Eds,
            endpoint(),
            &field("e-echo", "EDS resource", "endpoints[0].lb_endpoints[0].endpoint.address.socket_address"),
            "e-echo endpoints[0].lb_endpoints[0].endpoint.address.socket_address",
        ),
        (
            Kind::Lds,
            listener(),
            &field("echo.test", "ApiListener", &filter),
            "echo.test api_listener.api_listener.http_filters[0].typed_config",
        ),
        (
            Kind::Cds,
            cluster(),
            &one("incorrect resource type \"envoy.config.endpoint.v3.ClusterLoadAssignment\" (should be \
                 \"envoy.config.cluster.v3.Cluster\")"),
            "c-echo -",
        ),
    ]);
}

#[test]
fn grpc_go() {
    let of = |kind: &str, text: &str| format!("error parsing \"{kind}Resource\" response: {text}");
    check(&[
        (
            Kind::Cds,
            cluster(),
            &of("Cluster", "resource \"c-echo\": transport_socket field has unexpected name: tls"),
            "c-echo transport_socket.name?",
        ),
        (
            Kind::Rds,
            route(),
            &of(
                "RouteConfig",
                "resource \"r-echo\": received route is invalid: route match:{}  route:{cluster:\"c-echo\"} doesn't \
                 have a path specifier",
            ),
            "r-echo -",
        ),
        (
            Kind::Eds,
            endpoint(),
            &of(
                "Endpoints",
                "resource \"e-echo\": priority 0 missing (with different priorities map[3:map[]] received)",
            ),
            "e-echo -",
        ),
        (
            Kind::Lds,
            listener(),
            &of("Listener", "resource \"echo.test\": no address field in LDS response: name:\"echo.test\""),
            "echo.test -",
        ),
        (
            Kind::Lds,
            listener(),
            &of("Listener", "resource \"echo.test\": http filters list is empty"),
            "echo.test -",
        ),
        (
            Kind::Lds,
            listener(),
            &of(
                "Listener",
                "resource \"echo.test\": no filter implementation found for \
                 \"type.googleapis.com/google.protobuf.StringValue\"",
            ),
            "echo.test api_listener.api_listener.http_filters[0].typed_config?",
        ),
        (
            Kind::Cds,
            cluster(),
            &of(
                "Cluster",
                "top level errors: unexpected resource type: \
                 \"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\" ",
            ),
            "- -",
        ),
    ]);
}

#[test]
fn grpc_js() {
    let of = |kind: &str, text: &str| {
        format!(
            "xDS response validation errors: [resource index 0: {kind} message validation failed: [{text}]]"
        )
    };
    check(&[
        (
            Kind::Cds,
            cluster(),
            &of(
                "Cluster",
                "Unsupported UpstreamTlsContext.common_tls_context.validation_context_type: undefined",
            ),
            "c-echo transport_socket.typed_config.common_tls_context?",
        ),
        (
            Kind::Rds,
            route(),
            &of(
                "RouteConfiguration",
                "virtual_hosts[all].routes[].route.weighted_clusters sum of weights is 0",
            ),
            "r-echo virtual_hosts[all].routes[].route.weighted_clusters",
        ),
        (
            Kind::Eds,
            endpoint(),
            &of("ClusterLoadAssignment", "Endpoints have priority 3 but not 2"),
            "e-echo -",
        ),
        (
            Kind::Eds,
            endpoint(),
            &of("ClusterLoadAssignment", "endpoints[0].lb_endpoints[0].endpoint.socket_address not set"),
            "e-echo endpoints[0].lb_endpoints[0].endpoint?",
        ),
        (
            Kind::Lds,
            listener(),
            &of("Listener", "No api_listener and no filter_chains and no default_filter_chain"),
            "echo.test api_listener?",
        ),
        (
            Kind::Lds,
            listener(),
            &of("Listener", "api_listener.api_listener: nope filter validation failed"),
            "echo.test api_listener.api_listener",
        ),
    ]);
}
