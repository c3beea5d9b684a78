//! Runs `xdscope serve` against real clients: each gets from a recording what another client had
//! received.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    certs::{Ca, ClientTls},
    control_plane::{ControlPlane, Flags},
    process::{Child, Talker},
    snapshot::{CLUSTER, ENDPOINTS, ROUTE, Snapshot, bad_clusters, cluster, endpoints},
    tap::{Recording, Tap, xdscope},
    wait::wait_for,
    world::World,
};

#[test]
fn serves_recorded_config_to_envoy_over_ads() {
    snapshot("serves_recorded_config_to_envoy_over_ads", Variant::Ads);
}

#[test]
fn serves_recorded_config_to_envoy_over_delta_ads() {
    snapshot("serves_recorded_config_to_envoy_over_delta_ads", Variant::DeltaAds);
}

#[test]
fn serves_recorded_config_to_envoy_over_sotw_streams() {
    snapshot("serves_recorded_config_to_envoy_over_sotw_streams", Variant::Sotw);
}

#[test]
fn serves_recorded_config_to_envoy_over_delta_streams() {
    snapshot("serves_recorded_config_to_envoy_over_delta_streams", Variant::Delta);
}

fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Returns the resources sent last and not removed: type, name, version and content.
fn held(recording: &Recording) -> BTreeSet<String> {
    let resources = recording.objects("get", &[]);
    let live =
        resources.iter().filter(|resource| resource["state"] == "present" || resource["state"] == "kept");
    live.map(|r| format!("{} {} {} {}", r["type"], r["name"], r["version"], r["body"])).collect()
}

/// Returns the findings about the server.
fn servers(recording: &Recording) -> Vec<Value> {
    let findings = recording.objects("lint", &[]);
    findings.into_iter().filter(|f| f["object"] == "finding" && f["blame"] == "server").collect()
}

/// Records a configuration that grows.
fn recorded(world: &World, variant: Variant) -> Recording {
    after_a_chain(world, variant, |plane, chain| {
        let mark = plane.mark();
        plane.set(&chain.grown(variant, backend()));
        for of_type in [CLUSTER, ENDPOINTS, ROUTE] {
            plane.wait_for_ack(mark, of_type, "2");
        }
    })
}

/// Records an Envoy that accepts a chain, and the changes made by `then`.
fn after_a_chain(
    world: &World,
    variant: Variant,
    then: impl FnOnce(&mut ControlPlane, Snapshot),
) -> Recording {
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge", variant, tap.address());
    let chain = Snapshot::chain(variant, backend());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    then(&mut plane, chain);
    drop(envoy);
    tap.stop()
}

/// Waits for a line about this type and kind.
fn says(serve: &Tap, of_type: &str, kind: &str) {
    let is = |line: &str| line.contains(&format!(" {of_type}  ")) && line.contains(&format!(" {kind} "));
    wait_for(&format!("{kind} of {of_type}"), || serve.log().lines().any(is).then_some(()));
}

