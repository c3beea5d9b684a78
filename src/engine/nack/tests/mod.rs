//! Texts from real clients and the faults that the parser reads from them.

mod blame;
mod gallery;
mod reference_paths;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};

struct Pushed {
    type_url: TypeUrl,
    names: Vec<Arc<str>>,
    bodies: Vec<Value>,
}

impl RefusedPush for Pushed {
    fn type_url(&self) -> &str {
        self.type_url.as_str()
    }
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }
    fn body(&self, index: usize) -> Option<Value> {
        self.bodies.get(index).cloned()
    }
}

fn pushed(kind: Kind, bodies: Value) -> Pushed {
    let type_url = kind.type_url(ApiVersion::V3).unwrap();
    let Value::Array(mut bodies) = bodies else { panic!("a list") };
    for body in &mut bodies {
        body["@type"] = type_url.as_str().into();
    }
    let name =
        |body: &Value| ["name", "cluster_name"].iter().find_map(|f| body[*f].as_str()).unwrap_or("").into();
    Pushed { type_url, names: bodies.iter().map(name).collect(), bodies }
}

/// Returns the client and a line `name field: reason` for each fault, with `?` after a
/// guess and `-` for an unknown part.
fn summarize(kind: Kind, bodies: Value, text: &str) -> (Option<ClientKind>, Vec<String>) {
    let nack = read(text, &pushed(kind, bodies), &Schema::builtin());
    let word = |found: &Option<Extracted>| match found {
        None => "-".to_owned(),
        Some(found) => format!("{}{}", found.value, if found.guessed { "?" } else { "" }),
    };
    let line = |entry: &NackFault| format!("{} {}: {}", word(&entry.name), word(&entry.field), entry.reason);
    (nack.client, nack.entries.iter().map(line).collect())
}

/// Returns the name and field of each fault.
fn found(kind: Kind, bodies: Value, text: &str) -> Vec<String> {
    let (_, lines) = summarize(kind, bodies, text);
    lines.into_iter().map(|line| line.split(": ").next().unwrap_or_default().to_owned()).collect()
}

fn clusters() -> Value {
    json!([
        {"name": "c1", "type": "EDS"},
        {"name": "c-both", "eds_cluster_config": {"eds_config": {"ads": {}}}},
        {"name": "c-ext", "transport_socket": {"name": "nope",
            "typed_config": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": "x"}}},
        {"name": "c-bad1", "type": "EDS"},
        {"name": "c-good"},
        {"name": "c-bad2", "load_assignment": {"cluster_name": "x", "endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": {"socket_address": {"address": "not-an-ip", "port_value": 1}}}}]}]}},
    ])
}

#[test]
fn envoy_names_all_faulty_clusters() {
    let text = "Error adding/updating cluster(s) c-bad1: cannot create an EDS cluster without an EDS config, c-bad2: \
                malformed IP address: not-an-ip. Consider setting resolver_name or setting cluster type to \
                'STRICT_DNS' or 'LOGICAL_DNS'";
    let (client, lines) = summarize(Kind::Cds, clusters(), text);
    assert_eq!(client, Some(ClientKind::Envoy));
    assert_eq!(
        lines,
        [
            "c-bad1 -: cannot create an EDS cluster without an EDS config",
            "c-bad2 load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.address?: malformed \
             IP address: not-an-ip. Consider setting resolver_name or setting cluster type to 'STRICT_DNS' or \
             'LOGICAL_DNS'",
        ]
    );
}

#[test]
fn reads_all_forms_of_envoy() {
    let table = [
        ("c-both: eds_cluster_config set in a non-EDS cluster", "c-both eds_cluster_config?"),
        (
            "c-ext: Didn't find a registered implementation for 'nope' with type URL: 'google.protobuf.StringValue'",
            "c-ext transport_socket.name?",
        ),
        ("c1: duplicate cluster c1 found", "c1 -"),
        (
            "reviews: Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be \
             greater than 0s)",
            "reviews connect_timeout",
        ),
    ];
    for (rest, wanted) in table {
        let text = format!("Error adding/updating cluster(s) {rest}");
        assert_eq!(found(Kind::Cds, clusters(), &text), [wanted], "{rest}");
    }
    let listeners = json!([{"name": "l-noaddr"}, {"name": "l-filter", "filter_chains": [{"filters": [{"name":
        "mystery"}]}]}]);
    let text = "Error adding/updating listener(s) l-noaddr: error adding listener named 'l-noaddr': address is \
                necessary\nl-filter: Didn't find a registered implementation for 'mystery' with type URL: \
                'google.protobuf.StringValue'\n";
    assert_eq!(
        found(Kind::Lds, listeners, text),
        ["l-noaddr -", "l-filter filter_chains[0].filters[0].name?"]
    );
    assert_eq!(
        found(Kind::Cds, clusters(), "duplicate name c1 found among added/updated resources"),
        ["c1? -"]
    );
}

