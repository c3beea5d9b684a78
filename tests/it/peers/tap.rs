//! Runs real peers through xdscope: they behave as without the tap, and the recording matches their
//! own logs.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Event, Flags},
    http,
    misbehave::Misbehaving,
    process::Child,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, bad_clusters, bad_secret, cluster,
        cluster_with_secret,
    },
    tap::{Recording, Tap, xdscope},
    wait::{pass, wait_for},
    world::World,
};

/// Returns type URL, version and nonce of each message by direction and stream, on which two
/// observers must agree.
fn said(plane: &[Event], event: &str) -> Vec<(String, String, String)> {
    let of = |e: &&Event| e.event == event;
    plane.iter().filter(of).map(|e| (e.type_url.clone(), e.version.clone(), e.nonce.clone())).collect()
}

fn seen(messages: &[Value], dir: &str) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .filter(|message| message["dir"] == dir)
        .map(|message| (text(&message["type_url"]), text(&message["version"]), text(&message["nonce"])))
        .collect()
}

/// Asserts that the recording has the messages of the control plane.
///
/// Streams of different types are not ordered among each other, so messages of non-aggregated
/// variants are sorted first.
fn assert_same(plane: &ControlPlane, recording: &Recording, aggregated: bool) {
    let (events, messages) = (plane.events(0), recording.messages());
    for (event, dir) in [("request", "req"), ("response", "resp")] {
        let (mut theirs, mut ours) = (said(&events, event), seen(&messages, dir));
        if !aggregated {
            theirs.sort();
            ours.sort();
        }
        // The last messages of an ended client may not have reached the server.
        assert!(ours.len() >= theirs.len(), "{dir}: {} of {}", ours.len(), theirs.len());
        ours.truncate(if aggregated { theirs.len() } else { ours.len() });
        assert_eq!(ours, theirs, "{dir}");
    }
}

#[test]
fn passes_envoy_over_ads() {
    run_envoy_lifecycle("passes_envoy_over_ads", Variant::Ads);
}

#[test]
fn passes_envoy_over_delta_ads() {
    run_envoy_lifecycle("passes_envoy_over_delta_ads", Variant::DeltaAds);
}

#[test]
fn passes_envoy_over_sotw_streams() {
    run_envoy_lifecycle("passes_envoy_over_sotw_streams", Variant::Sotw);
}

#[test]
fn passes_envoy_over_delta_streams() {
    run_envoy_lifecycle("passes_envoy_over_delta_streams", Variant::Delta);
}

fn run_envoy_lifecycle(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let answer = http::get(envoy.listener("in"), "/ready").expect("an answer through Envoy");
    assert_eq!((answer.status, answer.body.trim()), (200, "LIVE"));
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
    let nack = plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    let text = nack.error.expect("an error_detail").message;
    // The NACK is printed immediately, in the words of the peer.
    wait_for("the NACK among the tap's lines", || tap.log().contains("bad-1").then_some(()));
    // A rejected snapshot is pushed repeatedly, until a good one replaces it.
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", variant)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    let recording = tap.stop();

    let state = recording.state("cds");
    assert_eq!((&state["state"], &state["open_nack"]), (&"synced".into(), &Value::Null), "{state}");
    assert_eq!(state["variant"], variant.word());
    assert_eq!(state["node"], "edge-1");
    assert_eq!((&state["in_force"], &state["offered"]), (&"3".into(), &"3".into()), "{state}");
    assert!(state["nack_count"].as_u64() >= Some(1), "{state}");
    assert_eq!(state["nacks"][0]["version"], "2");
    let texts: Vec<_> =
        state["nacks"].as_array().expect("a list").iter().map(|nack| &nack["message"]).collect();
    assert!(texts.iter().any(|seen| **seen == text.as_str()), "the client's text, whole, not {texts:?}");
    for kind in ["eds", "lds", "rds"] {
        assert_eq!(recording.state(kind)["state"], "synced", "{kind}");
        assert_eq!(recording.state(kind)["in_force"], "1", "{kind}");
    }
    assert_same(&plane, &recording, variant.is_aggregated());
    let shown = recording.text("log", &[]);
    assert!(shown.contains("NACK"), "{shown}");
    let cluster = recording.objects("get", &["cds/echo"]);
    assert_eq!(cluster.len(), 1, "{cluster:?}");
    assert_eq!((&cluster[0]["name"], &cluster[0]["state"]), (&"echo".into(), &"present".into()));
}

