//! Compares requests of a real Envoy and of the client, with one bootstrap and control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;

use serde_json::Value;

use crate::support::{
    bootstrap::{self, Variant},
    control_plane::{ControlPlane, Flags},
    process::Child,
    scripted::serve as serve_script,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

#[test]
fn requests_match_envoy_over_ads() {
    assert_requests_match("requests_match_envoy_over_ads", Variant::Ads);
}

#[test]
fn requests_match_envoy_over_delta_ads() {
    assert_requests_match("requests_match_envoy_over_delta_ads", Variant::DeltaAds);
}

/// The client is held to the same script.
const GLOB: &str = include_str!("../../fixtures/client/xdstp-as-envoy.xds");

/// docs/protocol.md#k-08, docs/protocol.md#k-18 and docs/protocol.md#k-19.
#[test]
fn requests_globs_like_envoy() {
    let Some(world) = World::open("requests_globs_like_envoy") else { return };
    let mut tap = None;
    let (_envoy, _stage) = serve_script("envoy", GLOB, |address| {
        let through = world.tap(address.parse().expect("an address"), &[]);
        let mut bootstrap = bootstrap::envoy("edge", Variant::DeltaAds, through.address(), None);
        let dynamic = &mut bootstrap["dynamic_resources"];
        dynamic["cds_resources_locator"] =
            "xdstp://shop/envoy.config.cluster.v3.Cluster/mine/*?b=2&a=1".into();
        dynamic.as_object_mut().expect("an object").remove("lds_config");
        let envoy = world.envoy_of("edge", &bootstrap);
        tap = Some(through);
        envoy
    });
    let recording = tap.expect("a tap").stop();
    let unsubscribed = recording.messages().iter().filter(|message| message["kind"] == "unsubscribe").count();
    assert_eq!(unsubscribed, 1, "{}", recording.text("log", &[]));
}

fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Returns the snapshots in order: initial, grown, shrunk.
fn steps(variant: Variant) -> [Snapshot; 3] {
    let first = Snapshot::chain(variant, backend());
    let more = first.clone().grown(variant, backend());
    let fewer = more.clone().shrunk(variant, backend());
    [first, more, fewer]
}

/// Serves each step to the connected client once the previous one is accepted.
fn serve(plane: &mut ControlPlane, variant: Variant, mut mark: usize) {
    for (step, types) in steps(variant).iter().zip([
        &[CLUSTER, ENDPOINTS, LISTENER, ROUTE][..],
        &[CLUSTER, ENDPOINTS, ROUTE],
        &[CLUSTER],
    ]) {
        plane.set(step);
        let version = step.to_json()[CLUSTER]["version"].as_str().expect("a version").to_owned();
        for type_url in types {
            let of_type = step.to_json()[type_url]["version"].as_str().unwrap_or(&version).to_owned();
            plane.wait_for_ack(mark, type_url, &of_type);
        }
        mark = plane.mark();
    }
    // The client unsubscribes from the endpoints of the removed cluster.
    plane.wait_for(0, "the end of a subscription", |event| match variant.is_delta() {
        true => event.is_request(ENDPOINTS) && event.unsubscribe == ["echo"],
        false => event.is_request(ENDPOINTS) && event.names == ["more"],
    });
    // A recording that ends now would lack the last answer.
    wait_for("an answer to each response", || {
        let events = plane.events(0);
        let mut responses = events.iter().filter(|event| event.event == "response");
        responses.all(|response| events.iter().any(|event| event.is_ack_of(response))).then_some(())
    });
}

/// Returns the requests of a recording that are more than an ACK, by type, with all names that they
/// state.
///
/// ACKs are left out, because the server decides how many pushes there are.
fn requests(recording: &Recording) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open = BTreeSet::new();
    for message in recording.messages() {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let nonce = (text("type"), text("nonce"));
        if message["dir"] == "resp" {
            open.insert(nonce);
            continue;
        }
        let names = message["names"].as_array().cloned().unwrap_or_default();
        let names: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
        match text("kind").as_str() {
            "ack" => assert!(open.remove(&nonce), "answered twice: {message}"),
            kind => out.entry(text("type")).or_default().push(format!("{kind} {names:?}")),
        }
    }
    assert!(open.is_empty(), "without an answer: {open:?}");
    out
}

/// Returns the types in the order of their first request.
fn order(recording: &Recording) -> Vec<String> {
    let mut types = Vec::new();
    for message in recording.messages().iter().filter(|message| message["dir"] == "req") {
        let word = message["type"].as_str().unwrap_or_default().to_owned();
        if !types.contains(&word) {
            types.push(word);
        }
    }
    types
}

/// Returns the resources at the end, with versions.
fn held(recording: &Recording) -> BTreeSet<String> {
    let live = |resource: &&Value| resource["state"] == "present" || resource["state"] == "kept";
    let resources = recording.objects("get", &[]);
    let name =
        |r: &Value| format!("{}/{}", r["type"].as_str().unwrap_or("?"), r["name"].as_str().unwrap_or("?"));
    resources.iter().filter(live).map(name).collect()
}

fn assert_requests_match(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let envoys = {
        let mut plane = world.control_plane(Flags::default());
        let tap = world.tap(plane.address(), &[]);
        let _envoy = world.envoy("edge", variant, tap.address());
        serve(&mut plane, variant, 0);
        tap.stop()
    };
    let ours = {
        let mut plane = world.control_plane(Flags::default());
        let file = world.folder().join("bootstrap.json");
        fs::write(&file, bootstrap::envoy("edge", variant, plane.address(), None).to_string())
            .expect("a file");
        let recording = world.folder().join("watch.xdsrec");
        let mut command = xdscope(world.folder());
        command
            .args(["watch", "--no-tui", "--bootstrap"])
            .arg(&file)
            .args(["--force", "--record"])
            .arg(&recording);
        let child = Child::start(&mut command, &world.folder().join("watch.log"));
        serve(&mut plane, variant, 0);
        child.interrupt();
        Recording { file: recording }
    };
    assert_eq!(held(&envoys), held(&ours));
    let (theirs, mut own) = (requests(&envoys), requests(&ours));
    // First difference: in delta the client requests `*`, Envoy an empty list.
    if variant.is_delta() {
        for kind in ["cds", "lds"] {
            let first = own.get_mut(kind).and_then(|requests| requests.first_mut()).expect("a first request");
            assert_eq!(first, "subscribe {\"*\"}");
            *first = "subscribe {}".into();
        }
    }
    assert_eq!(theirs, own, "{}\n{}", envoys.text("log", &[]), ours.text("log", &[]));
    // Second difference: Envoy requests listeners once it has its clusters, the client immediately.
    assert_eq!(order(&envoys), ["cds", "eds", "lds", "rds"]);
    assert_eq!(order(&ours)[..2], ["cds", "lds"]);
    // Third difference: Envoy sends its node in each request, the client once.
    let sizes = |recording: &Recording| -> Vec<u64> {
        let all = recording.messages();
        all.iter().filter(|m| m["dir"] == "req").filter_map(|m| m["size"].as_u64()).skip(1).collect()
    };
    assert!(sizes(&envoys).iter().all(|size| *size > 1000), "{:?}", sizes(&envoys));
    assert!(sizes(&ours).iter().all(|size| *size < 200), "{:?}", sizes(&ours));
}
