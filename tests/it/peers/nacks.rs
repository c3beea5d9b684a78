//! Checks a gallery of real NACKs: resource and field are found in the error text of each client,
//! or reported as unknown.

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Event, Flags},
    grpc_client::Kind,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, api_listener, bad_secret, cluster,
        cluster_with_secret, endpoints, listener, route,
    },
    tap::Recording,
    wait::wait_for,
    world::World,
};

/// A bad push of one type, and the expected reading of its NACK: name and field, `?` after guesses,
/// `-` for nothing.
struct Bad {
    type_url: &'static str,
    version: &'static str,
    resources: Vec<Value>,
    found: &'static [&'static str],
}

fn bad(
    type_url: &'static str,
    version: &'static str,
    resources: Vec<Value>,
    found: &'static [&'static str],
) -> Bad {
    Bad { type_url, version, resources, found }
}

fn address(ip: &str) -> Value {
    json!({ "socket_address": { "address": ip, "port_value": 1 } })
}

fn load(name: &str, ip: &str) -> Value {
    json!({ "cluster_name": name, "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(ip) } }] }] })
}

fn with(mut resource: Value, field: &str, value: Value) -> Value {
    resource[field] = value;
    resource
}

const NOT_AN_IP: &str =
    "c-bad2 load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.address?";
const STRING: &str = "type.googleapis.com/google.protobuf.StringValue";

fn envoy_gallery(variant: Variant) -> Vec<Bad> {
    let good = || cluster("echo", variant);
    let named = |name: &str, more: Value| with(more, "name", json!(name));
    let nested = json!({ "name": "r-in", "virtual_hosts": [{ "name": "v", "domains": ["*"], "routes": [
        { "route": { "cluster": "echo" } }] }] });
    let domains = json!({ "name": "r-in", "virtual_hosts": [{ "name": "v", "domains": ["a.test"] },
        { "name": "w", "domains": ["a.test"] }] });
    let unknown = with(route("r-in", "nowhere"), "validate_clusters", json!(true));
    let priority = json!({ "cluster_name": "echo", "endpoints": [{ "priority": 200 }] });
    let filter = json!({ "name": "mystery", "typed_config": { "@type": STRING, "value": "x" } });
    let with_filter =
        with(listener("l-filter", "r-in", variant), "filter_chains", json!([{ "filters": [filter] }]));
    vec![
        bad(
            CLUSTER,
            "no-timeout",
            vec![good(), named("c-zero", json!({ "type": "STATIC", "connect_timeout": "0s" }))],
            &["c-zero connect_timeout"],
        ),
        bad(
            CLUSTER,
            "negative",
            vec![good(), named("c-neg", json!({ "connect_timeout": "-1s" }))],
            &["c-neg? connect_timeout?"],
        ),
        bad(
            CLUSTER,
            "not-eds",
            vec![
                good(),
                named(
                    "c-both",
                    json!({ "type": "STATIC", "eds_cluster_config": { "eds_config": variant.config_source() } }),
                ),
            ],
            &["c-both eds_cluster_config?"],
        ),
        bad(
            CLUSTER,
            "extension",
            vec![
                good(),
                named(
                    "c-ext",
                    json!({ "type": "STATIC", "transport_socket": { "name": "nope", "typed_config": { "@type": STRING, "value": "x" } } }),
                ),
            ],
            &["c-ext transport_socket.name?"],
        ),
        bad(
            CLUSTER,
            "two-bad",
            vec![
                good(),
                named("c-bad1", json!({ "type": "EDS" })),
                named("c-good", json!({ "type": "STATIC" })),
                named("c-bad2", json!({ "type": "STATIC", "load_assignment": load("x", "not-an-ip") })),
            ],
            &["c-bad1 -", NOT_AN_IP],
        ),
        bad(
            LISTENER,
            "no-address",
            vec![listener("in", "r-in", variant), json!({ "name": "l-noaddr" })],
            &["l-noaddr -"],
        ),
        bad(
            LISTENER,
            "filter",
            vec![listener("in", "r-in", variant), with_filter],
            &["l-filter filter_chains[0].filters[0].name?"],
        ),
        bad(ROUTE, "nested", vec![nested], &["r-in virtual_hosts[0].routes[0].match"]),
        bad(ROUTE, "domains", vec![domains], &["r-in? virtual_hosts[0].domains[0]?"]),
        bad(ROUTE, "unknown", vec![unknown], &["r-in? virtual_hosts[0].routes[0].route.cluster?"]),
        bad(
            ENDPOINTS,
            "not-ip",
            vec![load("echo", "not-an-ip")],
            &["echo? endpoints[0].lb_endpoints[0].endpoint.address.socket_address.address?"],
        ),
        bad(ENDPOINTS, "priority", vec![priority], &["echo endpoints[0].priority"]),
    ]
}

fn grpc_gallery(kind: Kind) -> Vec<Bad> {
    let eds = || cluster("echo", Variant::Ads);
    let outlier = json!({ "base_ejection_time": "-1s", "max_ejection_percent": 200 });
    let tls = json!({ "name": "tls", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": {} } });
    let no_match = json!({ "name": "r-in", "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [
        { "match": {}, "route": { "cluster": "echo" } }] }] });
    let no_domains = json!({ "name": "r-in", "virtual_hosts": [{ "name": "all" }] });
    let gap = with(
        load("echo", "127.0.0.1"),
        "endpoints",
        json!([{ "locality": { "region": "r" },
        "load_balancing_weight": 1, "priority": 3, "lb_endpoints": [{ "endpoint": { "address": address("127.0.0.1") } }] }]),
    );
    let no_filters = {
        let mut bad = api_listener("echo.test", "r-in", Variant::Ads);
        bad["api_listener"]["api_listener"]["http_filters"] = json!([]);
        bad
    };
    let all = [
        (CLUSTER, "lb-policy", with(eds(), "lb_policy", json!("MAGLEV"))),
        (CLUSTER, "outlier", with(eds(), "outlier_detection", outlier)),
        (CLUSTER, "tls", with(eds(), "transport_socket", tls)),
        (ROUTE, "no-match", no_match),
        (ROUTE, "no-domains", no_domains),
        (ENDPOINTS, "priority", gap),
        (LISTENER, "no-api", json!({ "name": "echo.test" })),
        (LISTENER, "no-filters", no_filters),
    ];
    let found = |version| found_of_grpc(kind, version);
    let bad_for = |(url, version, one)| Some(bad(url, version, vec![one], found(version)?));
    all.into_iter().filter_map(bad_for).collect()
}

/// Returns the expected reading for each gRPC implementation; `None` if it accepts the resource.
fn found_of_grpc(kind: Kind, version: &str) -> Option<&'static [&'static str]> {
    Some(match (version, kind) {
        ("lb-policy", Kind::Core) => &["echo lb_policy"],
        ("lb-policy", _) => &["echo lb_policy?"],
        ("outlier", Kind::Core) => &[
            "echo outlier_detection.base_ejection_time.seconds",
            "echo outlier_detection.max_ejection_percent",
        ],
        // The client stops at the first error.
        ("outlier", Kind::Go) => &["echo outlier_detection.base_ejection_time"],
        ("outlier", Kind::Js) => {
            &["echo outlier_detection.base_ejection_time", "echo outlier_detection.max_ejection_percent"]
        }
        ("tls", Kind::Core) => &["echo transport_socket.typed_config.common_tls_context"],
        ("tls", Kind::Go) => &["echo transport_socket.name?"],
        ("tls", Kind::Js) => &["echo transport_socket.typed_config.common_tls_context?"],
        ("no-match", Kind::Core) => &["r-in virtual_hosts[0].routes[0].match"],
        ("no-match", Kind::Go) => &["r-in -"],
        ("no-match", Kind::Js) => &["r-in virtual_hosts[all].routes[].match"],
        ("no-domains", Kind::Core) => &["r-in virtual_hosts[0].domains"],
        ("priority", Kind::Core) => &["echo endpoints[0].priority"],
        ("priority", Kind::Go | Kind::Js) => &["echo -"],
        ("no-api", Kind::Core) => &["echo.test api_listener?"],
        ("no-api", Kind::Go) => &["echo.test -"],
        ("no-api", Kind::Js) => &["echo.test api_listener?"],
        ("no-filters", Kind::Core) => &["echo.test api_listener.api_listener.http_filters"],
        ("no-filters", Kind::Go) => &["echo.test -"],
        _ => return None,
    })
}