#[test]
fn reads_names_with_colons_and_commas() {
    let names = json!([{"name": "a"}, {"name": "a: b, c"}, {"name": "c: d"}]);
    let text = "Error adding/updating cluster(s) a: b, c: why, and: more, c: d: because";
    let (_, lines) = summarize(Kind::Cds, names, text);
    assert_eq!(lines, ["a: b, c -: why, and: more", "c: d -: because"]);
    // Without the response, only the first name is certain.
    let (_, lines) = summarize(Kind::Cds, json!([]), "Error adding/updating cluster(s) x: why, y: too");
    assert_eq!(lines, ["x -: why, y: too"]);
}

#[test]
fn follows_constraints_into_embedded_messages() {
    let route = json!([{"name": "r1", "virtual_hosts": [{"name": "v"}]}]);
    let text = "goo.gle/debugproto    \nname: \"r1\"\nvirtual_hosts {\n  name: \"v\"\n}\n: Proto constraint validation \
                failed (RouteConfigurationValidationError.VirtualHosts[0]: embedded message failed validation | caused \
                by VirtualHostValidationError.Routes[0]: embedded message failed validation | caused by \
                RouteValidationError.Match: value is required)";
    assert_eq!(
        summarize(Kind::Rds, route, text).1,
        ["r1 virtual_hosts[0].routes[0].match: value is required"]
    );
    let endpoints = json!([{"cluster_name": "c1"}, {"cluster_name": "c2"}]);
    let text = "goo.gle/debugstr   \ncluster_name: \"c1\"\nendpoints {\n  priority: 200\n}\n: Proto constraint validation \
                failed (ClusterLoadAssignmentValidationError.Endpoints[0]: embedded message failed validation | caused \
                by LocalityLbEndpointsValidationError.Priority: value must be less than or equal to 128)";
    assert_eq!(
        summarize(Kind::Eds, endpoints, text).1,
        ["c1 endpoints[0].priority: value must be less than or equal to 128"]
    );
    // The path continues into the payload of an Any.
    let listener = json!([{"name": "l", "filter_chains": [{"filters": [{"name": "hcm", "typed_config": {"@type":
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"}}]}]}]);
    let text = "Error adding/updating listener(s) l: Proto constraint validation failed \
                (HttpConnectionManagerValidationError.StatPrefix: value length must be at least 1 characters)";
    assert_eq!(
        summarize(Kind::Lds, listener, text).1,
        [
            "l filter_chains[0].filters[0].typed_config.stat_prefix: value length must be at least 1 characters"
        ]
    );
}

#[test]
fn marks_guesses() {
    let table = [
        (
            Kind::Cds,
            json!([{"name": "c1"}, {"name": "c-neg", "connect_timeout": "-1s"}]),
            "Invalid duration: Expected positive duration: goo.gle/debugproto    \nseconds: -1\n",
            "c-neg? connect_timeout?",
        ),
        (
            Kind::Rds,
            json!([{"name": "r1", "virtual_hosts": [{"domains": ["b.test", "a.test"]}]}]),
            "Only unique values for domains are permitted. Duplicate entry of domain a.test in route r1",
            "r1? virtual_hosts[0].domains[1]?",
        ),
        (
            Kind::Rds,
            json!([{"name": "r1", "virtual_hosts": [{"routes": [{"route": {"cluster": "nowhere"}}]}]}]),
            "route: unknown cluster 'nowhere'",
            "r1? virtual_hosts[0].routes[0].route.cluster?",
        ),
        (Kind::Cds, json!([{"name": "a1"}, {"name": "b1"}]), "out of luck", "- -"),
        (Kind::Cds, json!([{"name": "a1"}, {"name": "b1"}]), "b1: out of luck", "b1 -"),
        (Kind::Cds, json!([{"name": "a1"}, {"name": "b1"}]), "out of luck with b1", "b1? -"),
        (Kind::Cds, json!([{"name": "a1"}]), "", "a1? -"),
    ];
    for (kind, bodies, text, wanted) in table {
        assert_eq!(found(kind, bodies, text), [wanted], "{text}");
    }
}

#[test]
fn finds_unknown_fields_in_their_message() {
    let limit = "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit";
    let typed = "type.googleapis.com/xds.type.v3.TypedStruct";
    let listener = json!([{"name": "l", "filter_chains": [{"filters": [{"name": "other", "typed_config": {"@type": typed,
        "type_url": "x", "value": {"max_tokens": 1}}}, {"name": "limit", "typed_config": {"@type": typed,
        "type_url": format!("type.googleapis.com/{limit}"), "value": {"token_bucket": {"max_tokenz": 1}}}}]}]}]);
    let place = "filter_chains[0].filters[1].typed_config.value.token_bucket.max_tokenz";
    for text in [
        format!(
            "Error adding/updating listener(s) l: Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in \
                 {limit}, near 1:40 (offset 39): no such field: 'max_tokenz'): {{}}"
        ),
        "Error adding/updating listener(s) l: Unable to parse JSON as proto (INVALID_ARGUMENT:\
         (token_bucket.max_tokenz): Cannot find field.): {}"
            .to_owned(),
        format!("Error adding/updating listener(s) l: Cannot find field: maxTokenz in message {limit}"),
    ] {
        assert_eq!(found(Kind::Lds, listener.clone(), &text), [format!("l {place}")], "{text}");
    }
    // A field that the response does not have is still named.
    let text = "error parsing \"ClusterResource\" response: resource \"c1\": proto: (line 1:2): unknown field \"tokens\"";
    assert_eq!(found(Kind::Cds, json!([{"name": "c1"}]), text), ["c1 tokens"]);
}

#[test]
fn reads_fields_of_grpc_core() {
    let text = "xDS response validation errors: [resource index 0: c-echo: INVALID_ARGUMENT: errors validating Cluster \
                resource: [field:eds_cluster_config.eds_config error:ConfigSource is not ads or self; \
                field:outlier_detection.base_ejection_time.seconds error:value must be in the range [0, 315576000000]; \
                field:outlier_detection.max_ejection_percent error:value must be <= 100]; resource index 1: c-two: \
                INVALID_ARGUMENT: errors validating Cluster resource: [field:transport_socket.typed_config.value\
                [envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext].common_tls_context error:no CA certs \
                configured]]";
    let (client, lines) = summarize(Kind::Cds, json!([{"name": "c-echo"}, {"name": "c-two"}]), text);
    assert_eq!(client, Some(ClientKind::GrpcCore));
    assert_eq!(
        lines,
        [
            "c-echo eds_cluster_config.eds_config: ConfigSource is not ads or self",
            "c-echo outlier_detection.base_ejection_time.seconds: value must be in the range [0, 315576000000]",
            "c-echo outlier_detection.max_ejection_percent: value must be <= 100",
            "c-two transport_socket.typed_config.common_tls_context: no CA certs configured",
        ]
    );
    let text = "xDS response validation errors: [resource index 0: echo.test: INVALID_ARGUMENT: Listener has neither \
                address nor ApiListener]";
    assert_eq!(found(Kind::Lds, json!([{"name": "echo.test"}]), text), ["echo.test api_listener?"]);
    // Only the index, because the client could not read the name.
    let text =
        "xDS response validation errors: [resource index 1: INVALID_ARGUMENT: Can't parse Cluster resource.]";
    assert_eq!(found(Kind::Cds, json!([{"name": "a1"}, {"name": "x1"}]), text), ["x1 -"]);
}

#[test]
fn reads_indexes_of_grpc_js() {
    let text = "xDS response validation errors: [resource index 0: Cluster message validation failed: \
                [outlier_detection.base_ejection_time out of range,eds_cluster_config.eds_config.ads and \
                eds_cluster_config.eds_config.self both unset]; resource index 1: Cluster message validation failed: \
                [load_balancing_policy unset and unsupported lb_policy: MAGLEV]]";
    let bodies = json!([{"name": "c-echo"}, {"name": "c-two", "lb_policy": "MAGLEV"}]);
    let (client, lines) = summarize(Kind::Cds, bodies, text);
    assert_eq!(client, Some(ClientKind::GrpcJs));
    assert_eq!(
        lines,
        [
            "c-echo outlier_detection.base_ejection_time: outlier_detection.base_ejection_time out of range",
            "c-echo eds_cluster_config.eds_config.ads: eds_cluster_config.eds_config.ads and \
             eds_cluster_config.eds_config.self both unset",
            "c-two lb_policy?: load_balancing_policy unset and unsupported lb_policy: MAGLEV",
        ]
    );
    let text = "xDS response validation errors: [resource index 0: RouteConfiguration message validation failed: \
                [virtual_hosts[all].routes[].match: no path_specifier set]]";
    let bodies = json!([{"name": "r", "virtual_hosts": [{"name": "all", "routes": [{}]}]}]);
    assert_eq!(found(Kind::Rds, bodies, text), ["r virtual_hosts[all].routes[].match"]);
}

#[test]
fn reads_names_and_drops_dumps_of_grpc_go() {
    let text = "error parsing \"ClusterResource\" response: resource \"c-echo\": unexpected lbPolicy MAGLEV in response: \
                name:\"c-echo\"  type:EDS  lb_policy:MAGLEV;\nresource \"c-two\": unsupported cluster type (STATIC, \
                <nil>) in response: name:\"c-two\"  type:STATIC;\nresource \"c-three\": \
                outlier_detection.base_ejection_time = -1s; must be >= 0";
    let bodies = json!([{"name": "c-echo", "lb_policy": "MAGLEV"}, {"name": "c-two", "type": "STATIC"}]);
    let (client, lines) = summarize(Kind::Cds, bodies, text);
    assert_eq!(client, Some(ClientKind::GrpcGo));
    assert_eq!(
        lines,
        [
            "c-echo lb_policy?: unexpected lbPolicy MAGLEV in response",
            "c-two type?: unsupported cluster type (STATIC, <nil>) in response",
            "c-three outlier_detection.base_ejection_time: outlier_detection.base_ejection_time = -1s; must be >= 0",
        ]
    );
    // Go inserts random no-break spaces.
    let text = "error parsing \"ClusterResource\" response: top level errors: failed to unmarshal resource: \
                proto:\u{a0}cannot parse invalid wire-format data";
    assert_eq!(found(Kind::Cds, json!([{"name": "a1"}, {"name": "b1"}]), text), ["- -"]);
}

#[test]
fn reads_lines_of_grpc_java() {
    let text = "CDS response Cluster 'c-echo' validation error: Cluster c-echo: unsupported lb policy: MAGLEV\n\
                CDS response Resource index 1 - can't decode Cluster: bad bytes";
    let bodies = json!([{"name": "c-echo", "lb_policy": "MAGLEV"}, {"name": "c-two"}]);
    let (client, lines) = summarize(Kind::Cds, bodies, text);
    assert_eq!(client, Some(ClientKind::GrpcJava));
    assert_eq!(
        lines,
        [
            "c-echo lb_policy?: Cluster c-echo: unsupported lb policy: MAGLEV",
            "c-two -: can't decode Cluster: bad bytes",
        ]
    );
}

#[test]
fn partial_use_depends_on_the_client() {
    let partial_use = |client, kind, text: &str| PartialUse::by_client(Some(client), Some(kind), text, 2);
    let one_by_one = "Error adding/updating cluster(s) a: why";
    assert_eq!(partial_use(ClientKind::Envoy, Kind::Cds, one_by_one), Some(PartialUse::Envoy));
    assert_eq!(partial_use(ClientKind::Envoy, Kind::Lds, "Invalid duration"), Some(PartialUse::EnvoyNothing));
    assert_eq!(partial_use(ClientKind::Envoy, Kind::Eds, "why"), Some(PartialUse::EnvoyInOrder));
    assert_eq!(PartialUse::by_client(Some(ClientKind::Envoy), Some(Kind::Eds), "why", 1), None);
    assert_eq!(partial_use(ClientKind::GrpcGo, Kind::Eds, "why"), Some(PartialUse::Grpc));
    assert_eq!(PartialUse::by_client(None, Some(Kind::Cds), one_by_one, 2), None);
    for (agent, client) in [
        ("envoy", ClientKind::Envoy),
        ("gRPC C-core", ClientKind::GrpcCore),
        ("gRPC Go", ClientKind::GrpcGo),
        ("gRPC Java", ClientKind::GrpcJava),
        ("gRPC Node Pure JS", ClientKind::GrpcJs),
    ] {
        assert_eq!(ClientKind::of_user_agent(agent), Some(client), "{agent}");
    }
}

proptest::proptest! {
    #[test]
    fn accepts_any_text(text in "\\PC{0,200}", head in 0usize..6) {
        let heads = ["", "Error adding/updating cluster(s) ", "xDS response validation errors: [resource index ",
            "error parsing \"X\" response: ", "CDS response Cluster '", "goo.gle/debugstr "];
        let nack = read(&format!("{}{text}", heads[head]), &pushed(Kind::Cds, clusters()), &Schema::builtin());
        proptest::prop_assert!(!nack.entries.is_empty());
    }
}

/// Hostile texts must not block the screen.
#[test]
fn reads_hostile_texts_in_bounded_time() {
    let names: Vec<Value> = (0..2000).map(|i| json!({"name": format!("c-{i}")})).collect();
    let push = pushed(Kind::Cds, Value::from(names));
    for part in [
        "a, ",
        "x: ",
        "'q' ",
        "resource index 1: ",
        "a.b_c ",
        "resource \"x\": y;\n",
        "goo.gle/debug\n: ",
        "(",
        "[",
    ] {
        for head in [
            "",
            "Error adding/updating cluster(s) ",
            "xDS response validation errors: [",
            "error parsing \"X\" response: ",
        ] {
            let nack = read(&format!("{head}{}", part.repeat(100_000)), &push, &Schema::builtin());
            assert!((1..=64).contains(&nack.entries.len()), "{head}{part}");
        }
    }
}

#[test]
fn scope_is_the_resources_that_the_text_states() {
    let names: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).into();
    let read = |text: &str, agent| {
        let scope = NackScope::read(text, &names, &[], agent, Some(Kind::Lds));
        let about: Vec<&str> = names.iter().map(|name| &**name).filter(|name| scope.is_about(name)).collect();
        (about.join(" "), scope.rest())
    };
    let of = |about: &str, rest| (about.to_owned(), rest);
    let two = "Error adding/updating listener(s) a: no address\n, c: why";
    assert_eq!(read(two, None), of("a c", RestUse::Used), "the text is Envoy's");
    let dump = "goo.gle/debugstr  \nname: \"b\"\n: Proto constraint validation failed (X)";
    assert_eq!(
        read(dump, None),
        of("b", RestUse::NotUsed),
        "Envoy checks constraints before it uses anything"
    );
    let core = "xDS response validation errors: [resource index 1: b: INVALID_ARGUMENT: why]";
    assert_eq!(read(core, None), of("b", RestUse::Used));
    assert_eq!(read(&format!("INVALID_ARGUMENT: {core}"), None), of("b", RestUse::Used), "as logged");
    for text in ["", "no name in here", "Error adding/updating listener(s) other: why"] {
        assert_eq!(read(text, Some(ClientKind::Envoy)), of("a b c", RestUse::NotUsed), "{text}");
    }
    // A name that only occurs in a reason is no statement.
    assert_eq!(read("only one b is permitted", Some(ClientKind::Envoy)).0, "a b c");
}

#[test]
fn text_of_unknown_format_refuses_the_names_in_it() {
    let named = |text: &str, names: &[&str], removed: &[&str]| {
        let list = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<Arc<str>>>();
        let (names, removed) = (list(names), list(removed));
        let scope = NackScope::read(text, &names, &removed, Some(ClientKind::Envoy), Some(Kind::Cds));
        names.iter().filter(|name| scope.is_about(name)).map(|name| name.to_string()).collect::<Vec<_>>()
    };
    for text in ["cart: bad", "invalid cluster cart", "cluster 'cart': type EDS needs config"] {
        assert_eq!(named(text, &["cart", "pay"], &[]), ["cart"], "{text}");
    }
    assert_eq!(named("cart: bad, pay: bad too", &["cart", "pay", "web"], &[]), ["cart", "pay"]);
    assert_eq!(named("cart-v2: bad", &["cart", "cart-v2"], &[]), ["cart-v2"]);
    assert_eq!(named("svc cart: bad", &["cart", "svc cart"], &[]), ["svc cart"], "the longer name");
    assert_eq!(named("carts are bad", &["cart", "pay"], &[]), ["cart", "pay"], "no whole word");
    assert_eq!(named("a: bad", &["a", "b"], &[]), ["a"]);
    assert_eq!(named("a bad field", &["a", "b"], &[]), ["a", "b"], "an article");
    assert_eq!(named("a: in use", &["b"], &["a"]), [""; 0], "the removal is refused");
    assert_eq!(named("in use", &["b"], &["a"]), ["b"], "the only resource");
}

#[test]
fn unknown_clients_use_nothing_of_a_refused_push() {
    let names: Vec<Arc<str>> = ["a", "b"].map(Arc::from).into();
    let text = "error parsing \"X\" response: resource \"a\": why";
    let scope = |text| NackScope::read(text, &names, &[], None, Some(Kind::Rds));
    assert_eq!(scope(text).rest(), RestUse::Used, "the text is grpc-go's");
    assert_eq!(scope("resource \"a\": why").rest(), RestUse::NotUsed);
}
