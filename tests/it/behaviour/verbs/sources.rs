//! Compares the servers and methods that a real Envoy and the client choose, with one bootstrap of
//! several sources.
//!
//! Both get the same file in turn, in front of control planes that report what they see.
//!
//! Differences in all tests: in delta, Envoy requests a wildcard by an empty list, the client by
//! `*` (see `likeness`). Envoy connects to all `config_sources` at once, the client to a server
//! when there is something to request. Other differences are stated in the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{
    bootstrap::{Variant, api_of, envoy_planes, source_of, xds_cluster},
    control_plane::{ControlPlane, Event, Flags},
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, endpoints, listener, route},
    tap::{Recording, xdscope},
    wait::{PATIENCE, wait_within},
    world::World,
};

const PLANES: usize = 3;

const DELTA: &str = "AGGREGATED_DELTA_GRPC";

const GUARD: &str = "envoy.reloadable_features.xdstp_based_config_singleton_subscriptions";

fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Returns a structured name of endpoints.
fn far(authority: &str) -> String {
    format!("xdstp://{authority}/envoy.config.endpoint.v3.ClusterLoadAssignment/echo")
}

/// Returns a cluster whose endpoints have another name.
fn cluster_of(name: &str, endpoints: &str) -> Value {
    let mut cluster = cluster(name, Variant::Ads);
    cluster["eds_cluster_config"]["service_name"] = json!(endpoints);
    cluster
}

fn ads() -> Value {
    Variant::Ads.config_source()
}

/// The streams of one method at one server: their number, and by type the requested and the
/// accepted names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    streams: BTreeSet<u64>,
    types: BTreeMap<&'static str, [BTreeSet<String>; 2]>,
}

/// Returns what one control plane was asked, by method.
fn asked(plane: &ControlPlane) -> BTreeMap<String, Asked> {
    let events = plane.events(0);
    let mut out: BTreeMap<String, Asked> = BTreeMap::new();
    let mut sent: BTreeMap<(bool, u64, &str), &Event> = BTreeMap::new();
    for event in &events {
        let open = events.iter().find(|open| {
            (open.event.as_str(), open.delta, open.stream) == ("open", event.delta, event.stream)
        });
        let aggregated = open.is_some_and(|open| open.type_url.is_empty());
        let method = match (aggregated, event.delta) {
            _ if event.rest => "rest",
            (true, false) => Variant::Ads.word(),
            (true, true) => Variant::DeltaAds.word(),
            (false, false) => Variant::Sotw.word(),
            (false, true) => Variant::Delta.word(),
        };
        match event.event.as_str() {
            "response" => drop(sent.insert((event.delta, event.stream, &event.nonce), event)),
            "request" => {
                let at = out.entry(method.to_owned()).or_default();
                // The first request of each stream has the node.
                let first = at.streams.insert(event.stream);
                assert!(event.error.is_none() && (!first || event.node == "edge"), "{event:?}");
                let [names, accepted] = at.types.entry(short(&event.type_url)).or_default();
                let all: Vec<&String> = event.names.iter().chain(&event.subscribe).collect();
                // The wildcard is an empty list, or `*`.
                if all.is_empty() && event.nonce.is_empty() && event.version.is_empty() {
                    names.insert("*".into());
                }
                names.extend(all.into_iter().cloned());
                // Only polls with a version answer a response.
                let answered = !event.rest || !event.version.is_empty();
                let answers =
                    sent.get(&(event.delta, event.stream, event.nonce.as_str())).filter(|_| answered);
                accepted.extend(answers.iter().flat_map(|response| response.names.iter().cloned()));
            }
            _ => {}
        }
    }
    out
}

fn short(type_url: &str) -> &'static str {
    match type_url {
        CLUSTER => "cds",
        ENDPOINTS => "eds",
        LISTENER => "lds",
        ROUTE => "rds",
        other => panic!("{other}"),
    }
}

