//! No false alarms: what the rules say of real peers is what these peers really do.

use std::collections::BTreeSet;

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, bad_clusters, cluster},
    tap::Recording,
    wait::wait_for,
    world::World,
};

/// The rules of which there is an error or a warning are these and no others.
fn assert_found(recording: &Recording, known: &[&str]) {
    let findings = recording.objects("lint", &[]);
    let severe: Vec<_> = findings.iter().filter(|finding| finding["severity"] != "info").collect();
    let rules: BTreeSet<&str> = severe.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    let known: BTreeSet<&str> = known.iter().copied().collect();
    assert_eq!(rules, known, "{severe:#?}\n{}", recording.text("log", &[]));
}

#[test]
fn lint_of_envoy_over_ads() {
    // go-control-plane answers a NACK with the snapshot that was refused.
    envoy("lint_of_envoy_over_ads", Variant::Ads, &["nack-resend-loop", "sotw-needless-update"]);
}

#[test]
fn lint_of_envoy_over_delta_ads() {
    envoy("lint_of_envoy_over_delta_ads", Variant::DeltaAds, &[]);
}

#[test]
fn lint_of_envoy_over_sotw_streams() {
    let known = &["nack-resend-loop", "sotw-needless-update"];
    envoy("lint_of_envoy_over_sotw_streams", Variant::Sotw, known);
}

#[test]
fn lint_of_envoy_over_delta_streams() {
    envoy("lint_of_envoy_over_delta_streams", Variant::Delta, &[]);
}

fn nacks(plane: &ControlPlane, mark: usize) -> usize {
    plane.events(mark).iter().filter(|event| event.is_nack(CLUSTER)).count()
}

/// A start, a refused update and its repair, a reconnect.
fn envoy(test: &str, variant: Variant, known: &[&str]) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags { ads: variant.is_aggregated(), ..Flags::default() });
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    if !known.is_empty() {
        // The loop has begun once the same is refused again.
        wait_for("a second NACK", || (nacks(&plane, mark) > 1).then_some(()));
    }
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", variant)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    assert_found(&tap.stop(), known);
}

#[test]
fn lint_of_a_grpc_client() {
    let Some(world) = World::open("lint_of_a_grpc_client") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client("app-1", "echo.test", tap.address());
    let chain = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    assert_eq!(client.call("again"), Ok("again".to_owned()));
    assert_found(&tap.stop(), &[]);
}
