//! Taps with faults between real clients and go-control-plane: what each fault provokes, and that
//! both sides agree once the faults are over.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::behaviour::network::tls::Certs;
use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, endpoints},
    tap::{Recording, Tap},
    wait::wait_for,
    world::World,
};

const TYPES: [&str; 4] = [CLUSTER, ENDPOINTS, LISTENER, ROUTE];

/// A control plane, a tap with faults, and an Envoy.
pub struct Scene {
    pub world: World,
    pub plane: ControlPlane,
    pub tap: Tap,
    pub envoy: Envoy,
    pub chain: Snapshot,
}

impl Scene {
    pub fn open(test: &str, variant: Variant, faults: &[&str]) -> Option<Scene> {
        let world = World::open(test)?;
        let mut plane = world.control_plane(Flags::default());
        let args: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
        let tap = world.tap(plane.address(), &args);
        let envoy = world.envoy("edge-1", variant, tap.address());
        let chain = Snapshot::chain(variant, envoy.admin());
        plane.set(&chain);
        Some(Scene { world, plane, tap, envoy, chain })
    }

    /// Waits until version 1 of all types is acknowledged.
    pub fn settle(&mut self) {
        self.envoy.wait_live();
        for type_url in TYPES {
            self.plane.wait_for_ack(0, type_url, "1");
        }
    }

    /// Serves a version of the endpoints with another address. Returns the mark before.
    pub fn change_endpoints(&mut self, version: &str) -> usize {
        let mark = self.plane.mark();
        let moved = endpoints("echo", self.plane.address());
        self.plane.set(&self.chain.clone().with(ENDPOINTS, version, vec![moved]));
        mark
    }

    /// Checks that all types are in sync, and that Envoy has the same endpoints as an Envoy without
    /// a tap. Returns the recording.
    pub fn converge(self, variant: Variant) -> Recording {
        let mut direct = self.world.envoy("direct", variant, self.plane.address());
        direct.wait_live();
        let wanted = wait_for("endpoints of the other Envoy", || {
            Some(dump(&direct, ENDPOINT_DUMP)).filter(|endpoints| !endpoints.is_empty())
        });
        wait_for("equal endpoints", || (dump(&self.envoy, ENDPOINT_DUMP) == wanted).then_some(()));
        let recording = self.tap.stop();
        for kind in ["cds", "eds", "lds", "rds"] {
            let state = recording.state(kind);
            assert_eq!(state["state"], "synced", "{kind} {state}");
            assert!(state["diverged"].is_null(), "{kind} {state}");
        }
        recording
    }
}

pub const ENDPOINT_DUMP: (&str, &str) = ("dynamic_endpoint_configs", "endpoint_config");
pub const CLUSTER_DUMP: (&str, &str) = ("dynamic_active_clusters", "cluster");

/// Returns resources of an Envoy.
pub fn dump(envoy: &Envoy, (resource, member): (&str, &str)) -> Vec<Value> {
    let dump = envoy.get(&format!("/config_dump?include_eds&resource={resource}"));
    let dump: Value = serde_json::from_str(&dump).expect("a config dump");
    let items = dump["configs"].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item[member].clone()).collect()
}

/// Returns the rows of `log` about interventions.
pub fn interventions(recording: &Recording) -> Vec<Value> {
    let rows = recording.objects("log", &[]).into_iter().filter(|row| row["kind"] == "intercepted");
    rows.map(|row| row["intercepted"].clone()).collect()
}

