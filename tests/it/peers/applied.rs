//! Compares applied configuration (Envoy's config dump, gRPC's CSDS) with what was sent.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::behaviour::verbs::screen::Terminal;
use crate::support::{
    bootstrap::Variant,
    certs::Ca,
    control_plane::Flags,
    grpc_client::Kind,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, SECRET, Snapshot, bad_clusters, cluster, cluster_with_secret,
        endpoints, listener, secret,
    },
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

/// Runs `xdscope` and returns its exit code, stdout and stderr.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = xdscope(folder).args(args).output().expect("xdscope runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn states(recording: &Recording, dump: &str) -> Vec<Value> {
    recording.states(&["--applied", dump])
}

fn applied<'a>(states: &'a [Value], kind: &str) -> &'a Value {
    let state = states.iter().find(|state| state["type"] == kind && state["applied"].is_object());
    &state.unwrap_or_else(|| panic!("no {kind} in {states:#?}"))["applied"]
}

/// Returns the names of the clusters of CDS that a config dump shows as active, in order.
fn active_clusters(dump: &str) -> Vec<String> {
    let dump: Value = serde_json::from_str(dump).expect("a config dump");
    let sections = dump["configs"].as_array().cloned().unwrap_or_default();
    let clusters = sections.iter().filter_map(|section| section["dynamic_active_clusters"].as_array());
    let names = clusters.flatten().filter_map(|cluster| cluster["cluster"]["name"].as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn compares_envoy_config_dump_with_acks() {
    envoy("compares_envoy_config_dump_with_acks", Variant::Ads);
}

#[test]
fn compares_envoy_config_dump_with_delta_acks() {
    envoy("compares_envoy_config_dump_with_delta_acks", Variant::DeltaAds);
}

/// Applies a configuration, then a push that Envoy rejects in part; a listener waits for its route.
fn envoy(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let pair = Ca::new(world.folder(), "ca").issue("own", &["own.test"]);
    let pem = |path: &Path| fs::read_to_string(path).expect("PEM");
    let key = pem(&pair.key);
    let chain = Snapshot::chain(variant, envoy.admin())
        .with(CLUSTER, "1", vec![cluster("echo", variant), cluster_with_secret("safe", "own", variant)])
        .with(SECRET, "1", vec![secret("own", &pem(&pair.cert), &key)]);
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ENDPOINTS, "1");
    plane.wait_for_ack(0, SECRET, "1");
    let mark = plane.mark();
    let good =
        vec![cluster("echo", variant), cluster_with_secret("safe", "own", variant), cluster("new", variant)];
    let waits = listener("waits", "no-such-route", variant);
    plane.set(
        &chain
            .clone()
            .with(CLUSTER, "2", [good, bad_clusters()].concat())
            .with(ENDPOINTS, "2", ["echo", "new"].map(|name| endpoints(name, envoy.admin())).to_vec())
            .with(LISTENER, "2", vec![listener("in", "r-in", variant), waits]),
    );
    plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER));
    // Envoy stops waiting for the route after 15 s. On busy cores it may still apply the clusters.
    let has_all =
        |text: &str| text.contains("\"warming_state\"") && active_clusters(text) == ["echo", "new", "safe"];
    let text = wait_for("a dump with the new listener and the new cluster", || {
        Some(envoy.get("/config_dump?include_eds")).filter(|text| has_all(text))
    });
    let dump = world.folder().join("config_dump.json");
    fs::write(&dump, &text).expect("a file");
    let dump = dump.to_str().expect("a path");
    let recording = tap.stop();

    let states = states(&recording, dump);
    let cds = applied(&states, "cds");
    // Envoy applies the valid resources of a response that it rejects: they are in force.
    assert_eq!((&cds["in_spite"], &cds["applied"]), (&json!([]), &json!(3)), "{cds}");
    let refused = cds["refused"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // The control plane sends the types in any order.
    let refused: std::collections::BTreeSet<_> = refused.collect();
    assert_eq!(refused, ["bad-1", "bad-2"].into(), "{cds}");
    assert_eq!(
        (&cds["missing"], &cds["other"], &cds["resources"]),
        (&json!([]), &json!([]), &json!(5)),
        "{cds}"
    );
    let lds = applied(&states, "lds");
    assert_eq!((&lds["warming"], &lds["applied"]), (&json!(["waits"]), &json!(1)), "{lds}");
    for whole in ["rds", "eds", "sds"] {
        let of = applied(&states, whole);
        assert_eq!(
            (&of["applied"], &of["missing"], &of["other"]),
            (&of["resources"], &json!([]), &json!([])),
            "{of}"
        );
    }
    let wide = recording.text("status", &["--applied", dump, "-o", "wide"]);
    assert!(wide.contains("APPLIED") && wide.contains("1 of 2, 1 warming"), "{wide}");
    assert!(wide.contains("edge-1: LDS applied: 1 resource warming: waits"), "{wide}");

    // The dump alone has the node, the resources and the pending ones; the secret is redacted by
    // Envoy.
    let source = Recording { file: dump.into() };
    let names = source.text("get", &["-o", "name"]);
    for name in ["lds/in", "cds/echo", "cds/new", "rds/r-in", "eds/echo", "sds/own"] {
        assert!(names.lines().any(|line| line == name), "{name}: {names}");
    }
    assert!(!names.contains("bad-1"), "{names}");
    let listeners = source.objects("get", &["lds"]);
    let waits = listeners.iter().find(|one| one["name"] == "waits").expect("the listener");
    assert_eq!(waits["acked_version"], Value::Null, "{waits}");
    assert!(source.states(&[]).iter().all(|state| state["node"] == "edge-1" && state["variant"] == "dump"));
    let secrets = source.text("get", &["sds", "-o", "yaml"]);
    assert!(secrets.contains("[redacted]") && !secrets.contains("PRIVATE KEY"), "{secrets}");
    assert!(source.text("info", &[]).contains("config dump of an Envoy"));

    // Compared by content, all acknowledged resources are present, except the route and the
    // secrets.
    let (code, out, err) = run(
        world.folder(),
        &["diff", recording.file.to_str().expect("a path"), dump, "lds", "rds", "eds", "sds"],
    );
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(err.contains("can't be compared, 1 secret"), "{err}");
    let (code, out, _) =
        run(world.folder(), &["diff", recording.file.to_str().expect("a path"), dump, "cds", "-q"]);
    assert_eq!((code, out.matches("- cds/bad-").count(), out.lines().count()), (Some(1), 2, 2), "{out}");

    // A dump of another Envoy, a truncated one, and a file that is not a dump.
    let other = world.folder().join("other.json");
    fs::write(&other, text.replace("\"edge-1\"", "\"edge-2\"")).expect("a file");
    let (code, out, err) = run(
        world.folder(),
        &[
            "status",
            recording.file.to_str().expect("a path"),
            "-o",
            "wide",
            "--applied",
            other.to_str().expect("a path"),
        ],
    );
    assert!(code == Some(1) && err.contains("is of edge-2: no stream"), "{out}{err}");
    let cut = world.folder().join("cut.json");
    fs::write(&cut, &text[..text.len() / 2]).expect("a file");
    let cut = cut.to_str().expect("a path");
    for args in [&["get", cut, "cds"][..], &["diff", dump, cut], &["status", dump, "--applied", cut]] {
        let (code, _, err) = run(world.folder(), args);
        assert!(code == Some(5) && err.contains("truncated or not JSON"), "{args:?}: {err}");
    }
    for verb in ["log", "lint", "replay"] {
        let (code, _, err) = run(world.folder(), &[verb, dump]);
        assert!(
            code == Some(2) && err.contains("it lists what a client has applied, and has no messages"),
            "{verb}: {err}"
        );
    }
}