/// Pushes each bad set, waits for its NACK, and restores the good one; returns the error texts.
fn refuse_all(plane: &mut ControlPlane, good: &Snapshot, gallery: &[Bad]) -> Vec<String> {
    let mut texts = Vec::new();
    for bad in gallery {
        let mark = plane.mark();
        plane.set(&good.clone().with(bad.type_url, bad.version, bad.resources.clone()));
        // NACKs of the previous set may still arrive: only the nonce of this one counts.
        let pushed =
            plane.wait_for(mark, "the push", |e| e.is_response(bad.type_url) && e.version == bad.version);
        let answer = |e: &Event| e.is_request(bad.type_url) && e.nonce == pushed.nonce;
        let event = plane.wait_for(mark, "a verdict", answer);
        let refusal = event.error.unwrap_or_else(|| panic!("{} was accepted", bad.version));
        texts.push(refusal.message);
    }
    plane.set(good);
    texts
}

/// Returns the reading of the first NACK of a version.
fn found(nacks: &[Value], bad: &Bad) -> Vec<String> {
    let of = |nack: &&Value| nack["type_url"] == bad.type_url && nack["refused_version"] == bad.version;
    let nack = nacks.iter().find(of).unwrap_or_else(|| panic!("no NACK of {}", bad.version));
    let word = |entry: &Value, field: &str| match (&entry[field], &entry[format!("{field}_guessed")]) {
        (Value::String(value), Value::Bool(true)) => format!("{value}?"),
        (Value::String(value), _) => value.clone(),
        _ => "-".to_owned(),
    };
    let entries = nack["nack"]["entries"].as_array().expect("a list");
    let entries = entries.iter().map(|entry| format!("{} {}", word(entry, "name"), word(entry, "field")));
    // Envoy lists the errors in the order of a hash table.
    let mut entries: Vec<String> = entries.collect();
    entries.sort();
    entries
}