/// Returns the requests as lines: `0 delta-ads eds [echo] has [echo]`; and `0 delta-ads x2` for two
/// streams.
fn lines(planes: &[ControlPlane]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, plane) in planes.iter().enumerate() {
        for (method, asked) in asked(plane) {
            if asked.streams.len() > 1 {
                out.push(format!("{at} {method} x{}", asked.streams.len()));
            }
            let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
            out.extend(asked.types.iter().map(|(kind, [names, accepted])| {
                format!("{at} {method} {kind} [{}] has [{}]", list(names), list(accepted))
            }));
        }
    }
    out
}

/// Waits until the servers have these requests, and fails with the difference.
fn assert_lines(planes: &[ControlPlane], wanted: &[&str], who: &str) {
    let _ = wait_within(PATIENCE, || (lines(planes) == wanted).then_some(()));
    assert_eq!(lines(planes), wanted, "{who}");
}

/// Returns the number of streams of a server without requests.
fn silent(plane: &ControlPlane) -> usize {
    let asked = asked(plane);
    // Polls have no streams.
    let used = asked.iter().filter(|(method, _)| *method != "rest");
    let used: usize = used.map(|(_, asked)| asked.streams.len()).sum();
    plane.events(0).iter().filter(|event| event.event == "open").count() - used
}

/// A bootstrap, and the resources of its servers.
struct Scene {
    dynamic: Value,
    /// Other bootstrap fields next to `dynamic_resources`.
    more: Value,
    snapshots: [Snapshot; PLANES],
}

impl Scene {
    fn bootstrap(&self, planes: &[SocketAddr]) -> Value {
        let mut bootstrap = envoy_planes("edge", &self.dynamic, planes);
        let more = self.more.as_object().expect("fields").clone();
        bootstrap.as_object_mut().expect("an object").extend(more);
        bootstrap
    }

    fn planes(&self, world: &World) -> (Vec<ControlPlane>, Value) {
        let flags = || Flags { rest: true, ..Flags::default() };
        let mut planes: Vec<_> = (0..PLANES).map(|_| world.control_plane(flags())).collect();
        planes.iter_mut().zip(&self.snapshots).for_each(|(plane, snapshot)| plane.set(snapshot));
        let addresses: Vec<_> = planes.iter().map(ControlPlane::address).collect();
        let mut bootstrap = self.bootstrap(&addresses);
        let clusters = bootstrap["static_resources"]["clusters"].as_array_mut().expect("clusters");
        clusters.push(xds_cluster("polled", planes[1].rest_address(), false));
        (planes, bootstrap)
    }

    /// Runs Envoy until the `wanted` requests have arrived; Envoy becomes live if `live`.
    fn envoy(&self, world: &World, live: bool, wanted: &[&str]) -> Vec<ControlPlane> {
        let (planes, bootstrap) = self.planes(world);
        let mut envoy = world.envoy_of("edge", &bootstrap);
        if live {
            envoy.wait_live();
        }
        assert_lines(&planes, wanted, "Envoy");
        planes
    }

