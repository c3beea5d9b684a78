//! Exports the resources of a recorded Envoy, and starts another Envoy from them without a control
//! plane.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    control_plane::Flags,
    snapshot::{ROUTE, Snapshot},
    tap::{Recording, Tap},
    wait::wait_for,
    world::World,
};

fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Records an Envoy with a cluster, endpoints, a listener and routes.
fn recorded(world: &World, variant: Variant) -> Recording {
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge", variant, tap.address());
    plane.set(&Snapshot::chain(variant, backend()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    drop(envoy);
    tap.stop()
}

fn starts_offline(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let recording = recorded(&world, variant);
    let file = world.folder().join("offline.json");
    let path = file.to_str().expect("a path");
    recording.run("export", &["--to", "bootstrap", "--output", path]);
    let bootstrap: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
    assert_eq!(bootstrap["node"]["id"], "edge");
    assert!(!bootstrap.to_string().contains("config_source"), "{bootstrap:#}");
    assert_eq!(world.envoy_refusal(&bootstrap), None);
    let mut envoy = world.envoy_of("edge-offline", &bootstrap);
    envoy.wait_live();
    envoy.listener("in");
    let clusters = envoy.get("/clusters?format=json");
    assert!(clusters.contains("\"echo\"") && clusters.contains("127.0.0.1"), "{clusters}");
    let routes = envoy.get("/config_dump?resource=static_route_configs");
    assert!(routes.contains("r-in"), "{routes}");
}

#[test]
fn envoy_starts_offline_from_ads() {
    starts_offline("envoy_starts_offline_from_ads", Variant::Ads);
}

#[test]
fn envoy_starts_offline_from_delta_streams() {
    starts_offline("envoy_starts_offline_from_delta_streams", Variant::Delta);
}

#[test]
fn exported_files_serve_envoy() {
    let Some(world) = World::open("exported_files_serve_envoy") else { return };
    let recording = recorded(&world, Variant::DeltaAds);
    let folder = world.folder().join("resources");
    recording.run("export", &["--to", "dir", "--output", folder.to_str().expect("a path")]);
    for file in ["cds/echo.yaml", "eds/echo.yaml", "lds/in.yaml", "rds/r-in.yaml"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let serve = Tap::serve(world.folder(), &folder, &[]);
    let mut envoy = world.envoy("again", Variant::DeltaAds, serve.address());
    envoy.wait_live();
    let found = wait_for("the cluster", || {
        let all: Value = serde_json::from_str(&envoy.get("/clusters?format=json")).ok()?;
        all["cluster_statuses"].as_array()?.iter().find(|one| one["name"] == "echo").cloned()
    });
    assert_eq!(found["name"], json!("echo"));
}
