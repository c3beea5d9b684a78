//! Compares what xdscope says behind a tap, at each stage, with CSDS of a gRPC C-core client:
//! refused and removed clusters, across a reconnect.

use std::time::Duration;

use prost_reflect::DynamicMessage;
use serde_json::{Value, json};
use xdscope_schema::Schema;

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    grpc_client::GrpcClient,
    snapshot::{CLUSTER, ENDPOINTS, ROUTE, Snapshot, cluster, endpoints, route},
    tap::{Recording, Tap},
    wait::{wait_for, wait_within},
    world::World,
};

/// Longest wait for xdscope and the client to agree; a passing test needs a second or two.
const LIMIT: Duration = Duration::from_secs(20);

/// Version in force of a cluster, and the newest version if the client refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    in_force: Option<String>,
    refused: Option<String>,
}

fn fact(in_force: Option<&str>, refused: Option<&str>) -> Fact {
    Fact { in_force: in_force.map(str::to_owned), refused: refused.map(str::to_owned) }
}

/// Reads the fact in the object that xdscope prints for a resource.
fn stated(resource: &Value) -> Fact {
    let is_refused = resource["refused"] == true;
    let refused = resource["version"].as_str().filter(|_| is_refused);
    fact(resource["in_force"].as_str(), refused)
}

/// Reads the fact in the client's own entry for a resource.
fn dumped(entry: &Value) -> Fact {
    let is_refused = entry["clientStatus"] == "NACKED";
    let refused = entry["errorState"]["versionInfo"].as_str().filter(|_| is_refused);
    fact(entry["versionInfo"].as_str(), refused)
}

/// A control plane and a tap, and the client behind them.
struct Scene {
    plane: ControlPlane,
    tap: Tap,
    client: GrpcClient,
    snapshot: Snapshot,
}

impl Scene {
    /// Serves a route to the clusters `echo` and `more`.
    fn open(test: &str) -> Option<Scene> {
        let world = World::open(test)?;
        let mut plane = world.control_plane(Flags::default());
        let tap = world.tap(plane.address(), &[]);
        let mut client = world.grpc_client("cart", "shop", tap.address());
        let backend = client.backend();
        let snapshot = Snapshot::grpc_chain("shop", backend)
            .with(ROUTE, "1", vec![route_to_both()])
            .with(CLUSTER, "1", vec![timed("echo", 1), timed("more", 1)])
            .with(ENDPOINTS, "1", vec![endpoints("echo", backend), endpoints("more", backend)]);
        plane.set(&snapshot);
        assert_eq!(client.call("hello"), Ok("hello".to_owned()));
        Some(Scene { plane, tap, client, snapshot })
    }

    /// Replaces the clusters.
    fn set(&mut self, version: &str, clusters: Vec<Value>) {
        self.snapshot = self.snapshot.clone().with(CLUSTER, version, clusters);
        self.plane.set(&self.snapshot);
    }

    /// Ends all streams, and waits until the client has refused clusters on a new one.
    fn reconnect(&mut self) {
        let mark = self.plane.mark();
        self.plane.close_streams(14, "bye");
        let opened = self.plane.wait_for(mark, "a new stream", |event| event.event == "open");
        let stream = opened.stream;
        self.plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER) && event.stream == stream);
        wait_for("the second stream", || (self.state()["stream"] == 2).then_some(()));
    }

    fn recording(&self) -> Recording {
        wait_for("a message in the recording", || self.tap.copy_of_recording())
    }

    /// Returns the state of clusters on the newest stream.
    fn state(&self) -> Value {
        self.recording().state("cds")
    }

    /// Returns the object that xdscope prints for a cluster; null while xdscope knows none.
    fn resource(&self, name: &str) -> Value {
        let found = self.recording().objects("get", &["cds"]);
        found.into_iter().find(|object| object["name"] == name).unwrap_or_default()
    }

    /// Returns the client's own entry for a cluster.
    fn entry(&mut self, name: &str) -> Value {
        let kind = Schema::builtin().message("envoy.service.status.v3.ClientStatusResponse");
        let bytes = self.client.csds();
        let response = DynamicMessage::decode(kind.expect("a type"), bytes.as_slice()).expect("a response");
        let response = serde_json::to_value(&response).expect("JSON");
        let entries = response["config"][0]["genericXdsConfigs"].as_array().cloned().unwrap_or_default();
        let is_named = |entry: &Value| entry["typeUrl"] == CLUSTER && entry["name"] == name;
        entries.into_iter().find(is_named).unwrap_or_default()
    }

    /// Waits until xdscope and the client state this fact about a cluster.
    #[track_caller]
    fn agree(&mut self, name: &str, in_force: Option<&str>, refused: Option<&str>) {
        let wanted = fact(in_force, refused);
        let mut last = String::new();
        let agreed = wait_within(LIMIT, || {
            let (resource, entry) = (self.resource(name), self.entry(name));
            let (own, client) = (stated(&resource), dumped(&entry));
            last = format!("xdscope: {own:?}, client: {client:?}\n{resource:#}\n{entry:#}");
            (own == wanted && client == wanted).then_some(())
        });
        assert!(agreed.is_some(), "{name}: not {wanted:?}\n{last}");
    }

    /// Waits until clusters are in this state, with this version in force.
    #[track_caller]
    fn wait_for_state(&self, word: &str, version: &str) {
        let mut last = Value::Null;
        let reached = wait_within(LIMIT, || {
            last = self.state();
            (last["state"] == word && last["in_force"] == version).then_some(())
        });
        assert!(reached.is_some(), "not {word} with {version} in force: {last:#}");
    }

    /// Asserts that the NACK's text has the reason of the client's own entry.
    fn assert_reason(&mut self, name: &str) {
        let entry = self.entry(name);
        let reason = entry["errorState"]["details"].as_str().expect("a reason");
        let reason = reason.trim_start_matches("invalid resource: ");
        let state = self.state();
        let message = state["nacks"][0]["message"].as_str().expect("a message");
        assert!(message.contains(name) && message.contains(reason), "{entry:#} {state:#}");
    }
}