    /// Runs the client and returns its requests and its messages about the bootstrap.
    fn ours(&self, world: &World, wanted: &[&str]) -> Ours {
        let (planes, bootstrap) = self.planes(world);
        let file = world.folder().join("bootstrap.json");
        fs::write(&file, bootstrap.to_string()).expect("a file");
        let recording = world.folder().join("watch.xdsrec");
        let mut command = xdscope(world.folder());
        command.args(["watch", "--no-tui", "--until", "synced", "--resource-timeout", "60s", "--force"]);
        command.arg("--bootstrap").arg(&file).arg("--record").arg(&recording);
        let output = command.output().expect("xdscope runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_lines(&planes, wanted, &format!("ours: {said}"));
        Ours { planes, said, code: output.status.code(), recording: Recording { file: recording } }
    }

    /// Asserts that both send the same requests to the same servers.
    fn alike(&self, world: &World, wanted: &[&str]) -> (Vec<ControlPlane>, Ours) {
        let theirs = self.envoy(world, true, wanted);
        let ours = self.ours(world, wanted);
        assert_eq!(ours.code, Some(0), "{}", ours.said);
        // Each stream of the client has requests; an unused stream of Envoy is an idle connection.
        assert!(ours.planes.iter().all(|plane| silent(plane) == 0));
        (theirs, ours)
    }
}

struct Ours {
    planes: Vec<ControlPlane>,
    said: String,
    code: Option<i32>,
    recording: Recording,
}

/// Returns snapshots: the first server has clusters of three authorities, each other server its own
/// endpoints.
fn authorities() -> [Snapshot; PLANES] {
    let clusters =
        vec![cluster("near", Variant::Ads), cluster_of("eb", &far("b")), cluster_of("ec", &far("c"))];
    let of = |names: &[&str]| -> Vec<Value> { names.iter().map(|name| endpoints(name, backend())).collect() };
    let all = ["near".to_owned(), far("b"), far("c")];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let first = Snapshot::chain(Variant::Ads, backend()).with(CLUSTER, "1", clusters).with(
        ROUTE,
        "1",
        vec![route("r-in", "near")],
    );
    // Every server has all endpoints, so a response does not tell which server should be asked.
    let other = || Snapshot::default().with(ENDPOINTS, "1", of(&all));
    [first.with(ENDPOINTS, "1", of(&all)), other(), other()]
}

/// Returns a scene with clusters over delta ADS and a separate server for the authority `b`.
fn scene(config_sources: Value, default: Value) -> Scene {
    let mut more = json!({ "config_sources": config_sources, "layered_runtime": { "layers": [
        { "name": "own", "static_layer": { GUARD: true } },
    ]}});
    if !default.is_null() {
        more["default_config_source"] = default;
    }
    Scene {
        dynamic: json!({
            "ads_config": api_of(Some(0), "DELTA_GRPC"), "cds_config": ads(), "lds_config": ads(),
        }),
        more,
        snapshots: authorities(),
    }
}

const NEAR: [&str; 4] = [
    "0 delta-ads cds [*] has [eb ec near]",
    "0 delta-ads eds [near] has [near]",
    "0 delta-ads lds [*] has [in]",
    "0 delta-ads rds [r-in] has [r-in]",
];

/// docs/protocol.md#k-24 and docs/protocol.md#k-25: each source has its own variant and streams.
#[test]
fn requests_config_sources_like_envoy() {
    let Some(world) = World::open("requests_config_sources_like_envoy") else { return };
    let scene = scene(json!([source_of(Some(1), "AGGREGATED_GRPC", &["b"])]), source_of(Some(2), DELTA, &[]));
    let (b, c) = (far("b"), far("c"));
    let [b, c] = [format!("1 ads eds [{b}] has [{b}]"), format!("2 delta-ads eds [{c}] has [{c}]")];
    let (_, ours) = scene.alike(&world, &[&NEAR[..], &[&b, &c]].concat());
    assert!(!ours.said.contains(GUARD), "{}", ours.said);
    // Each source has its stream in the recording.
    let streams = ours.recording.objects("info", &[]);
    let mut variants: Vec<_> =
        streams.iter().filter_map(|one| one["variant"].as_str()).map(str::to_owned).collect();
    variants.sort_unstable();
    assert_eq!(variants, ["ads", "delta-ads", "delta-ads"], "{streams:#?}");
}

/// docs/protocol.md#k-25: a source has its own stream, even if its server also belongs to another
/// source.
#[test]
fn config_source_has_its_own_stream() {
    let Some(world) = World::open("config_source_has_its_own_stream") else { return };
    let sources = [source_of(Some(0), DELTA, &["b"]), source_of(Some(0), DELTA, &["c", "b"])];
    let (b, c) = (far("b"), far("c"));
    let eds = format!("0 delta-ads eds [near {b} {c}] has [near {b} {c}]");
    let wanted = ["0 delta-ads x3", NEAR[0], &eds, NEAR[2], NEAR[3]];
    scene(json!(sources), Value::Null).alike(&world, &wanted);
}

/// docs/protocol.md#k-23: names without a matching entry in `config_sources` are requested from the
/// source next to the name.
#[test]
fn requests_authority_without_source_from_referring_source() {
    let Some(world) = World::open("requests_authority_without_source_from_referring_source") else { return };
    let scene = scene(json!([source_of(Some(1), DELTA, &["b"])]), Value::Null);
    let (b, c) = (far("b"), far("c"));
    let near = format!("0 delta-ads eds [near {c}] has [near {c}]");
    let b = format!("1 delta-ads eds [{b}] has [{b}]");
    scene.alike(&world, &[NEAR[0], &near, NEAR[2], NEAR[3], &b]);
}

/// Difference: Envoy 1.40 uses `config_sources` only if a runtime flag is set.
///
/// A bootstrap does not show the other runtime layers, so the client uses the sources, and says so.
#[test]
fn heeds_config_sources_that_envoy_ignores() {
    let Some(world) = World::open("heeds_config_sources_that_envoy_ignores") else { return };
    let mut scene = scene(json!([source_of(Some(1), DELTA, &["b", "c"])]), Value::Null);
    scene.more.as_object_mut().expect("fields").remove("layered_runtime");
    let (b, c) = (far("b"), far("c"));
    let all = format!("0 delta-ads eds [near {b} {c}] has [near {b} {c}]");
    let beside = [NEAR[0], &all, NEAR[2], NEAR[3]];
    let theirs = scene.envoy(&world, true, &beside);
    let idle = wait_within(PATIENCE, || (silent(&theirs[1]) == 1).then_some(()));
    assert!(idle.is_some(), "Envoy connects and sends no request: {}", silent(&theirs[1]));
    let authorities = format!("1 delta-ads eds [{b} {c}] has [{b} {c}]");
    let ours = scene.ours(&world, &[&NEAR[..], &[&authorities]].concat());
    assert!(ours.code == Some(0) && ours.said.contains(GUARD), "{}", ours.said);
    // If the runtime flag is explicitly false, the client ignores the sources too.
    scene.more["layered_runtime"] =
        json!({ "layers": [{ "name": "own", "static_layer": { GUARD: false } }] });
    let (_, ours) = scene.alike(&world, &beside);
    assert!(ours.said.contains("config_sources have no effect"), "{}", ours.said);
}

/// docs/protocol.md#k-24: collections are requested from the source next to the locator.
///
/// An aggregated source means the ADS server, whatever servers the source names and whatever
/// `config_sources` say about the authority; any other source means its own servers.
#[test]
fn requests_locators_like_envoy() {
    let Some(world) = World::open("requests_locators_like_envoy") else { return };
    let locator = "xdstp://b/envoy.config.cluster.v3.Cluster/echo";
    let served = Snapshot::default().with(CLUSTER, "1", vec![cluster_of(locator, &far("b"))]).with(
        ENDPOINTS,
        "1",
        vec![endpoints(&far("b"), backend())],
    );
    let mut scene = scene(json!([source_of(Some(1), DELTA, &["b"])]), Value::Null);
    scene.snapshots = [served.clone(), served.clone(), served];
    let b = far("b");
    let b = format!("1 delta-ads eds [{b}] has [{b}]");
    for (source, asked) in [
        (ads(), "0 delta-ads"),
        (source_of(None, DELTA, &[]), "0 delta-ads"),
        (source_of(Some(2), DELTA, &["b"]), "0 delta-ads"),
        (source_of(Some(2), "DELTA_GRPC", &[]), "2 delta"),
    ] {
        scene.dynamic = json!({
            "ads_config": api_of(Some(0), "DELTA_GRPC"),
            "cds_resources_locator": locator,
            "cds_config": source,
        });
        let cds = format!("{asked} cds [{locator}] has [{locator}]");
        let mut wanted = [cds.as_str(), &b];
        wanted.sort_unstable();
        let (_, ours) = scene.alike(&world, &wanted);
        let own = source["api_config_source"]["api_type"] == DELTA
            && source["api_config_source"]["grpc_services"].is_array();
        assert_eq!(ours.said.contains("the ADS is asked, as Envoy does"), own, "{}", ours.said);
    }
}

/// Difference at docs/protocol.md#k-23: authorities that a resource lists next to a name.
///
/// Envoy 1.40 rejects such a resource; the client ignores them and uses the bootstrap.
#[test]
fn ignores_authorities_in_resources() {
    let Some(world) = World::open("ignores_authorities_in_resources") else { return };
    let mut cluster = cluster_of("eb", &far("b"));
    cluster["eds_cluster_config"]["eds_config"]["authorities"] = json!([{ "name": "b" }]);
    let mut scene = scene(json!([source_of(Some(1), DELTA, &["b"])]), Value::Null);
    let [first, ..] = &mut scene.snapshots;
    *first = first.clone().with(CLUSTER, "1", vec![cluster]).with(ROUTE, "1", vec![route("r-in", "eb")]);
    let (planes, bootstrap) = scene.planes(&world);
    let envoy = world.envoy_of("edge", &bootstrap);
    let refused =
        planes[0].wait_for(0, "a NACK", |event| event.is_nack(CLUSTER)).error.expect("an error_detail");
    assert!(refused.message.contains("non-bootstrap defined xDS-TP config sources"), "{refused:?}");
    drop(envoy);
    let b = far("b");
    let eds = format!("1 delta-ads eds [{b}] has [{b}]");
    let ours = scene.ours(&world, &["0 delta-ads cds [*] has [eb]", NEAR[2], NEAR[3], &eds]);
    assert_eq!(ours.code, Some(0), "{}", ours.said);
}

/// docs/protocol.md#i-06: clusters over ADS, listeners from a separate server in another variant,
/// routes as the listeners say.
#[test]
fn requests_listeners_from_second_server() {
    let Some(world) = World::open("requests_listeners_from_second_server") else { return };
    for (ads_type, lds_type, aggregated, own) in
        [("DELTA_GRPC", "GRPC", "delta-ads", "sotw"), ("GRPC", "DELTA_GRPC", "ads", "delta")]
    {
        let chain = Snapshot::chain(Variant::Ads, backend());
        let scene = Scene {
            dynamic: json!({
                "ads_config": api_of(Some(0), ads_type),
                "cds_config": ads(),
                "lds_config": source_of(Some(1), lds_type, &[]),
            }),
            more: json!({}),
            snapshots: [chain.clone().with(LISTENER, "1", vec![]), chain, Snapshot::default()],
        };
        let lines = [
            format!("0 {aggregated} cds [*] has [echo]"),
            format!("0 {aggregated} eds [echo] has [echo]"),
            format!("0 {aggregated} rds [r-in] has [r-in]"),
            format!("1 {own} lds [*] has [in]"),
        ];
        scene.alike(&world, &lines.each_ref().map(String::as_str));
    }
}

/// docs/protocol.md#i-06: the routes of one listener come from the second server too.
#[test]
fn requests_routes_from_second_server() {
    let Some(world) = World::open("requests_routes_from_second_server") else { return };
    let own = source_of(Some(1), "GRPC", &[]);
    let mut inbound = listener("own", "r-own", Variant::Ads);
    inbound["filter_chains"][0]["filters"][0]["typed_config"]["rds"]["config_source"] = own.clone();
    let chain = Snapshot::chain(Variant::Ads, backend())
        .with(LISTENER, "1", vec![listener("in", "r-in", Variant::Ads), inbound])
        .with(ROUTE, "1", vec![route("r-in", "echo"), route("r-own", "echo")]);
    let scene = Scene {
        dynamic: json!({
            "ads_config": api_of(Some(0), "DELTA_GRPC"), "cds_config": ads(), "lds_config": own,
        }),
        more: json!({}),
        snapshots: [chain.clone(), chain, Snapshot::default()],
    };
    let wanted = [
        "0 delta-ads cds [*] has [echo]",
        "0 delta-ads eds [echo] has [echo]",
        "0 delta-ads rds [r-in] has [r-in]",
        "1 sotw x2",
        "1 sotw lds [*] has [in own]",
        "1 sotw rds [r-own] has [r-own]",
    ];
    scene.alike(&world, &wanted);
}

/// docs/protocol.md#i-06: clusters over ADS, listeners by polls.
#[test]
fn polls_listeners_beside_ads() {
    let Some(world) = World::open("polls_listeners_beside_ads") else { return };
    let mut lds = source_of(None, "REST", &[]);
    lds["api_config_source"]["cluster_names"] = json!(["polled"]);
    lds["api_config_source"]["refresh_delay"] = json!("1s");
    let chain = Snapshot::chain(Variant::Ads, backend());
    let scene = Scene {
        dynamic: json!({ "ads_config": api_of(Some(0), "DELTA_GRPC"), "cds_config": ads(), "lds_config": lds }),
        more: json!({}),
        snapshots: [chain.clone().with(LISTENER, "1", vec![]), chain, Snapshot::default()],
    };
    let wanted = [
        "0 delta-ads cds [*] has [echo]",
        "0 delta-ads eds [echo] has [echo]",
        "0 delta-ads rds [r-in] has [r-in]",
        "1 rest lds [*] has [in]",
    ];
    scene.alike(&world, &wanted);
}

/// docs/protocol.md#i-06: no ADS, two servers in two variants.
///
/// Resources name the sources of their references.
#[test]
fn uses_two_servers_without_ads() {
    let Some(world) = World::open("uses_two_servers_without_ads") else { return };
    let (of_clusters, of_listeners) =
        (source_of(Some(0), "GRPC", &[]), source_of(Some(1), "DELTA_GRPC", &[]));
    let mut echo = cluster("echo", Variant::Ads);
    echo["eds_cluster_config"]["eds_config"] = of_clusters.clone();
    let mut inbound = listener("in", "r-in", Variant::Ads);
    inbound["filter_chains"][0]["filters"][0]["typed_config"]["rds"]["config_source"] = of_listeners.clone();
    let chain = Snapshot::chain(Variant::Ads, backend()).with(CLUSTER, "1", vec![echo]).with(
        LISTENER,
        "1",
        vec![inbound],
    );
    let scene = Scene {
        dynamic: json!({ "cds_config": of_clusters, "lds_config": of_listeners }),
        more: json!({}),
        snapshots: [chain.clone(), chain.clone(), chain],
    };
    let wanted = [
        "0 sotw x2",
        "0 sotw cds [*] has [echo]",
        "0 sotw eds [echo] has [echo]",
        "1 delta x2",
        "1 delta lds [*] has [in]",
        "1 delta rds [r-in] has [r-in]",
    ];
    scene.alike(&world, &wanted);
}

/// Difference: Envoy reads listeners from a file and requests their routes.
///
/// The client does not read the file, and says so.
#[test]
fn reports_listeners_from_file_as_not_supported() {
    let Some(world) = World::open("reports_listeners_from_file_as_not_supported") else { return };
    let mut inbound = listener("in", "r-in", Variant::Ads);
    inbound["@type"] = json!(LISTENER);
    let file = world.folder().join("lds.json");
    let text = json!({ "version_info": "1", "resources": [inbound] }).to_string();
    fs::write(&file, text).expect("a file");
    let source =
        |path: &Path| json!({ "resource_api_version": "V3", "path_config_source": { "path": path } });
    let chain = Snapshot::chain(Variant::Ads, backend());
    let scene = Scene {
        dynamic: json!({
            "ads_config": api_of(Some(0), "DELTA_GRPC"), "cds_config": ads(), "lds_config": source(&file),
        }),
        more: json!({}),
        snapshots: [chain, Snapshot::default(), Snapshot::default()],
    };
    let clusters = ["0 delta-ads cds [*] has [echo]", "0 delta-ads eds [echo] has [echo]"];
    let routes = ["0 delta-ads rds [r-in] has [r-in]"];
    scene.envoy(&world, true, &[&clusters[..], &routes].concat());
    let ours = scene.ours(&world, &clusters);
    let hint = format!("lds_config is read from the file {0}: `xdscope watch {0}` shows it", file.display());
    assert!(ours.code == Some(0) && ours.said.contains(&hint), "{}", ours.said);
}

/// Sources that prevent the start of Envoy are rejected or reported.
#[test]
fn rejects_sources_that_envoy_rejects() {
    let Some(world) = World::open("rejects_sources_that_envoy_rejects") else { return };
    let plain = scene(json!([]), Value::Null);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bootstrap = plain.bootstrap(&[backend(), backend(), backend()]);
        change(&mut bootstrap);
        bootstrap
    };
    assert_eq!(world.envoy_refusal(&changed(&|_| {})), None);
    let locator = "xdstp://b/envoy.config.cluster.v3.Cluster/all/*";
    let cases: [(Value, &str, &str); 6] = [
        (
            changed(&|b| b["default_config_source"] = source_of(None, DELTA, &[])),
            "must have either a gRPC service or a cluster name",
            "default_config_source has no grpc_services",
        ),
        (
            changed(&|b| b["config_sources"] = json!([source_of(Some(1), "DELTA_GRPC", &["b"])])),
            "only supports AGGREGATED_GRPC and AGGREGATED_DELTA_GRPC",
            "config_sources[0]: its api_type is not AGGREGATED_GRPC or AGGREGATED_DELTA_GRPC",
        ),
        (
            changed(&|b| b["config_sources"] = json!([source_of(Some(1), DELTA, &[])])),
            "must have at least one authority",
            "config_sources[0] has no authorities",
        ),
        (
            changed(&|b| b["config_sources"] = json!([{ "ads": {}, "authorities": [{ "name": "b" }] }])),
            "Only api_config_source type is currently supported",
            "config_sources[0] is not an api_config_source",
        ),
        (
            changed(&|b| b["dynamic_resources"]["cds_config"] = source_of(None, DELTA, &[])),
            "Unsupported config source AGGREGATED_DELTA_GRPC",
            "cds_config is AGGREGATED_DELTA_GRPC without a locator: Envoy would not start",
        ),
        (
            changed(&|b| {
                b["dynamic_resources"].as_object_mut().expect("an object").remove("cds_config");
                b["dynamic_resources"]["cds_resources_locator"] = json!(locator);
            }),
            "Missing or not supported config source specifier",
            "cds_resources_locator has no cds_config beside it: Envoy would not start",
        ),
    ];
    for (bootstrap, theirs, own) in cases {
        let refused = world.envoy_refusal(&bootstrap).expect("Envoy refuses it");
        assert!(refused.contains(theirs), "{refused}");
        let file = world.folder().join("refused.json");
        fs::write(&file, bootstrap.to_string()).expect("a file");
        let mut command = xdscope(world.folder());
        command.args(["get", "cds", "--resource-timeout", "200ms", "--bootstrap"]).arg(&file);
        let output = command.output().expect("xdscope runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() != Some(0) && said.contains(own), "{own}: {said}");
    }
}