fn snapshot(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let first = recorded(&world, variant);
    let serve = Tap::serve(world.folder(), &first.file, &[]);
    let mut envoy = world.envoy("edge", variant, serve.address());
    envoy.wait_live();
    let clusters = || -> BTreeSet<String> {
        let all: Value = serde_json::from_str(&envoy.get("/clusters?format=json")).unwrap_or_default();
        let all = all["cluster_statuses"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
    };
    wait_for("the clusters", || (clusters().contains("echo") && clusters().contains("more")).then_some(()));
    envoy.listener("in");
    says(&serve, "RDS", "ack");
    let second = serve.stop();
    assert_eq!(held(&second), held(&first));
    assert_eq!(servers(&second), Vec::<Value>::new(), "{}", second.text("log", &[]));
    for kind in ["lds", "cds", "rds", "eds"] {
        let state = second.state(kind);
        let word = if state["state"] == "closed" { &state["last_state"] } else { &state["state"] };
        assert_eq!(word, "synced", "{kind}: {}", second.text("log", &[]));
    }
}

#[test]
fn serves_recorded_config_to_grpc_core() {
    let Some(world) = World::open("serves_recorded_config_to_grpc_core") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut before = world.grpc_client("cart", "shop", tap.address());
    plane.set(&Snapshot::grpc_chain("shop", before.backend()));
    assert_eq!(before.call("hello"), Ok("hello".into()));
    let first = tap.stop();

    let serve = Tap::serve(world.folder(), &first.file, &[]);
    let mut after = world.grpc_client("another", "shop", serve.address());
    // The endpoint is the backend of the recorded client.
    assert_eq!(after.call("again"), Ok("again".into()));
    let second = serve.stop();
    assert_eq!(held(&second), held(&first));
    assert_eq!(servers(&second), Vec::<Value>::new(), "{}", second.text("log", &[]));
}

/// Returns the responses in order.
fn responses(recording: &Recording) -> Vec<String> {
    let messages = recording.messages();
    let responses = messages.iter().filter(|message| message["dir"] == "resp");
    responses.map(|m| format!("{} {} {} {}", m["type"], m["version"], m["nonce"], m["size"])).collect()
}

#[test]
fn replays_recorded_responses_to_envoy() {
    script("replays_recorded_responses_to_envoy", Variant::Ads);
}

#[test]
fn replays_recorded_delta_responses_to_envoy() {
    script("replays_recorded_delta_responses_to_envoy", Variant::DeltaAds);
}

/// Replays a rejected push, and the end of the stream.
fn script(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let first = after_a_chain(&world, variant, |plane, chain| {
        let mark = plane.mark();
        plane.set(&chain.with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
        plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER));
    });
    let recorded = responses(&first);
    let serve = Tap::serve(world.folder(), &first.file, &["--mode", "script", "--speed", "max"]);
    let envoy = world.envoy("edge", variant, serve.address());
    let sent = || serve.log().lines().filter(|line| line.contains(" ← ")).count();
    wait_for("all responses", || (sent() == recorded.len()).then_some(()));
    says(&serve, "CDS", "NACK");
    drop(envoy);
    let second = serve.stop();
    assert_eq!(responses(&second), recorded, "{}", second.text("log", &[]));
}

#[test]
fn pushes_saved_files() {
    let Some(world) = World::open("pushes_saved_files") else { return };
    let folder = world.folder().join("resources");
    fs::create_dir_all(&folder).expect("a folder");
    let put = |file: &str, resources: Vec<Value>, type_url: &str| {
        let typed = resources.into_iter().map(|mut resource| {
            resource["@type"] = json!(type_url);
            resource
        });
        fs::write(folder.join(file), json!({"resources": typed.collect::<Vec<_>>()}).to_string())
            .expect("a file");
    };
    let variant = Variant::DeltaAds;
    put("cds.json", vec![cluster("echo", variant)], CLUSTER);
    put("eds.json", vec![endpoints("echo", backend())], ENDPOINTS);
    let serve = Tap::serve(world.folder(), &folder, &["--reload"]);
    let envoy = world.envoy("edge", variant, serve.address());
    let has = |name: &str| envoy.get("/clusters?format=json").contains(&format!("\"{name}\""));
    wait_for("the first cluster", || has("echo").then_some(()));

    put("eds.json", vec![endpoints("echo", backend()), endpoints("more", backend())], ENDPOINTS);
    put("cds.json", vec![cluster("echo", variant), cluster("more", variant)], CLUSTER);
    wait_for("the second cluster", || has("more").then_some(()));

    // An unreadable file removes nothing.
    fs::write(folder.join("cds.json"), "{").expect("a file");
    wait_for("a complaint", || serve.log().contains("not reloaded").then_some(()));
    assert!(has("echo") && has("more"));

    put("cds.json", vec![cluster("more", variant)], CLUSTER);
    wait_for("the end of the first cluster", || (!has("echo")).then_some(()));
    let recording = serve.stop();
    assert_eq!(servers(&recording), Vec::<Value>::new(), "{}", recording.text("log", &[]));
}

fn run(world: &Path, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = xdscope(world).args(args).output().expect("xdscope runs");
    (status.code(), String::from_utf8(stderr).expect("text"))
}

