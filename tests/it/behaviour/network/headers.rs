//! Runs real peers through a tap that changes request headers: the server gets the changed headers,
//! peers behave as without the tap, and secrets are never recorded.

use std::collections::BTreeSet;
use std::net::TcpListener;

use serde_json::Value;

use crate::behaviour::hostile::secrets::{assert_none, drawn, unpacked};
use crate::behaviour::network::tls::{Certs, NAME, streams, tap};
use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    grpc_client::Kind,
    http,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot},
    tap::{Recording, Tap},
    wait::wait_for,
    world::World,
};

const TOKEN: &str = "token-of-0123456789abcdef";
const AUTHORITY: &str = "tenant-a.mesh:15010";

/// Returns the flags of the tap.
fn header_flags() -> Vec<String> {
    let token = format!("Authorization: Bearer {TOKEN}");
    let words =
        ["-H", &token, "-H", "x-tenant: a", "-H", "user-agent: somebody else", "--authority", AUTHORITY];
    words.map(str::to_owned).to_vec()
}

/// Asserts that at least `at_least` streams reached the server with the headers of the tap in place
/// of the client's.
fn assert_changed(plane: &ControlPlane, at_least: usize) {
    let opened: Vec<_> = plane.events(0).into_iter().filter(|event| event.event == "open").collect();
    assert!(opened.len() >= at_least, "{opened:?}");
    let token = format!("Bearer {TOKEN}");
    for open in opened {
        for (name, value) in [
            (":authority", AUTHORITY),
            ("authorization", &token),
            ("x-tenant", "a"),
            ("user-agent", "somebody else"),
            ("content-type", "application/grpc"),
        ] {
            assert_eq!(open.metadata.get(name), Some(&vec![value.to_owned()]), "{name} {open:?}");
        }
    }
}

/// Asserts that the recording has the headers as sent, without the token.
fn assert_recorded_without_token(log: &str, recording: &Recording) {
    let secrets = [TOKEN.to_owned()];
    assert_none("the tap's lines", log.as_bytes(), &secrets);
    assert!(log.contains("gets :authority, authorization, x-tenant, user-agent from here"), "{log}");
    assert_none("the recording", &unpacked(&recording.file), &secrets);
    for (verb, args) in [
        ("log", &["--body", "-o", "jsonl"][..]),
        ("status", &["-o", "wide"]),
        ("info", &[]),
        ("info", &["-o", "json"]),
        ("export", &["--to", "script"]),
    ] {
        assert_none(verb, recording.text(verb, args).as_bytes(), &secrets);
    }
    assert_none("a screen", drawn(recording).as_bytes(), &secrets);
    let raw = recording.text("export", &["--to", "raw"]);
    assert_none("raw JSONL", raw.as_bytes(), &secrets);
    let opened = raw.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let opened: Vec<_> = opened.filter(|line| line["dir"] == "open").collect();
    assert!(!opened.is_empty());
    for open in opened {
        let kept = &open["metadata"];
        assert_eq!(
            (&kept["x-tenant"], &kept["user-agent"]),
            (&"a".into(), &"somebody else".into()),
            "{open}"
        );
        assert!(
            kept["authorization"].as_str().is_some_and(|value| value.starts_with("[redacted ")),
            "{open}"
        );
    }
}

