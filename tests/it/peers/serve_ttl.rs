//! Runs `xdscope serve` with resources that have a TTL, against a real Envoy and xdscope itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use xdscope_wire::NodeInfo;

use crate::support::{
    bootstrap::{Variant, envoy},
    process::Child,
    snapshot::{CLUSTER, ENDPOINTS, cluster, endpoints},
    tap::{Recording, Tap, xdscope},
    wait::{quiet_for, wait_for},
    world::World,
};

const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// The TTL of the resources: long enough for a busy machine, short enough to see some heartbeats.
const TTL: Duration = Duration::from_secs(6);

/// Returns a resource in a wrapper with a TTL.
fn timed(type_url: &str, mut resource: Value) -> Value {
    resource["@type"] = json!(type_url);
    json!({ "@type": WRAPPER, "ttl": format!("{}s", TTL.as_secs()), "resource": resource })
}

fn write(file: &Path, type_url: &str, resources: &[Value]) {
    let response = json!({ "version_info": "1", "type_url": type_url, "resources": resources });
    fs::write(file, response.to_string()).expect("a file");
}

/// Clusters and endpoints with a TTL, in files.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn new(folder: &Path, variant: Variant) -> Files {
        let files = Files { folder: folder.join("resources") };
        fs::create_dir(&files.folder).expect("a folder");
        files.clusters(&[timed(CLUSTER, cluster("echo", variant)), timed(CLUSTER, cluster("more", variant))]);
        let backend = "127.0.0.1:9".parse().expect("an address");
        let of = |name: &str| timed(ENDPOINTS, endpoints(name, backend));
        write(&files.folder.join("eds.json"), ENDPOINTS, &[of("echo"), of("more")]);
        files
    }

    fn clusters(&self, clusters: &[Value]) {
        write(&self.folder.join("cds.json"), CLUSTER, clusters);
    }
}

/// Asserts that each response of a type was acknowledged, and that no rule blames the server.
fn assert_well(recording: &Recording) {
    let log = recording.text("log", &[]);
    assert!(log.contains("└ ack") && !log.contains("NACK"), "{log}");
    let findings = recording.objects("lint", &[]);
    let blamed: Vec<&Value> = findings.iter().filter(|finding| finding["blame"] == "server").collect();
    assert_eq!(blamed, Vec::<&Value>::new(), "{log}");
}

/// Returns how many responses refreshed a TTL.
fn refreshes(log: &str) -> usize {
    log.lines().filter(|line| line.contains("  heartbeat ") || line.contains("  resend ")).count()
}

/// Serves an Envoy for longer than the TTL, and removes a cluster.
fn keeps_resources_of_envoy(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let files = Files::new(world.folder(), variant);
    let serve = Tap::serve(world.folder(), &files.folder, &["--reload"]);
    let mut bootstrap = envoy("edge", variant, serve.address(), None);
    // Envoy announces what its bootstrap says.
    bootstrap["node"]["client_features"] = json!([NodeInfo::TTL_FEATURE, NodeInfo::WRAPPER_FEATURE]);
    let envoy = world.envoy_of("edge", &bootstrap);
    let has = |name: &str| envoy.get("/clusters?format=json").contains(&format!("\"{name}\""));
    wait_for("both clusters", || (has("echo") && has("more")).then_some(()));
    // Expiry is silent on the wire, so watch Envoy itself.
    quiet_for(TTL * 2, "the loss of a resource with a TTL", || !has("echo") || !has("more"));
    files.clusters(&[timed(CLUSTER, cluster("more", variant))]);
    wait_for("the end of the first cluster", || (!has("echo")).then_some(()));
    assert!(has("more"));
    let recording = serve.stop();
    assert_well(&recording);
    let log = recording.text("log", &[]);
    assert!(refreshes(&log) > 0, "{log}");
}

/// docs/protocol.md#g-06, docs/protocol.md#g-07
#[test]
fn heartbeats_keep_resources_of_delta_envoy() {
    keeps_resources_of_envoy("heartbeats_keep_resources_of_delta_envoy", Variant::DeltaAds);
}

/// docs/protocol.md#g-04, docs/protocol.md#g-08
#[test]
fn responses_keep_resources_of_sotw_envoy() {
    keeps_resources_of_envoy("responses_keep_resources_of_sotw_envoy", Variant::Ads);
}

/// A SotW server cannot remove endpoints: the client drops them at the end of the TTL.
///
/// docs/protocol.md#g-02, docs/protocol.md#g-12
#[test]
fn removed_endpoints_expire_in_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Files::new(folder.path(), Variant::Ads);
    let serve = Tap::serve(folder.path(), &files.folder, &["--reload"]);
    let own = folder.path().join("watch.xdsrec");
    let mut watch = xdscope(folder.path());
    watch.args(["watch", &serve.address().to_string(), "eds/echo", "eds/more", "--no-expand", "--no-tui"]);
    let watch = Child::start(watch.arg("--record").arg(&own), &folder.path().join("watch.log"));
    wait_for("a refresh", || (refreshes(&serve.log()) > 0).then_some(()));
    let backend = "127.0.0.1:9".parse().expect("an address");
    let left = [timed(ENDPOINTS, endpoints("more", backend))];
    write(&files.folder.join("eds.json"), ENDPOINTS, &left);
    let recording = Recording { file: own };
    let state = |name: &str| {
        let resources = recording.objects("get", &["eds"]);
        resources.into_iter().find(|resource| resource["name"] == name).map(|found| found["state"].clone())
    };
    wait_for("the expiry", || (state("echo")? == "expired").then_some(()));
    assert_eq!(state("more"), Some(json!("present")));
    watch.interrupt();
    // Expiry is what the server intends, and the only finding.
    let findings = serve.stop().objects("lint", &[]);
    let rules: Vec<&str> = findings.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules, ["ttl-expired"], "{findings:#?}");
}

/// The wrapper is read in YAML documents and in delta responses too.
///
/// docs/protocol.md#g-02
#[test]
fn reads_ttl_of_any_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("eds.yaml");
    let text = "\
resources:
- name: echo
  version: '3'
  ttl: 60s
  resource:
    '@type': type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
    cluster_name: echo
";
    fs::write(&file, text).expect("a file");
    let serve = Tap::serve(folder.path(), &file, &[]);
    for variant in ["ads", "delta-ads"] {
        let args = ["get", &serve.address().to_string(), "eds/echo", "--variant", variant, "-o", "jsonl"];
        let output = xdscope(folder.path()).args(args).output().expect("xdscope runs");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let got: Value = serde_json::from_str(out.lines().next().unwrap_or_default()).expect(&out);
        assert!(got["ttl_deadline"].is_string(), "{variant}: {got}");
        assert_eq!(got["version"], "3", "{variant}: {got}");
    }
}