/// Returns the words and faults of the interventions.
pub fn words(recording: &Recording) -> Vec<String> {
    let words = interventions(recording).into_iter();
    words.map(|what| what["interference"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn dropped_push_is_missing_until_reconnect_ads() {
    dropped_push("dropped_push_is_missing_until_reconnect_ads", Variant::Ads);
}

#[test]
fn dropped_push_is_missing_until_reconnect_delta() {
    dropped_push("dropped_push_is_missing_until_reconnect_delta", Variant::DeltaAds);
}

fn dropped_push(test: &str, variant: Variant) {
    let fault = "type:eds kind:push version:2 => drop times=1";
    let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
    scene.settle();
    let mark = scene.change_endpoints("2");
    scene.plane.wait_for(mark, "the push", |e| e.is_response(ENDPOINTS) && e.version == "2");
    let (state, recording) = wait_for("the divergence", || {
        let recording = scene.tap.copy_of_recording()?;
        let states = recording.states(&[]).into_iter();
        let mut diverged = states.filter(|state| state["type"] == "eds" && !state["diverged"].is_null());
        Some((diverged.next()?, recording))
    });
    assert_eq!(state["diverged"]["intercepted"]["by"], json!(format!("fault 1: {fault}")));
    let wide = recording.text("status", &["-o", "wide"]);
    assert!(wide.contains("diverged: push dropped by fault 1"), "{wide}");
    assert!(scene.plane.events(mark).iter().all(|e| !e.is_request(ENDPOINTS)), "Envoy knows nothing of it");
    let mark = scene.plane.mark();
    scene.plane.close_streams(14, "scripted");
    scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
    let recording = scene.converge(variant);
    assert_eq!(words(&recording), ["dropped"]);
    let text = recording.text("log", &[]);
    assert!(text.contains("push dropped by fault 1: type:eds"), "{text}");
}

#[test]
fn delayed_push_arrives_later() {
    for (test, variant) in [("delayed_ads", Variant::Ads), ("delayed_delta", Variant::DeltaAds)] {
        let fault = "type:eds kind:push version:2 => delay 1500ms";
        let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
        scene.settle();
        let start = Instant::now();
        let mark = scene.change_endpoints("2");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        assert!(start.elapsed() >= Duration::from_millis(1500), "{:?}", start.elapsed());
        assert_eq!(words(&scene.converge(variant)), ["delayed"]);
    }
}

#[test]
fn bounced_push_is_refused_and_sent_again() {
    for (test, variant) in [("bounced_ads", Variant::Ads), ("bounced_delta", Variant::DeltaAds)] {
        let fault = "type:eds kind:push version:2 => bounce not today times=1";
        let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
        scene.settle();
        let mark = scene.change_endpoints("2");
        let nack = scene.plane.wait_for(mark, "the NACK", |e| e.is_nack(ENDPOINTS));
        assert_eq!(nack.error.map(|error| error.message).as_deref(), Some("not today"));
        if variant == Variant::Ads {
            // The server compares versions: 1 is not 2.
            assert_eq!(nack.version, "1");
        } else {
            // The server regards the NACK as the end of the matter.
            scene.plane.close_streams(14, "scripted");
        }
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        let recording = scene.converge(variant);
        assert_eq!(words(&recording), ["bounced"]);
        let nacks = recording.messages().into_iter().filter(|message| message["kind"] == "nack");
        assert_eq!(nacks.count(), 0, "the client refused nothing");
    }
}

#[test]
fn changed_push_is_what_the_client_has() {
    for (test, variant) in [("changed_ads", Variant::Ads), ("changed_delta", Variant::DeltaAds)] {
        let fault = "type:cds kind:push => set connect_timeout=9s";
        let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
        scene.settle();
        let clusters = dump(&scene.envoy, CLUSTER_DUMP);
        assert!(clusters.iter().any(|cluster| cluster["connect_timeout"] == "9s"), "{clusters:?}");
        let recording = scene.tap.stop();
        assert_eq!(words(&recording), ["changed"]);
        assert!(!recording.state("cds")["diverged"].is_null());
    }
}

#[test]
fn altered_resources_are_sent_again_on_a_new_stream() {
    for (test, variant) in [("altered_ads", Variant::Ads), ("altered_delta", Variant::DeltaAds)] {
        // Not a cluster: Envoy would let it warm again for endpoints that the server need not send.
        let fault = "type:eds kind:push => set policy.overprovisioning_factor=333 times=1";
        let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
        scene.settle();
        let is_altered = |envoy: &Envoy| {
            dump(envoy, ENDPOINT_DUMP).iter().any(|of| of["policy"]["overprovisioning_factor"] == 333)
        };
        assert!(is_altered(&scene.envoy));
        scene.plane.close_streams(14, "scripted");
        wait_for("the endpoints of the server", || (!is_altered(&scene.envoy)).then_some(()));
        let recording = scene.converge(variant);
        assert_eq!(words(&recording), ["changed", "corrected"], "{test}");
        let summary = recording.text("status", &[]);
        assert!(summary.contains("1 correction; recovered within"), "{summary}");
    }
}

/// A cluster that a fault has changed is sent again as the server has it. Envoy takes that for an
/// update, for which it needs the endpoints once more.
#[test]
fn altered_cluster_converges_once_it_is_sent_again() {
    for (test, variant, corrections) in
        [("altered_cluster_ads", Variant::Ads, 1), ("altered_cluster_delta", Variant::DeltaAds, 2)]
    {
        let fault = "type:cds kind:push => set connect_timeout=9s times=1";
        let Some(mut scene) = Scene::open(test, variant, &[fault]) else { return };
        scene.settle();
        let is_altered = |envoy: &Envoy| {
            dump(envoy, CLUSTER_DUMP).iter().any(|cluster| cluster["connect_timeout"] == "9s")
        };
        assert!(is_altered(&scene.envoy));
        let mark = scene.plane.mark();
        scene.plane.close_streams(14, "scripted");
        for type_url in [CLUSTER, ENDPOINTS] {
            scene.plane.wait_for(mark, "a push on the new stream", |e| e.is_response(type_url));
        }
        // The server may have sent the endpoints first, which Envoy needs after the cluster.
        let mark = scene.change_endpoints("2");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        wait_for("the cluster of the server", || (!is_altered(&scene.envoy)).then_some(()));
        let recording = scene.converge(variant);
        let corrected = words(&recording).iter().filter(|word| *word == "corrected").count();
        assert_eq!(corrected, corrections, "{test}");
        let findings = recording.objects("lint", &[]);
        assert!(findings.iter().all(|finding| finding["blame"] != "server"), "{findings:?}");
    }
}

#[test]
fn name_of_a_fault_leaves_the_client_on_a_new_stream() {
    let variant = Variant::DeltaAds;
    let fault = "type:cds kind:push name:more => rename more wagon times=1";
    let Some(mut scene) = Scene::open("renamed_delta", variant, &[fault]) else { return };
    scene.settle();
    let names = |envoy: &Envoy| {
        let mut names: Vec<String> =
            dump(envoy, CLUSTER_DUMP).iter().map(|of| of["name"].to_string()).collect();
        names.sort();
        names
    };
    let clusters = [cluster("echo", variant), cluster("more", variant)];
    scene.plane.set(&scene.chain.clone().with(CLUSTER, "2", clusters.to_vec()));
    wait_for("the push", || scene.tap.log().contains("push changed by fault 1").then_some(()));
    let mark = scene.plane.mark();
    scene.plane.close_streams(14, "scripted");
    scene.plane.wait_for_ack(mark, CLUSTER, "2");
    wait_for("the removal", || scene.tap.log().contains("push corrected by fault 1").then_some(()));
    assert!(!names(&scene.envoy).iter().any(|name| name.contains("wagon")), "{:?}", names(&scene.envoy));
    let events = format!("{:?}", scene.plane.events(0));
    assert!(!events.contains("wagon"), "the server never hears of the name: {events}");
    let recording = scene.tap.stop();
    // Left out: on both streams the endpoints, then the cluster; and the push removes the cluster.
    assert_eq!(words(&recording), ["changed", "corrected", "corrected", "corrected", "corrected"]);
}

#[test]
fn repeated_push_has_one_answer_for_the_server() {
    let variant = Variant::Ads;
    let fault = "type:eds kind:push version:2 => duplicate times=1";
    let Some(mut scene) = Scene::open("repeated_push", variant, &[fault]) else { return };
    scene.settle();
    let mark = scene.change_endpoints("2");
    let push = scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
    wait_for("the second answer", || scene.tap.log().contains("request dropped by fault 1").then_some(()));
    let events = scene.plane.events(mark);
    let answers = events.iter().filter(|e| e.is_request(ENDPOINTS) && e.nonce == push.nonce).count();
    assert_eq!(answers, 1, "{events:?}");
    let recording = scene.converge(variant);
    assert_eq!(words(&recording), ["duplicated", "dropped"]);
    let summary = recording.text("status", &[]);
    assert!(summary.contains("2 interventions, 0 NACKs, 0 reconnects; recovered within"), "{summary}");
}

#[test]
fn ended_streams_are_opened_again() {
    for (test, fault) in [
        ("ended_by_status", "type:eds kind:push version:2 => status UNAVAILABLE come back later times=1"),
        ("ended_by_reset", "type:eds kind:push version:2 => reset times=1"),
    ] {
        for (suffix, variant) in [("ads", Variant::Ads), ("delta", Variant::DeltaAds)] {
            let Some(mut scene) = Scene::open(&format!("{test}_{suffix}"), variant, &[fault]) else { return };
            scene.settle();
            let mark = scene.change_endpoints("2");
            scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
            let recording = scene.converge(variant);
            assert_eq!(words(&recording), ["ended"], "{fault}");
        }
    }
}

#[test]
fn faults_work_with_tls_on_both_legs() {
    let variant = Variant::Ads;
    let Some(world) = World::open("faults_with_tls") else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags { tls: certs.server(), ..Flags::default() });
    let fault = "type:eds kind:push version:2 => bounce not today times=1";
    let args = [certs.listen(), certs.dial(), vec!["--fault".into(), fault.into()]];
    let tap = crate::behaviour::network::tls::tap(&world, &plane, &args);
    let mut envoy = world.envoy_tls("edge-1", variant, tap.address(), &certs.client());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let mark = plane.mark();
    plane.set(&chain.with(ENDPOINTS, "2", vec![endpoints("echo", plane.address())]));
    plane.wait_for(mark, "the NACK", |e| e.is_nack(ENDPOINTS));
    plane.wait_for_ack(mark, ENDPOINTS, "2");
    let recording = tap.stop();
    assert_eq!(recording.state("eds")["state"], "synced");
    assert_eq!(words(&recording), ["bounced"]);
}

#[test]
fn grpc_client_waits_for_a_delayed_push() {
    let Some(world) = World::open("grpc_client_waits_for_a_delayed_push") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &["--fault", "type:eds kind:push => delay 1s times=1"]);
    let mut client = world.grpc_client("cart", "cart", tap.address());
    plane.set(&Snapshot::grpc_chain("cart", client.backend()));
    let start = Instant::now();
    assert_eq!(client.call("hello").as_deref(), Ok("hello"));
    assert!(start.elapsed() >= Duration::from_millis(800), "{:?}", start.elapsed());
    plane.wait_for_ack(0, ENDPOINTS, "1");
    let recording = tap.stop();
    assert_eq!(recording.state("eds")["state"], "synced");
    assert_eq!(words(&recording), ["delayed"]);
}

#[test]
fn held_messages_are_sent_when_the_tap_stops() {
    let variant = Variant::Ads;
    let Some(mut scene) =
        Scene::open("held_until_the_end", variant, &["type:eds kind:push version:2 => hold 1h"])
    else {
        return;
    };
    scene.settle();
    let mark = scene.change_endpoints("2");
    wait_for("the hold", || scene.tap.log().contains("push held by fault 1").then_some(()));
    assert!(scene.plane.events(mark).iter().all(|e| !e.is_request(ENDPOINTS)));
    let recording = scene.tap.stop();
    let pushes = recording.messages().into_iter().filter(|m| m["kind"] == "push" && m["version"] == "2");
    assert_eq!(pushes.count(), 1, "the push went on");
}

#[test]
fn withheld_endpoints_are_not_blamed_on_the_server() {
    let Some(scene) = Scene::open("withheld_endpoints", Variant::Ads, &["type:eds kind:push => drop"]) else {
        return;
    };
    wait_for("the drop", || scene.tap.log().contains("push dropped by fault 1").then_some(()));
    let problems = wait_for("a problem of the endpoints", || {
        let recording = scene.tap.copy_of_recording().filter(|copy| !interventions(copy).is_empty())?;
        let objects = recording.objects("status", &[]).into_iter();
        let of_endpoints = |object: &Value| object["object"] == "problem" && object["type"] == "eds";
        let problems: Vec<Value> = objects.filter(of_endpoints).collect();
        (!problems.is_empty()).then_some(problems)
    });
    for problem in problems {
        assert_eq!(problem["blame"], "xdscope", "{problem}");
        let text = problem.to_string();
        assert!(text.contains("caused by xdscope: push dropped by fault 1"), "{text}");
    }
    drop(scene);
}

#[test]
fn message_too_long_to_hold_ends_its_stream() {
    let Some(world) = World::open("message_too_long_to_hold") else { return };
    let mut plane = world.control_plane(Flags::default());
    let fault = "type:eds kind:push version:9 => drop";
    let tap = world.tap(plane.address(), &["--fault", fault, "--memory", "64MB"]);
    let envoy = world.envoy("edge-1", Variant::Ads, tap.address());
    let chain = Snapshot::chain(Variant::Ads, envoy.admin());
    plane.set(&chain);
    let mut scene = Scene { world, plane, tap, envoy, chain };
    scene.settle();
    let mut long = cluster("long", Variant::Ads);
    long["metadata"] = json!({"filter_metadata": {"notes": {"text": "x".repeat(16 << 20)}}});
    let mark = scene.plane.mark();
    let clusters = vec![cluster("echo", Variant::Ads), long];
    scene.plane.set(&scene.chain.clone().with(CLUSTER, "2", clusters));
    scene.plane.wait_for(mark, "a new stream", |e| e.is_request(CLUSTER) && e.nonce.is_empty());
    let problem = wait_for("a problem of the stream", || {
        let objects = scene.tap.copy_of_recording()?.objects("status", &[]).into_iter();
        let is_about_end =
            |object: &Value| object["object"] == "problem" && object.to_string().contains("the limit of");
        objects.into_iter().find(is_about_end)
    });
    assert_eq!(problem["blame"], "xdscope", "{problem}");
    // Envoy applies a push that can be held.
    let mark = scene.plane.mark();
    scene.plane.set(&scene.chain.clone().with(CLUSTER, "3", vec![cluster("echo", Variant::Ads)]));
    scene.plane.wait_for_ack(mark, CLUSTER, "3");
    let recording = scene.converge(Variant::Ads);
    assert!(words(&recording).iter().all(|word| word == "ended"), "{:?}", words(&recording));
    let text = recording.text("log", &[]);
    assert!(text.contains("stream ended by the limit of 10.7 MB for messages on armed streams"), "{text}");
}

#[test]
fn delayed_push_arrives_after_its_server_has_gone() {
    let fault = "type:eds kind:push version:2 => delay 3s";
    let Some(mut scene) = Scene::open("delayed_push_outlives", Variant::Ads, &[fault]) else { return };
    scene.settle();
    let mark = scene.change_endpoints("2");
    scene.plane.wait_for(mark, "the push", |e| e.is_response(ENDPOINTS) && e.version == "2");
    wait_for("the delay", || scene.tap.log().contains("push delayed by fault 1").then_some(()));
    let Scene { world: _world, plane, tap, envoy, .. } = scene;
    drop(plane);
    let push = wait_for("the push at the client", || {
        let rows = tap.copy_of_recording()?.objects("log", &[]).into_iter();
        let of_type = |row: &Value| row["kind"] == "push" && row["type"] == "eds" && row["version"] == "2";
        rows.into_iter().find(of_type)
    });
    assert_eq!(push["stream"], 1, "{push}");
    drop(envoy);
}