#[test]
fn compares_grpc_core_csds_with_acks() {
    grpc("compares_grpc_core_csds_with_acks", Kind::Core);
}

#[test]
fn compares_grpc_go_csds_with_acks() {
    grpc("compares_grpc_go_csds_with_acks", Kind::Go);
}

/// Applies a configuration, then a cluster that the client rejects.
fn grpc(test: &str, kind: Kind) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client_of(kind, "cart", "shop", tap.address(), None);
    let chain = Snapshot::grpc_chain("shop", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".into()));
    let mark = plane.mark();
    // gRPC does not support this cluster type.
    let bad = json!({ "name": "echo", "type": "STRICT_DNS", "connect_timeout": "1s" });
    plane.set(&chain.with(CLUSTER, "2", vec![bad]));
    plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER));
    let dump = world.folder().join("csds.pb");
    fs::write(&dump, client.csds()).expect("a file");
    let recording = tap.stop();

    let source = Recording { file: dump.clone() };
    let names = source.text("get", &["-o", "name"]);
    assert_eq!(names, "lds/shop\ncds/echo\nrds/r-in\neds/echo\n");
    let states = source.states(&[]);
    let cds = states.iter().find(|state| state["type"] == "cds").expect("clusters");
    assert_eq!(
        (&cds["state"], &cds["node"], &cds["variant"]),
        (&json!("nack"), &json!("cart"), &json!("dump"))
    );
    assert!(cds["nacks"][0]["message"].as_str().is_some_and(|text| text.contains("echo")), "{cds}");
    assert!(source.text("info", &[]).contains("CSDS response"));

    let file = dump.to_str().expect("a path");
    let states = self::states(&recording, file);
    assert_eq!(applied(&states, "cds")["refused"], json!(["echo"]));
    for whole in ["lds", "rds", "eds"] {
        assert_eq!(applied(&states, whole)["applied"], json!(1), "{whole}: {states:#?}");
    }
    // The cluster in use is the one accepted before the NACK.
    let wide = recording.text("status", &["--applied", file, "-o", "wide"]);
    assert!(
        wide.contains("APPLIED") && wide.contains("cart: CDS applied: 1 resource refused: echo"),
        "{wide}"
    );
    let session = recording.file.to_str().expect("a path");
    let (code, out, err) = run(world.folder(), &["diff", session, file, "lds", "rds", "eds"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");

    // Screen 2 shows the same state, and reloads the file when it changes.
    let mut screen = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", session, "--applied", file]);
    screen.until("cart");
    screen.press("2");
    screen.until("APPLIED");
    screen.until("0 of 1, 1 refused");
    fs::write(&dump, b"{").expect("a file");
    screen.until("the earlier content is shown");
    assert!(screen.text().contains("0 of 1, 1 refused"), "{}", screen.text());
    screen.press("qq");
    assert_eq!(screen.end(), 0);
}

/// Envoy opens a stream for each secret, and its dump lists all secrets.
#[test]
fn compares_all_secret_streams_of_envoy() {
    let Some(world) = World::open("compares_all_secret_streams_of_envoy") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let variant = Variant::Sotw;
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let ca = Ca::new(world.folder(), "ca");
    let names = ["one", "two"];
    let pem = |path: &Path| fs::read_to_string(path).expect("PEM");
    let secrets = names.map(|name| {
        let pair = ca.issue(name, &["own.test"]);
        secret(name, &pem(&pair.cert), &pem(&pair.key))
    });
    let clusters = names.map(|name| cluster_with_secret(&format!("safe-{name}"), name, variant));
    let clusters = [vec![cluster("echo", variant)], clusters.to_vec()].concat();
    plane.set(&Snapshot::chain(variant, envoy.admin()).with(CLUSTER, "1", clusters).with(
        SECRET,
        "1",
        secrets.to_vec(),
    ));
    envoy.wait_live();
    let dump = world.folder().join("config_dump.json");
    let acks = || {
        let events = plane.events(0);
        let responses = events.iter().filter(|event| event.is_response(SECRET));
        responses.filter(|response| events.iter().any(|event| event.is_ack_of(response))).count()
    };
    wait_for("ACKs of both secrets", || (acks() >= 2).then_some(()));
    fs::write(&dump, envoy.get("/config_dump?include_eds")).expect("a file");
    let dump = dump.to_str().expect("a path");
    let recording = tap.stop();

    let states = states(&recording, dump);
    let of_secrets: Vec<&Value> =
        states.iter().filter(|state| state["type"] == "sds" && state["applied"].is_object()).collect();
    assert_eq!(of_secrets.len(), 2, "{states:#?}");
    for state in of_secrets {
        let of = &state["applied"];
        assert_eq!((&of["resources"], &of["applied"]), (&json!(1), &json!(1)), "{of}");
        assert_eq!((&of["extra"], &of["missing"]), (&json!([]), &json!([])), "{of}");
    }
    // The dump alone: sections without resources owe nothing.
    let own = Recording { file: dump.into() }.states(&[]);
    let waiting: Vec<&Value> = own.iter().filter(|state| state["state"] != "synced").collect();
    assert!(waiting.is_empty(), "{waiting:#?}");
    assert!(own.iter().any(|state| state["type"] == "sds"), "{own:#?}");
}
