//! Runs the peers without xdscope in between.
//!
//! A test through xdscope that differs from these has found a defect.

use std::collections::BTreeMap;

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Event, Flags},
    http,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, bad_clusters, bad_secret, cluster,
        cluster_with_secret, dumped_cluster,
    },
    wait::wait_for,
    world::World,
};

#[test]
fn envoy_over_ads() {
    run_envoy_lifecycle("envoy_over_ads", Variant::Ads);
}

#[test]
fn envoy_over_delta_ads() {
    run_envoy_lifecycle("envoy_over_delta_ads", Variant::DeltaAds);
}

#[test]
fn envoy_over_sotw_streams() {
    run_envoy_lifecycle("envoy_over_sotw_streams", Variant::Sotw);
}

#[test]
fn envoy_over_delta_streams() {
    run_envoy_lifecycle("envoy_over_delta_streams", Variant::Delta);
}

/// Adds, serves, grows, breaks, repairs and shrinks a configuration.
fn run_envoy_lifecycle(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let mut envoy = world.envoy("edge-1", variant, plane.address());
    // The admin page of Envoy serves as a backend.
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        let response = plane.wait_for_ack(0, type_url, "1");
        assert_eq!((response.delta, response.names.len()), (variant.is_delta(), 1));
    }
    let answer = http::get(envoy.listener("in"), "/ready").expect("an answer through Envoy");
    assert_eq!((answer.status, answer.body.trim()), (200, "LIVE"));

    let good = || vec![cluster("echo", variant)];
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [good(), bad_clusters()].concat()));
    let nack = plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    // A SotW NACK states the version in force; a delta request has no version.
    assert_eq!(nack.version, if variant.is_delta() { "" } else { "1" });
    let rejection = nack.error.expect("an error_detail");
    assert_eq!(rejection.code, 13);
    for part in ["bad-1: malformed IP address: not-an-ip", "bad-2: malformed IP address: not-an-ip"] {
        assert!(rejection.message.contains(part), "{part} is not in: {}", rejection.message);
    }

    let note = "a long note ".repeat(250);
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2a", [good(), vec![dumped_cluster("bad-1", &note)]].concat()));
    // In SotW the server resends the rejected version, so a NACK of version 2 may still arrive.
    let nack = plane.wait_for(mark, "a NACK with a dump", |e| {
        e.is_nack(CLUSTER) && e.error.as_ref().is_some_and(|r| r.message.contains(&note))
    });
    assert!(nack.error.expect("an error_detail").message.lines().count() > 3);

    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "3", good()));
    let mended = plane.wait_for_ack(mark, CLUSTER, "3");
    if variant.is_delta() {
        // The rejected resource counts as sent: go-control-plane removes it by name.
        assert_eq!(mended.removed, ["bad-1"]);
    }
    drop(envoy);
    let closed = |e: &Event| e.event == "close" && e.delta == variant.is_delta();
    plane.wait_for(mark, "the end of the stream", closed);
}

#[test]
fn envoy_states_versions_on_reconnect() {
    let Some(world) = World::open("envoy_states_versions_on_reconnect") else { return };
    let mut plane = world.control_plane(Flags { ads: true, ..Flags::default() });
    let mut envoy = world.envoy("edge-1", Variant::DeltaAds, plane.address());
    plane.set(&Snapshot::chain(Variant::DeltaAds, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");

    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    let again = plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    assert_eq!(again.stream, 2);
    assert_eq!(known(&again), ["echo"]);

    // After a restart on the same port, the server knows only the state that the client sends.
    let address = plane.address();
    drop(plane);
    let mut plane: ControlPlane = world.control_plane(Flags { port: address.port(), ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::DeltaAds, envoy.admin()).with(CLUSTER, "2", vec![]));
    let again = plane.wait_for(0, "a request to the restarted server", |e| e.is_request(CLUSTER));
    assert_eq!((again.stream, known(&again)), (1, vec!["echo"]));
    let response = plane.wait_for_ack(0, CLUSTER, "2");
    assert_eq!(response.removed, ["echo"]);
}

fn known(request: &Event) -> Vec<&str> {
    request.initial_versions.keys().map(String::as_str).collect()
}

#[test]
fn envoy_quotes_key_of_rejected_secret() {
    let Some(world) = World::open("envoy_quotes_key_of_rejected_secret") else { return };
    let mut plane = world.control_plane(Flags::default());
    let snapshot = Snapshot::default()
        .with(CLUSTER, "1", vec![cluster_with_secret("safe", "key-1", Variant::DeltaAds)])
        .with(SECRET, "1", vec![bad_secret("key-1", "NO-REAL-KEY-BUT-AS-SECRET")]);
    plane.set(&snapshot);
    let _envoy = world.envoy("edge-1", Variant::DeltaAds, plane.address());
    let nack = plane.wait_for(0, "a NACK", |e| e.is_nack(SECRET));
    let text = nack.error.expect("an error_detail").message;
    assert!(text.contains("NO-REAL-KEY-BUT-AS-SECRET"), "{text}");
}

#[test]
fn grpc_client_finds_its_backend() {
    let Some(world) = World::open("grpc_client_finds_its_backend") else { return };
    // C-core accepts gzip, so its responses are compressed.
    let mut plane = world.control_plane(Flags { gzip: true, ..Flags::default() });
    let mut client = world.grpc_client("app-1", "echo.test", plane.address());
    plane.set(&Snapshot::grpc_chain("echo.test", client.backend()));
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let first = plane.wait_for(0, "a request", |e| e.event == "request");
    assert_eq!((first.node.as_str(), first.names), ("app-1", vec!["echo.test".to_owned()]));
    assert_eq!(first.initial_versions, BTreeMap::new());

    plane.set(&Snapshot::grpc_chain("echo.test", client.backend()).with(LISTENER, "2", vec![]));
    wait_for("the listener to be gone", || client.call("again").err());
}