#[test]
fn envoy_reconnects_through_tap() {
    let Some(world) = World::open("envoy_reconnects_through_tap") else { return };
    let mut plane = world.control_plane(Flags { ads: true, ..Flags::default() });
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", Variant::DeltaAds, tap.address());
    plane.set(&Snapshot::chain(Variant::DeltaAds, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));

    // The upstream restarts on its port: the next attempt succeeds.
    let address = plane.address();
    drop(plane);
    wait_for("a failed attempt among the tap's lines", || tap.log().contains("connect").then_some(()));
    let mut plane = world.control_plane(Flags { port: address.port(), ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::DeltaAds, envoy.admin()).with(CLUSTER, "2", vec![]));
    plane.wait_for_ack(0, CLUSTER, "2");
    let recording = tap.stop();

    let info = recording.objects("info", &[]);
    let ads: Vec<_> =
        info.iter().filter(|s| s["object"] == "stream" && s["variant"] == "delta-ads").collect();
    assert!(ads.len() >= 3, "{info:?}");
    assert_eq!(ads[0]["end"]["code"], 14);
    assert_eq!(ads[0]["end"]["message"], "scripted");
    assert_eq!(ads[1]["reconnect_of"], ads[0]["stream"]);
    let second = &ads[1]["stream"];
    let claims = |m: &&Value| m["stream"] == *second && m["type"] == "cds" && m["class"] == "initial";
    let messages = recording.messages();
    let first = messages.iter().find(claims).expect("the first CDS request of the second stream");
    let body = recording.objects("log", &["--body", "--filter", &format!("#{}", first["n"])]);
    let claimed = &body[0]["body"]["initialResourceVersions"];
    assert!(claimed["echo"].is_string(), "{claimed}");
    let gone = recording.objects("get", &["cds/echo"]);
    assert!(gone.iter().any(|r| r["state"] == "removed"), "{gone:?}");
}

#[test]
fn private_key_appears_nowhere() {
    let Some(world) = World::open("private_key_appears_nowhere") else { return };
    const KEY: &str = "NO-REAL-KEY-BUT-AS-SECRET";
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
    assert!(!tap.log().contains(KEY));
    let recording = tap.stop();
    for (verb, args) in [
        ("log", &["--body"][..]),
        ("log", &["--body", "-o", "json"]),
        ("status", &["-o", "json"]),
        ("get", &["sds", "-o", "yaml"]),
        ("export", &["--to", "jsonl"]),
        ("export", &["--to", "script"]),
    ] {
        let text = recording.text(verb, args);
        assert!(!text.contains(KEY), "{verb} {args:?}");
        assert!(!text.is_empty(), "{verb} {args:?}");
    }
    assert!(recording.text("get", &["sds", "-o", "yaml"]).contains("[redacted"), "the redaction is shown");
    // In raw messages the key would be surrounded by other bytes.
    for line in recording.text("export", &["--to", "raw"]).lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let raw = crate::support::base64(line["raw"].as_str().unwrap_or_default());
        assert!(!raw.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", line["t"]);
    }
}

/// docs/protocol.md#i-12: a client stops its keepalive without closing its connection.
#[test]
fn detects_stopped_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Misbehaving::start();
    let tap = Tap::start(folder.path(), server.address(), &["-o", "jsonl"]);
    let mut command = xdscope(folder.path());
    command.args([
        "watch",
        &tap.address().to_string(),
        "cds",
        "--no-tui",
        "--no-record",
        "--keepalive",
        "1500ms",
    ]);
    let client = Child::start(&mut command, &folder.path().join("watch.log"));
    // Enough PINGs for an interval.
    wait_for("the client's keepalive", || {
        let streams = tap.copy_of_recording()?.objects("info", &[]);
        streams.iter().any(|object| object["keepalive"]["every"].is_number()).then_some(())
    });
    let stopped = Command::new("kill").args(["-STOP", &client.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()), "kill -STOP");
    wait_for("the finding", || tap.log().contains("stream-silent").then_some(()));
    drop(client);
    let recording = tap.stop();
    let findings = recording.objects("lint", &["--rule", "stream-silent"]);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["blame"], "client");
    let streams = recording.objects("info", &[]);
    let keepalive = streams.iter().find_map(|object| object["keepalive"]["every"].as_f64());
    assert!(keepalive.is_some_and(|every| (1.0..3.0).contains(&every)), "{streams:#?}");
}

#[test]
fn passes_grpc_core() {
    let Some(world) = World::open("passes_grpc_core") else { return };
    let mut plane = world.control_plane(Flags { gzip: true, ..Flags::default() });
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client("app-1", "echo.test", tap.address());
    plane.set(&Snapshot::grpc_chain("echo.test", client.backend()));
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let recording = tap.stop();
    assert_same(&plane, &recording, true);
    for kind in ["lds", "rds", "cds", "eds"] {
        let state = recording.state(kind);
        assert_eq!((&state["state"], &state["wildcard"]), (&"synced".into(), &"none".into()), "{state}");
    }
    let listener = recording.text("get", &["lds/echo.test", "-o", "yaml"]);
    assert!(listener.contains("HttpConnectionManager"), "{listener}");
}

/// Newest time of which a killed tap may lose the messages: docs/recordings.md.
const LOST_AT_MOST: Duration = Duration::from_secs(1);

#[test]
fn killed_tap_loses_one_second_at_most() {
    let Some(world) = World::open("killed_tap_loses_one_second_at_most") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client("app-1", "echo.test", tap.address());
    plane.set(&Snapshot::grpc_chain("echo.test", client.backend()));
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    pass(LOST_AT_MOST);
    let recording = tap.kill();
    assert_same(&plane, &recording, true);
    let notices = String::from_utf8(recording.run("status", &[]).stderr).expect("text");
    assert!(notices.contains("not closed"), "{notices}");
    for kind in ["lds", "rds", "cds", "eds"] {
        assert_eq!(recording.state(kind)["state"], "synced", "{kind}");
    }
}