/// Returns a cluster; `seconds` tells one version from another.
fn timed(name: &str, seconds: u32) -> Value {
    let mut out = cluster(name, Variant::Ads);
    out["connect_timeout"] = json!(format!("{seconds}s"));
    out
}

/// Returns a cluster of a type that gRPC does not support.
fn unsupported(name: &str) -> Value {
    json!({ "name": name, "type": "STRICT_DNS", "connect_timeout": "1s" })
}

fn route_to_both() -> Value {
    let mut out = route("r-in", "echo");
    let more = json!({ "match": { "prefix": "/more" }, "route": { "cluster": "more" } });
    out["virtual_hosts"][0]["routes"].as_array_mut().expect("routes").insert(0, more);
    out
}

/// The client refuses one cluster of two, and claims the refused version when it reconnects.
#[test]
fn grpc_core_and_xdscope_agree_on_refusals_across_a_reconnect() {
    let test = "grpc_core_and_xdscope_agree_on_refusals_across_a_reconnect";
    let Some(mut scene) = Scene::open(test) else { return };
    scene.agree("echo", Some("1"), None);
    scene.agree("more", Some("1"), None);
    scene.wait_for_state("synced", "1");

    scene.set("2", vec![unsupported("echo"), timed("more", 2)]);
    let assert_refused = |scene: &mut Scene| {
        scene.agree("echo", Some("1"), Some("2"));
        scene.agree("more", Some("2"), None);
        scene.wait_for_state("nack", "1");
        let state = scene.state();
        assert_eq!((&state["nack_count"], &state["refused"]), (&json!(1), &json!(1)), "{state:#}");
        scene.assert_reason("echo");
    };
    assert_refused(&mut scene);
    scene.reconnect();
    assert_eq!(scene.state()["reported"], "2");
    assert_refused(&mut scene);

    scene.set("3", vec![timed("echo", 3), timed("more", 3)]);
    scene.agree("echo", Some("3"), None);
    scene.agree("more", Some("3"), None);
    scene.wait_for_state("synced", "3");
}

/// A cluster that the server leaves out does not exist for the client, also after a reconnect.
#[test]
fn grpc_core_and_xdscope_agree_on_removed_clusters_across_a_reconnect() {
    let test = "grpc_core_and_xdscope_agree_on_removed_clusters_across_a_reconnect";
    let Some(mut scene) = Scene::open(test) else { return };
    scene.set("2", vec![timed("echo", 2)]);
    scene.agree("echo", Some("2"), None);
    scene.agree("more", None, None);
    assert_eq!(scene.entry("more")["clientStatus"], "DOES_NOT_EXIST");
    assert_eq!(scene.resource("more")["state"], "removed");
    assert_eq!(scene.state()["absent"], json!(["more"]));

    scene.set("3", vec![unsupported("echo")]);
    scene.agree("echo", Some("2"), Some("3"));
    scene.reconnect();
    scene.agree("echo", Some("2"), Some("3"));
    scene.agree("more", None, None);
    scene.wait_for_state("nack", "2");

    scene.set("4", vec![timed("echo", 4), timed("more", 4)]);
    scene.agree("echo", Some("4"), None);
    scene.agree("more", Some("4"), None);
    scene.wait_for_state("synced", "4");
}