#[test]
fn rejects_unservable_sources() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let script = path("no-response.xds");
    fs::write(&script, "node edge\nstream 1 ads\n> cds\n").expect("a file");
    let good = path("good.xds");
    fs::write(&good, "node edge\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n").expect("a file");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let missing = path("missing.xdsrec");
    for (args, code, words) in [
        (&["serve", &missing][..], 5, "no such file or session"),
        (&["serve", &script], 5, "no response in"),
        (&["serve", &script, "--mode", "script"], 5, "no response in"),
        (&["serve", &good, "--listen", &taken, "--no-tui", "--no-record"], 3, "cannot listen on"),
        (&["serve", &good, "--listen", "nowhere"], 2, "has no port"),
        (&["serve", &good, "--step"], 2, "--step needs --mode script"),
        (&["serve", &good, "--speed", "0"], 2, "expected a number from 0.01"),
        (&["serve", &good, "--stream", "other"], 2, "unknown node `other`"),
        (&["serve", "127.0.0.1:1"], 2, "is a server"),
    ] {
        let (got, err) = run(folder.path(), args);
        assert!(got == Some(code) && err.contains(words), "{args:?}: {got:?} {err}");
    }
}

#[test]
fn serves_envoy_over_mutual_tls() {
    let Some(world) = World::open("serves_envoy_over_mutual_tls") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let (own, client) = (ca.issue("serve", &["cp.test"]), ca.issue("edge", &["edge.test"]));
    let source = world.folder().join("eds.json");
    let cluster = json!({"@type": CLUSTER, "name": "echo", "connect_timeout": "1s"});
    fs::write(&source, json!({"resources": [cluster]}).to_string()).expect("a file");
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    let (cert, key, file) = (text(&own.cert), text(&own.key), text(&ca.file));
    let flags = ["--listen-cert", &cert, "--listen-key", &key, "--listen-client-ca", &file];
    let serve = Tap::serve(world.folder(), &source, &flags);
    let tls = ClientTls { ca: ca.file.clone(), own: Some(client), sni: "cp.test" };
    let _envoy = world.envoy_tls("edge", Variant::Ads, serve.address(), &tls);
    says(&serve, "CDS", "ack");
    // A plaintext client gets an error that explains the failure.
    let address = serve.address().to_string();
    let (code, err) = run(world.folder(), &["get", &address, "cds", "--plaintext"]);
    assert!(code == Some(3) && err.contains("this listener requires TLS"), "{code:?} {err}");
    let recording = serve.stop();
    let info = recording.text("info", &[]);
    assert!(info.contains("client leg  tls") && info.contains("SNI cp.test"), "{info}");
}

#[test]
fn enter_advances_script_on_unix_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("three.xds");
    let text = "node edge
stream 1 ads
> cds
< cds v=1 n=a [A]
> cds v=1 n=a
< cds v=2 n=b [A B]
> cds v=2 n=b
1 close status=5 \"no more\"
";
    fs::write(&script, text).expect("a file");
    let socket = format!("unix:{}", folder.path().join("xds.sock").display());
    let mut command = xdscope(folder.path());
    command.arg("serve").arg(&script).args([
        "--mode",
        "script",
        "--step",
        "--no-record",
        "--listen",
        &socket,
    ]);
    let mut serve = Talker::start(&mut command, &folder.path().join("serve.log"));
    wait_for("it to listen", || serve.child.log().contains("listening on unix:").then_some(()));
    let mut watch = xdscope(folder.path());
    watch.args(["watch", &socket, "cds", "--no-tui", "--no-record", "--no-expand"]);
    let watch = Child::start(&mut watch, &folder.path().join("watch.log"));
    for (offered, then) in [
        ("Enter sends CDS version 1 nonce a, 1 resource", "push           1"),
        ("Enter sends CDS version 2 nonce b, 2 resources", "push           2"),
        ("Enter sends the end of the stream, NOT_FOUND", "NOT_FOUND no more"),
    ] {
        wait_for(offered, || serve.child.log().contains(offered).then_some(()));
        assert!(!watch.log().contains(then), "{}", watch.log());
        serve.tell("");
        wait_for(then, || watch.log().contains(then).then_some(()));
    }
}
