use super::*;

/// Log lines, the program that writes each, and the notes expected for it.
const LINES: &[(&str, &str, &[&str])] = &[
    (
        "[2026-11-21 10:00:00.000][12][warning][config] [source/x.cc:1] StreamAggregatedResources gRPC config stream closed: 14, upstream connect error or disconnect/reset before headers. reset reason: connection termination",
        ENVOY,
        &["status 14 UNAVAILABLE", "details: upstream connect error"],
    ),
    (
        "DeltaAggregatedResources gRPC config stream to xds closed since 35s ago: 13, ",
        ENVOY,
        &["status 13 INTERNAL: without a text, usually the end at a maximum connection age"],
    ),
    ("gRPC config stream closed: 13,", ENVOY, &["Istio closes each stream after 30 minutes"]),
    ("gRPC config stream closed: 13, reset", ENVOY, &["status 13 INTERNAL: usually the connection broke"]),
    (
        r#"transport: received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "too_many_pings""#,
        "gRPC and Envoy",
        &[],
    ),
    (
        "StreamClusters gRPC config stream to xds closed: 8, too large (previously 14, gone since 12s ago)",
        ENVOY,
        &["status 8 RESOURCE_EXHAUSTED", "details: too large"],
    ),
    ("DeltaAggregatedResources gRPC config stream closed gracefully, bye", ENVOY, &["details: bye"]),
    (
        "gRPC config for type.googleapis.com/envoy.config.cluster.v3.Cluster rejected: Error adding/updating cluster(s) a",
        ENVOY,
        &["type cds: type.googleapis.com/envoy.config.cluster.v3.Cluster", "details: Error adding"],
    ),
    (
        "gRPC config: initial fetch timed out for type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        ENVOY,
        &["type eds"],
    ),
    (
        "Ignoring unwatched type URL type.googleapis.com/envoy.config.listener.v3.Listener",
        ENVOY,
        &["type lds"],
    ),
    ("Unexpected EDS cluster (expecting c): d", ENVOY, &["type eds", "resource c", "details: d"]),
    (
        r#"ADS mode: not responding to request type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment [a b]: "c" not listed"#,
        "go-control-plane",
        &["type eds", "resource c"],
    ),
    (r#"ADS mode: not responding to request: "c" not listed"#, "go-control-plane", &["resource c"]),
    (
        "SERVER: Received message larger than max (5242880 vs. 4194304)",
        "gRPC",
        &["5242880 bytes, above the limit of 4194304"],
    ),
    ("grpc: received message larger than max (5242880 vs. 4194304)", "gRPC", &["5242880 bytes"]),
    ("UNAVAILABLE: No matching route found in xDS route config", "gRPC", &["type rds"]),
    ("rpc error: code = Unavailable desc = no matched route was found", "gRPC", &["type rds"]),
    ("UNAVAILABLE: Could not find xDS route matching RPC", "gRPC", &["type rds"]),
    ("could not find VirtualHost for echo.test in RouteConfiguration", "gRPC", &["details: echo.test"]),
    (
        "no children in weighted_target policy: EDS resource foo contains no localities",
        "gRPC",
        &["resource foo"],
    ),
    ("UNAVAILABLE: No usable endpoint from cluster(s): [foo, bar]", "gRPC", &["details: foo, bar"]),
    ("Received message larger than max (5242880 vs 4194304)", "gRPC", &["5242880 bytes"]),
    (
        "gRPC message exceeds maximum size 4194304: 5242880",
        "grpc-java",
        &["5242880 bytes, above the limit of 4194304"],
    ),
    (
        "Only unique values for domains are permitted. Duplicate entry of domain a.test in route edge",
        ENVOY,
        &["type rds", "resource edge", "details: a.test"],
    ),
    (
        "Didn't find a registered implementation for 'envoy.filters.http.x' with type URL: 'a.b.C'",
        ENVOY,
        &["resource envoy.filters.http.x", "details: a.b.C"],
    ),
    ("Didn't find a registered implementation for name: 'x'", ENVOY, &["resource x"]),
    (
        "Protobuf message (type envoy.config.cluster.v3.Cluster reason INVALID with unknown field set {99}) has unknown fields",
        ENVOY,
        &["type cds", "details: 99"],
    ),
    ("web.default Kubernetes SYNCED STALE (Never Acknowledged) SYNCED", "istioctl", &[]),
    ("web.default  STALE  SYNCED", "istioctl", &[]),
    ("web.default  SYNCED  NOT SENT", "istioctl", &[]),
    ("web.default  SYNCED  ERROR", "istioctl", &[]),
    ("no healthy upstream", ENVOY, &["type cds"]),
    (r#""GET / HTTP/1.1" 503 UH no_healthy_upstream - "-" 0 19"#, ENVOY, &["type cds"]),
    (r#"GET / HTTP/1.1" 503 NC cluster_not_found"#, ENVOY, &["type cds"]),
    (r#"GET / HTTP/1.1" 503 NR route_not_found"#, ENVOY, &["type rds"]),
    (r#"{"response_code":404,"response_flags":"NR"}"#, ENVOY, &["type rds"]),
    ("route: unknown cluster 'payments'", ENVOY, &["resource payments"]),
    (
        r#"xds: resource "echo" of type "ListenerResource" has been removed"#,
        "grpc-go",
        &["type lds", "resource echo"],
    ),
    ("UNAVAILABLE: timeout obtaining resource from xDS server cp:1", "gRPC C-core", &["details: cp:1"]),
    ("Timed out waiting for resource echo from xDS server", "grpc-java", &["resource echo"]),
    ("RouteConfiguration edge does not exist", "grpc-js", &["type rds", "resource edge"]),
    ("CDS resource backend does not exist", "gRPC", &["type cds", "resource backend"]),
    ("resource does not exist", "gRPC", &[]),
    (
        r#"[xds-channel 0x1] Sending NACK for resource type: "type.googleapis.com/envoy.config.listener.v3.Listener", version: "1", nonce: "2", reason: bad filter"#,
        "grpc-go",
        &["type lds", "details: bad filter"],
    ),
    ("Sending NACK for LDS update, nonce: 1, current version: ", "grpc-java", &["type lds"]),
    (
        "ADS stream closed: rpc error: code = Unavailable desc = connection reset",
        "grpc-go",
        &["status 14 UNAVAILABLE", "details: connection reset"],
    ),
    ("ADS stream closed with status UNAVAILABLE: null. Cause: x", "grpc-java", &["status 14"]),
    (
        "REST update for /v3/discovery:endpoints rejected: malformed IP address: a",
        ENVOY,
        &["type eds", "details: malformed IP address: a"],
    ),
    ("REST config update failed: fetch failure", ENVOY, &["details: fetch failure"]),
    (
        "ADS:EDS: REQ web-1.default Expired nonce received 8a1c, sent 9b2d",
        "istiod",
        &["type eds", "details: received 8a1c, sent 9b2d"],
    ),
    (
        "gRPC config stream closed: 14, upstream connect error or disconnect/reset before headers. reset reason: protocol error",
        ENVOY,
        &["details: protocol error"],
    ),
    ("GOAWAY received; Error code: 11; Debug Text: too_many_pings", "gRPC and Envoy", &[]),
    (
        "transport: closing: Got GoAway with code ENHANCE_YOUR_CALM and debug data equal ASCII \"too_many_pings\"",
        "gRPC and Envoy",
        &[],
    ),
    (
        "XDS client connection error: gRPC connection error:status: Unavailable, message: \"x\", retrying in 15s",
        "ztunnel",
        &["status 14 UNAVAILABLE"],
    ),
    (
        "timed out waiting for workload 'Uid(\"cluster1//Pod/default/web\")' from xds",
        "ztunnel",
        &["resource Uid"],
    ),
    ("odcds: on-demand discovery for cluster pay timed out", ENVOY, &["type cds", "resource pay"]),
    ("vhds: only 'DELTA_GRPC' is supported as an api_type", ENVOY, &["type vhds"]),
    (
        "scope key conflict found, first scope is a, second scope is b",
        ENVOY,
        &["type srds", "resource a", "details: b"],
    ),
    (
        "LDS response Listener 'edge' validation error: no filter",
        "grpc-java",
        &["type lds", "resource edge", "details: no filter"],
    ),
    (
        "xds: error received from xDS stream: failed to create an ADS stream: rpc error: code = Unavailable",
        "grpc-go",
        &["details: failed to create"],
    ),
    (
        "xDS response validation errors: [resource index 0: a: INVALID_ARGUMENT: why]",
        "gRPC C-core",
        &["details: resource index 0: a: INVALID_ARGUMENT: why"],
    ),
    (r#"Decompressor is not installed for grpc-encoding "gzip""#, "grpc-go", &["details: gzip"]),
    (
        r#"resource name "web" of type "ListenerResource" not found in received response"#,
        "grpc-go",
        &["type lds", "resource web"],
    ),
    (
        "Error adding/updating cluster(s) pay: cannot create an EDS cluster without an EDS config",
        ENVOY,
        &["type cds", "resource pay"],
    ),
    ("ClusterValidationError.ConnectTimeout: value must be greater than 0s", ENVOY, &["type cds"]),
    ("route: unknown weighted cluster 'zz'", ENVOY, &["resource zz"]),
    ("ConnectTimeout: value must be greater than 0s", ENVOY, &["details: ConnectTimeout: value"]),
    ("cannot bind '0.0.0.0:80': Address already in use", ENVOY, &["type lds", "0.0.0.0:80"]),
    ("Only a single wildcard domain is permitted in route r", ENVOY, &["type rds", "resource r"]),
    ("Unable to unpack as envoy.config.cluster.v3.Cluster: x", ENVOY, &["type cds"]),
    ("malformed IP address: a.test", ENVOY, &["details: a.test"]),
    ("duplicate cluster pay found in response", ENVOY, &["type cds", "resource pay"]),
    (
        r#"error parsing "CDS" response: resource "pay": no lb_policy"#,
        "grpc-go",
        &["resource pay", "details: no lb_policy"],
    ),
    ("cp:1 ADS stream ended. code=13 details= Received RST_STREAM with code 2", "grpc-js", &["status 13"]),
    (
        "field:lb_policy error:LB policy not supported",
        "gRPC C-core",
        &["details: lb_policy error:LB policy not supported"],
    ),
    ("[field:lb_policy error:LB policy is not supported]", "gRPC C-core", &["LB policy is not supported"]),
    (
        "Only unique names for routes are supported. Duplicate entry of route with name 'r1'",
        ENVOY,
        &["type rds", "details: r1"],
    ),
    (
        "error adding listener: 'in' has duplicate address '0.0.0.0:80' as existing listener",
        ENVOY,
        &["type lds", "resource in", "details: 0.0.0.0:80"],
    ),
    ("error adding listener: '0.0.0.0:80' has duplicate address", ENVOY, &["type lds"]),
    ("rpc error: code = Unavailable desc = transport is closing", "grpc-go", &["status 14", "is closing"]),
    (
        "2026-11-22T16:04:53.123Z [ERROR] rpc error: code = Unavailable desc = transport is closing",
        "grpc-go",
        &["status 14"],
    ),
    (
        "[2026-11-22 16:04:53.123][7][warning][config] [source/x.cc:1] ConnectTimeout: value must be greater than 0s",
        ENVOY,
        &["details: ConnectTimeout: value"],
    ),
    (
        "W1122 16:04:53.123456   17 xds_client.cc:1024] [field:lb_policy error:LB policy is not supported]",
        "gRPC C-core",
        &["LB policy is not supported"],
    ),
    (
        "2026-11-22T16:04:53.123456Z\twarn\tads\tADS:CDS: ACK ERROR web-1.default-7 Internal:Error adding/updating cluster(s) a",
        "istiod",
        &["type cds", "details: Internal:Error adding"],
    ),
    (
        "2026-11-22T16:04:53Z\tinfo\tads\tADS: \"10.1.2.3:40000\" web-1.default-7 terminated with stream: rpc error",
        "istiod",
        &["details: rpc error"],
    ),
    (
        "2026-11-22T16:04:53.123Z [ERROR] agent.envoy.xds: got error response from envoy proxy: service_id=web \
         typeUrl=type.googleapis.com/envoy.config.cluster.v3.Cluster nonce=5 error=\"rpc error\"",
        "Consul",
        &["type cds", "details: rpc error"],
    ),
    ("this server has too many xDS streams open, please try another", "Consul", &[]),
];

const ENVOY: &str = "Envoy";

#[test]
fn compiles_every_pattern() {
    for (pattern, form) in PATTERNS.iter() {
        assert!(pattern.is_some(), "{}", form.title);
        assert!(!form.means.is_empty() && !form.look.is_empty(), "{}", form.title);
    }
}

#[test]
fn extracts_parts_of_known_lines() {
    for (line, who, parts) in LINES {
        let found = explain(line);
        let Some(first) = found.first() else { panic!("unknown: {line}") };
        assert_eq!(first.who, *who, "{line}");
        for part in *parts {
            let notes = found.iter().flat_map(|meaning| &meaning.notes);
            assert!(notes.into_iter().any(|note| note.contains(part)), "{line}: {part} in {found:#?}");
        }
    }
}

#[test]
fn tests_every_form() {
    for (pattern, form) in PATTERNS.iter() {
        let of_form = |line: &&str| pattern.as_ref().is_some_and(|pattern| pattern.is_match(line));
        let others = [
            "Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be greater than 0s)",
            "invalid response, will NACK: nonce=7",
            "ADS call status received (xds_channel=0x1, ads_call=0x2): UNAVAILABLE: gone",
            "connections to all backends failing; last error: UNKNOWN: ipv4:1: refused",
        ];
        let lines = LINES.iter().map(|(line, ..)| *line).chain(others);
        assert!(lines.into_iter().any(|line| of_form(&line)), "{}", form.title);
    }
}

#[test]
fn returns_nothing_for_unknown_lines() {
    for line in ["", "all is well", "stale", "UHF", "503", "closed: 14", "Cluster.connect_timeout"] {
        assert_eq!(explain(line), [], "{line}");
    }
}

#[test]
fn quotes_parts_for_shell() {
    let found = explain("RouteConfiguration it's;rm does not exist");
    assert!(found[0].look[0].starts_with("xdscope get SESSION rds"), "{found:#?}");
    let found = explain("no healthy upstream for 'a b'");
    assert!(found[0].look[0].starts_with("xdscope get SESSION eds/'a b' "), "{found:#?}");
    let found = explain("route: unknown cluster 'a\u{1b}[31m'");
    assert!(found[0].notes.iter().all(|note| !note.contains('\u{1b}')), "{found:#?}");
}

#[test]
fn commands_name_no_type_that_the_line_does_not_state() {
    let looks =
        |line: &str| -> Vec<String> { explain(line).into_iter().flat_map(|meaning| meaning.look).collect() };
    for (line, ..) in LINES {
        for look in looks(line) {
            assert!(!look.contains("TYPE") && !look.contains("{"), "{line}: {look}");
        }
    }
    let refused = looks("malformed IP address: foo");
    assert!(
        refused.iter().any(|look| look.starts_with("xdscope log SESSION --filter kind:nack ")),
        "{refused:?}"
    );
}