/// Returns the NACKs with their readings and rejected versions.
fn nacks(recording: &Recording) -> Vec<Value> {
    let messages = recording.messages();
    let mut nacks = recording.objects("log", &["--body", "--filter", "kind:nack"]);
    for nack in &mut nacks {
        let answered = messages.iter().find(|message| message["n"] == nack["answers"]);
        nack["refused_version"] = answered.map_or(Value::Null, |message| message["version"].clone());
    }
    nacks
}

fn assert_found(recording: &Recording, gallery: &[Bad], texts: &[String], client: &str) {
    let nacks = nacks(recording);
    for text in texts {
        let whole = nacks.iter().any(|nack| nack["error"]["message"] == text.as_str());
        assert!(whole, "no NACK says: {text}");
    }
    let mut wrong = Vec::new();
    for bad in gallery {
        let found = found(&nacks, bad);
        if found != bad.found {
            wrong.push(format!("{}: found {found:?}, not {:?}", bad.version, bad.found));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for nack in &nacks {
        assert_eq!(nack["nack"]["client"], client, "{nack}");
    }
}

#[test]
fn reads_envoy_nacks() {
    check_envoy_nacks("reads_envoy_nacks", Variant::Ads);
}

#[test]
fn reads_envoy_delta_nacks() {
    check_envoy_nacks("reads_envoy_delta_nacks", Variant::DeltaAds);
}

fn check_envoy_nacks(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let good = Snapshot::chain(variant, envoy.admin());
    plane.set(&good);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let gallery = envoy_gallery(variant);
    let texts = refuse_all(&mut plane, &good, &gallery);
    assert_found(&tap.stop(), &gallery, &texts, "envoy");
}

#[test]
fn reads_grpc_core_nacks() {
    check_grpc_nacks("reads_grpc_core_nacks", Kind::Core, "grpc-core");
}

#[test]
fn reads_grpc_go_nacks() {
    check_grpc_nacks("reads_grpc_go_nacks", Kind::Go, "grpc-go");
}

#[test]
fn reads_grpc_js_nacks() {
    check_grpc_nacks("reads_grpc_js_nacks", Kind::Js, "grpc-js");
}

fn check_grpc_nacks(test: &str, kind: Kind, word: &str) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", tap.address(), None);
    let good = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&good.clone().with(ENDPOINTS, "1", vec![endpoints("echo", client.backend())]));
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    plane.wait_for_ack(0, ENDPOINTS, "1");
    let gallery = grpc_gallery(kind);
    let texts = refuse_all(&mut plane, &good, &gallery);
    assert_found(&tap.stop(), &gallery, &texts, word);
}

#[test]
fn omits_dump_of_rejected_key() {
    const KEY: &str = "NO-REAL-KEY-BUT-AS-SECRET";
    let Some(world) = World::open("omits_dump_of_rejected_key") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let snapshot = Snapshot::default()
        .with(CLUSTER, "1", vec![cluster_with_secret("safe", "key-1", Variant::DeltaAds)])
        .with(SECRET, "1", vec![bad_secret("key-1", KEY)]);
    plane.set(&snapshot);
    let _envoy = world.envoy("edge-1", Variant::DeltaAds, tap.address());
    let nack = plane.wait_for(0, "a NACK", |e| e.is_nack(SECRET));
    assert!(nack.error.is_some_and(|e| e.message.contains(KEY)), "Envoy does print it");
    wait_for("the NACK among the tap's lines", || tap.log().to_lowercase().contains("nack").then_some(()));
    let recording = tap.stop();
    for (verb, args) in [
        ("log", &["--body", "--filter", "kind:nack"][..]),
        ("log", &["--body", "--filter", "kind:nack", "-o", "jsonl"]),
        ("get", &["sds", "-o", "tree"]),
        ("get", &["sds", "-o", "yaml"]),
    ] {
        let text = recording.text(verb, args);
        assert!(text.contains("key-1") && !text.contains(KEY), "{verb} {args:?}: {text}");
    }
}