#[test]
fn changes_headers_of_envoy_on_many_streams() {
    let test = "changes_headers_of_envoy_on_many_streams";
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = tap(&world, &plane, &[header_flags()]);
    let mut envoy = world.envoy("edge-1", Variant::Delta, tap.address());
    plane.set(&Snapshot::chain(Variant::Delta, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    for type_url in [CLUSTER, LISTENER, ENDPOINTS, ROUTE] {
        plane.wait_for(mark, "a new stream's request", |event| event.is_request(type_url));
    }
    assert_changed(&plane, 8);
    let log = tap.log();
    let recording = tap.stop();
    assert_eq!(recording.state("rds")["state"], "synced");
    let streams = streams(&recording);
    let peers: BTreeSet<_> = streams.iter().map(|stream| stream["peer"].to_string()).collect();
    assert!(streams.len() >= 8 && peers.len() == 1, "later requests refer to the first: {streams:?}");
    assert_recorded_without_token(&log, &recording);
}

#[test]
fn changes_headers_of_envoy_with_mutual_tls() {
    let test = "changes_headers_of_envoy_with_mutual_tls";
    let Some(world) = World::open(test) else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags { tls: certs.server(), ..Flags::default() });
    let tap = tap(&world, &plane, &[certs.listen(), certs.dial(), header_flags()]);
    let mut envoy = world.envoy_tls("edge-1", Variant::Ads, tap.address(), &certs.client());
    plane.set(&Snapshot::chain(Variant::Ads, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    assert_changed(&plane, 1);
    let log = tap.log();
    let recording = tap.stop();
    // The TLS server name is still the one that the client asked for.
    let streams = streams(&recording);
    assert!(streams.iter().all(|stream| stream["tls"]["server"]["sni"] == NAME), "{streams:?}");
    assert_recorded_without_token(&log, &recording);
}

#[test]
fn changes_headers_of_grpc_core_with_mutual_tls() {
    run_grpc_lifecycle("changes_headers_of_grpc_core_with_mutual_tls", Kind::Core, true);
}

#[test]
fn changes_headers_of_grpc_go_with_mutual_tls() {
    run_grpc_lifecycle("changes_headers_of_grpc_go_with_mutual_tls", Kind::Go, true);
}

#[test]
fn changes_headers_of_grpc_js() {
    run_grpc_lifecycle("changes_headers_of_grpc_js", Kind::Js, false);
}

fn run_grpc_lifecycle(test: &str, kind: Kind, secure: bool) {
    let Some(world) = World::open(test) else { return };
    let certs = secure.then(|| Certs::new(&world));
    let tls = certs.as_ref().and_then(Certs::server);
    let mut plane = world.control_plane(Flags { tls, ..Flags::default() });
    let legs = certs.iter().flat_map(|certs| [certs.listen(), certs.dial()]);
    let tap = tap(&world, &plane, &legs.chain([header_flags()]).collect::<Vec<_>>());
    let own = certs.as_ref().map(Certs::client);
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", tap.address(), own.as_ref());
    plane.set(&Snapshot::grpc_chain("echo.test", client.backend()));
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    // The headers of the next stream refer to those of the previous stream in the HPACK table.
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's LDS request", |event| event.is_request(LISTENER));
    assert_eq!(client.call("again"), Ok("again".to_owned()));
    assert_changed(&plane, 2);
    let log = tap.log();
    let recording = tap.stop();
    let streams = streams(&recording);
    assert_eq!(streams[0]["peer"], streams[1]["peer"], "{streams:?}");
    assert_eq!(streams[0]["tls"]["server"]["sni"], Value::Null, "an authority is not a server name");
    assert_recorded_without_token(&log, &recording);
}

#[test]
fn refuses_to_change_headers_of_http1_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = TcpListener::bind("127.0.0.1:0").expect("a port");
    let changes = header_flags();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let tap = Tap::start(folder.path(), upstream.local_addr().expect("its address"), &changes);
    let answer = http::get(tap.address(), "/v3/discovery:clusters").expect("an answer");
    let words = "changing headers failed: the client speaks HTTP/1.1, not HTTP/2";
    assert!(answer.status == 502 && answer.body.contains(words), "{} {}", answer.status, answer.body);
    wait_for("the failure among the tap's lines", || tap.log().contains(words).then_some(()));
    assert_none("the tap's lines", tap.log().as_bytes(), &[TOKEN.to_owned()]);
    let recording = tap.stop();
    let shown = recording.text("log", &[]);
    assert!(shown.contains(words), "{shown}");
}
