//! Runs `xdscope serve` against clients that poll over REST: a real Envoy, and xdscope itself.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{
    bootstrap::envoy_rest,
    snapshot::{CLUSTER, endpoints},
    tap::{Tap, xdscope},
    wait::wait_for,
    world::World,
};

/// Returns a cluster without references.
fn static_cluster(name: &str) -> Value {
    json!({
        "@type": CLUSTER,
        "name": name,
        "type": "STATIC",
        "load_assignment": { "cluster_name": name },
    })
}

fn response(version: &str, type_url: &str, resources: &[Value]) -> String {
    json!({ "version_info": version, "type_url": type_url, "resources": resources }).to_string()
}

/// docs/protocol.md#d-01, docs/protocol.md#d-07
#[test]
fn serves_envoy_over_rest() {
    let Some(world) = World::open("serves_envoy_over_rest") else { return };
    let folder = world.folder().join("resources");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("cds.json");
    fs::write(&file, response("1", CLUSTER, &[static_cluster("one")])).expect("a file");
    let serve = Tap::serve(world.folder(), &folder, &["--reload"]);
    let envoy = world.envoy_of("edge", &envoy_rest("edge", serve.address()));
    let has = |name: &str| envoy.get("/clusters?format=json").contains(&format!("\"{name}\""));
    wait_for("the first cluster", || has("one").then_some(()));
    let next = response("1", CLUSTER, &[static_cluster("one"), static_cluster("two")]);
    fs::write(&file, next).expect("a file");
    wait_for("the second cluster", || has("two").then_some(()));

    let Output { status, stdout, stderr, .. } = xdscope(world.folder())
        .args(["get", &serve.address().to_string(), "cds", "--variant", "rest", "-o", "name"])
        .output()
        .expect("xdscope runs");
    let out = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{out}{}", String::from_utf8_lossy(&stderr));
    assert!(out.contains("cds/one") && out.contains("cds/two"), "{out}");

    let recording = serve.stop();
    let responses: Vec<Value> =
        recording.messages().into_iter().filter(|message| message["dir"] == "resp").collect();
    let versions: Vec<&str> = responses.iter().filter_map(|message| message["version"].as_str()).collect();
    assert!(versions[0] == "1" && versions.iter().any(|version| version.starts_with("1+")), "{versions:?}");
    let findings = recording.objects("lint", &[]);
    let blamed: Vec<&Value> = findings.iter().filter(|finding| finding["blame"] == "server").collect();
    assert_eq!(blamed, Vec::<&Value>::new(), "{}", recording.text("log", &[]));
}

/// docs/protocol.md#e-28
#[test]
fn refuses_files_with_mixed_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mixed.json");
    let mut other = endpoints("one", "127.0.0.1:9".parse().expect("an address"));
    other["@type"] = json!("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment");
    fs::write(&file, response("1", CLUSTER, &[static_cluster("one"), other])).expect("a file");
    let Output { status, stderr, .. } =
        xdscope(folder.path()).arg("serve").arg(&file).args(["--no-tui"]).output().expect("xdscope runs");
    let err = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(5), "{err}");
    assert!(err.contains("ClusterLoadAssignment in a response of") && err.contains("one type"), "{err}");
}
