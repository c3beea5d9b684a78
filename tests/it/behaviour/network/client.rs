//! Runs xdscope as a client of a real control plane.

use std::{net::SocketAddr, path::PathBuf};

use serde_json::Value;

use crate::support::{
    bootstrap::Variant,
    certs::{Ca, ServerTls},
    control_plane::{ControlPlane, Event, Flags},
    process::{Child, free_port},
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, dumped_cluster, endpoints, listener, route,
    },
    tap::{Recording, attempts, xdscope},
    wait::wait_for,
    world::World,
};

/// A running `xdscope watch`.
pub(crate) struct Watch {
    pub(crate) child: Child,
    recording: PathBuf,
}

impl Watch {
    pub(crate) fn start(world: &World, server: SocketAddr, args: &[&str]) -> Watch {
        let recording = world.folder().join("watch.xdsrec");
        let mut command = xdscope(world.folder());
        command.args([
            "watch",
            &server.to_string(),
            "--no-tui",
            "--node-id",
            "watcher",
            "--force",
            "--record",
        ]);
        command.arg(&recording).args(args);
        Watch { child: Child::start(&mut command, &world.folder().join("watch.log")), recording }
    }

    pub(crate) fn stop(self) -> Recording {
        self.child.interrupt();
        Recording { file: self.recording }
    }
}

pub(crate) fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Asserts that the rules find nothing about the client of xdscope, except `known` rules.
pub(crate) fn assert_clean(recording: &Recording, known: &[&str]) {
    let findings = recording.objects("lint", &[]);
    let known = |finding: &&Value| !known.iter().any(|rule| finding["rule"] == *rule);
    let severe: Vec<_> = findings.iter().filter(|f| f["severity"] != "info").filter(known).collect();
    assert!(severe.is_empty(), "{severe:#?}\n{}", recording.text("log", &[]));
}

#[test]
fn client_over_ads() {
    run_config_lifecycle("client_over_ads", Variant::Ads);
}

#[test]
fn client_over_delta_ads() {
    run_config_lifecycle("client_over_delta_ads", Variant::DeltaAds);
}

#[test]
fn client_over_sotw_streams() {
    run_config_lifecycle("client_over_sotw_streams", Variant::Sotw);
}

#[test]
fn client_over_delta_streams() {
    run_config_lifecycle("client_over_delta_streams", Variant::Delta);
}

/// Adds, grows and shrinks a configuration, and reconnects.
fn run_config_lifecycle(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags { ads: variant.is_aggregated(), ..Flags::default() });
    let chain = Snapshot::chain(variant, backend());
    plane.set(&chain);
    let watch = Watch::start(&world, plane.address(), &["--variant", variant.word()]);
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        let response = plane.wait_for_ack(0, type_url, "1");
        assert_eq!((response.delta, response.names.len()), (variant.is_delta(), 1));
    }

    let mark = plane.mark();
    let more = chain.grown(variant, backend());
    plane.set(&more);
    plane.wait_for_ack(mark, CLUSTER, "2");
    plane.wait_for_ack(mark, ROUTE, "2");
    plane.wait_for(mark, "the new cluster's endpoints", |event| {
        event.is_response(ENDPOINTS) && event.names.iter().any(|name| name == "more")
    });

    // The first cluster is no longer referenced.
    let mark = plane.mark();
    let listeners = vec![listener("in", "r-in", variant), listener("in-2", "r-in", variant)];
    let fewer = more.shrunk(variant, backend()).with(LISTENER, "3", listeners);
    plane.set(&fewer);
    plane.wait_for_ack(mark, CLUSTER, "3");
    plane.wait_for_ack(mark, LISTENER, "3");
    // The client unsubscribes from the endpoints of the removed cluster.
    plane.wait_for(mark, "the end of a subscription", |event| match variant.is_delta() {
        true => event.is_request(ENDPOINTS) && event.unsubscribe == ["echo"],
        false => event.is_request(ENDPOINTS) && event.names == ["more"],
    });

    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        let first = plane.wait_for(mark, "a new stream's first request", |e| e.is_request(type_url));
        assert_eq!((first.nonce.as_str(), first.error), ("", None));
        // The new stream states the versions: one for the type in SotW, one per resource in delta.
        assert_eq!(first.version.is_empty(), variant.is_delta(), "{type_url}");
        assert_eq!(first.initial_versions.is_empty(), !variant.is_delta(), "{type_url}");
    }
    let mark = plane.mark();
    plane.set(&fewer.with(CLUSTER, "4", vec![cluster("more", variant), cluster("last", variant)]));
    plane.wait_for_ack(mark, CLUSTER, "4");

    let recording = watch.stop();
    for (kind, names) in [("cds", &["last", "more"][..]), ("lds", &["in", "in-2"]), ("rds", &["r-in"])] {
        let resources = recording.objects("get", &[kind]);
        let live = |resource: &&Value| resource["state"] == "present" || resource["state"] == "kept";
        let mut have: Vec<_> =
            resources.iter().filter(live).filter_map(|resource| resource["name"].as_str()).collect();
        have.sort_unstable();
        assert_eq!(have, names, "{resources:#?}");
    }
    assert_clean(&recording, &[]);
}

#[test]
fn client_of_linear_caches() {
    for variant in [Variant::Ads, Variant::DeltaAds, Variant::Sotw, Variant::Delta] {
        run_linear_lifecycle(&format!("client_of_linear_caches-{}", variant.word()), variant);
    }
}

/// Runs the lifecycle with linear caches, which send only changed resources and count versions.
fn run_linear_lifecycle(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags { linear: true, ..Flags::default() });
    let accepted = |plane: &ControlPlane, mark: usize, type_url: &str, name: &str| {
        wait_for(&format!("an ACK of {name}"), || {
            let events = plane.events(mark);
            let acked = |response: &&Event| {
                response.is_response(type_url)
                    && response.names.iter().any(|one| one == name)
                    && events.iter().any(|event| event.is_ack_of(response))
            };
            events.iter().find(acked).map(|_| ())
        });
    };
    let chain = Snapshot::chain(variant, backend());
    plane.set(&chain);
    let watch = Watch::start(&world, plane.address(), &["--variant", variant.word()]);
    for (type_url, name) in [(CLUSTER, "echo"), (ENDPOINTS, "echo"), (LISTENER, "in"), (ROUTE, "r-in")] {
        accepted(&plane, 0, type_url, name);
    }
    let mark = plane.mark();
    let more = chain.with(CLUSTER, "", vec![cluster("echo", variant), cluster("more", variant)]).with(
        ENDPOINTS,
        "",
        vec![endpoints("echo", backend()), endpoints("more", backend())],
    );
    plane.set(&more);
    accepted(&plane, mark, CLUSTER, "more");
    accepted(&plane, mark, ENDPOINTS, "more");
    // The first cluster is not referenced before its removal.
    let mark = plane.mark();
    let more = more.with(ROUTE, "", vec![route("r-in", "more")]);
    plane.set(&more);
    plane.wait_for_ack(mark, ROUTE, "3");
    let mark = plane.mark();
    plane.set(&more.with(CLUSTER, "", vec![cluster("more", variant), cluster("last", variant)]).with(
        ENDPOINTS,
        "",
        vec![endpoints("more", backend()), endpoints("last", backend())],
    ));
    accepted(&plane, mark, CLUSTER, "last");
    accepted(&plane, mark, ENDPOINTS, "last");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for(mark, "a new stream's first request", |event| event.is_request(type_url));
    }
    let recording = watch.stop();
    for (kind, names) in [("cds", &["last", "more"][..]), ("eds", &["last", "more"]), ("lds", &["in"])] {
        let resources = recording.objects("get", &[kind]);
        let live = |resource: &&Value| resource["state"] == "present" || resource["state"] == "kept";
        let have: std::collections::BTreeSet<_> =
            resources.iter().filter(live).filter_map(|resource| resource["name"].as_str()).collect();
        assert_eq!(have, names.iter().copied().collect(), "{resources:#?}");
    }
    assert_clean(&recording, &[]);
}

#[test]
fn client_waits_for_unavailable_server() {
    let Some(world) = World::open("client_waits_for_unavailable_server") else { return };
    let port = free_port();
    let watch = Watch::start(&world, SocketAddr::from(([127, 0, 0, 1], port)), &[]);
    wait_for("a message about the server", || {
        let log = watch.child.log();
        (log.contains("cannot reach") && attempts(&log) >= 2).then_some(())
    });
    let mut plane = world.control_plane(Flags { port, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    plane.wait_for_ack(0, ENDPOINTS, "1");
    assert_clean(&watch.stop(), &[]);
}

#[test]
fn client_rejects_requested_types() {
    let Some(world) = World::open("client_rejects_requested_types") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let watch = Watch::start(&world, plane.address(), &["--nack", "type:cds version:2 => not today"]);
    plane.wait_for_ack(0, CLUSTER, "1");
    let mark = plane.mark();
    let chain = Snapshot::chain(Variant::Ads, backend());
    plane.set(&chain.clone().with(
        CLUSTER,
        "2",
        vec![cluster("echo", Variant::Ads), dumped_cluster("bad", "x")],
    ));
    let nack = plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER));
    assert_eq!(nack.version, "1", "the version in force");
    assert_eq!(nack.error.map(|error| error.message).as_deref(), Some("not today"));
    plane.set(&chain.with(CLUSTER, "3", vec![cluster("echo", Variant::Ads)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    // go-control-plane answers a NACK with the rejected snapshot.
    assert_clean(&watch.stop(), &["nack-resend-loop", "sotw-needless-update", "pgv-violation"]);
}

pub(crate) fn run(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    let output = xdscope(world.folder()).args(args).output().expect("xdscope runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn verbs_accept_server_as_source() {
    let Some(world) = World::open("verbs_accept_server_as_source") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let server = plane.address().to_string();
    let (code, out, err) = run(&world, &["get", &server, "-o", "name"]);
    assert_eq!((code, out.as_str()), (Some(0), "lds/in\ncds/echo\nrds/r-in\neds/echo\n"), "{err}");
    let (code, out, err) = run(&world, &["get", &server, "eds", "-o", "yaml"]);
    assert_eq!((code, out.contains("cluster_name: echo")), (Some(0), true), "{out}{err}");
    let (code, out, err) = run(&world, &["get", &server, "cds/echo", "-o", "name", "--variant", "delta"]);
    assert_eq!((code, out.as_str()), (Some(0), "cds/echo\n"), "{err}");
    let (code, _, err) = run(&world, &["get", &server, "cds/none", "--resource-timeout", "2s"]);
    assert_eq!(code, Some(4), "{err}");
    let (code, out, err) = run(&world, &["status", &server, "--wait", "90s", "--node-id", "me"]);
    assert_eq!((code, out.contains("me"), out.contains("NACK")), (Some(0), true, false), "{out}{err}");
    let (code, _, err) = run(&world, &["lint", &server]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&world, &["wait", &server, "synced"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&world, &["wait", &server, "type:cds name:echo version:1"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&world, &["wait", &server, "type:cds version:2", "--timeout", "2s"]);
    assert_eq!(code, Some(4), "{err}");
    let (code, _, err) = run(&world, &["wait", &server, "synced", "--nodes", "3"]);
    assert_eq!(code, Some(2), "{err}");
    let (code, _, err) = run(&world, &["get", &server, "vhds/r/h"]);
    assert_eq!((code, err.contains("vhds") || err.contains("VirtualHost")), (Some(2), true), "{err}");
    let nobody = format!("127.0.0.1:{}", free_port());
    let (code, _, err) = run(&world, &["get", &nobody, "cds"]);
    assert_eq!((code, err.contains("tried  name ok, port")), (Some(3), true), "{err}");
}

/// docs/protocol.md#i-07
#[test]
fn reads_node_and_server_from_bootstrap() {
    let Some(world) = World::open("reads_node_and_server_from_bootstrap") else { return };
    let mut plane: ControlPlane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::DeltaAds, backend()));
    let file = world.folder().join("bootstrap.json");
    let bootstrap = crate::support::bootstrap::envoy("edge-7", Variant::DeltaAds, plane.address(), None);
    std::fs::write(&file, bootstrap.to_string()).expect("a bootstrap");
    let recording = world.folder().join("borrowed.xdsrec");
    let mut command = xdscope(world.folder());
    command.args(["watch", "--no-tui", "--bootstrap"]).arg(&file).arg("--record").arg(&recording);
    let child = Child::start(&mut command, &world.folder().join("borrowed.log"));
    let response = plane.wait_for_ack(0, ENDPOINTS, "1");
    assert!(response.delta);
    let first = plane.wait_for(0, "a request", |event| event.is_request(CLUSTER));
    assert_eq!(first.node, "edge-7");
    assert!(child.log().contains("using the node id edge-7"), "{}", child.log());
    child.interrupt();
}

#[test]
fn client_over_mutual_tls() {
    let Some(world) = World::open("client_over_mutual_tls") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let (plane_own, own) = (ca.issue("plane", &["cp.test"]), ca.issue("own", &["watcher.test"]));
    let tls = Some(ServerTls { own: plane_own, client_ca: Some(ca.file.clone()) });
    let mut plane = world.control_plane(Flags { tls, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let server = plane.address().to_string();
    let path = |path: &PathBuf| path.display().to_string();
    let (ca, cert, key) = (path(&ca.file), path(&own.cert), path(&own.key));
    let trusted = ["--cacert", &ca, "--servername", "cp.test"];
    let with =
        |more: &[&str]| run(&world, &[&["get", &server, "cds", "-o", "name"], &trusted[..], more].concat());
    let (code, out, err) = with(&["--cert", &cert, "--key", &key]);
    assert_eq!((code, out.as_str()), (Some(0), "cds/echo\n"), "{err}");
    // Without a client certificate, in plaintext, and with a wrong server name.
    let (code, _, err) = with(&[]);
    assert_eq!((code, err.contains("client certificate required")), (Some(3), true), "{err}");
    let (code, _, err) = run(&world, &["get", &server, "cds"]);
    assert_eq!(code, Some(3), "{err}");
    let wrong = ["get", &server, "cds", "--cacert", &ca, "--servername", "other.test"];
    let (code, _, err) = run(&world, &wrong);
    assert_eq!((code, err.contains("other.test")), (Some(3), true), "{err}");
    assert!(err.contains("--servername cp.test"), "{err}");
}

#[test]
fn reports_expired_certificate() {
    let Some(world) = World::open("reports_expired_certificate") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let tls = Some(ServerTls { own: ca.expired("old", &["cp.test"]), client_ca: None });
    let plane = world.control_plane(Flags { tls, ..Flags::default() });
    let (server, file) = (plane.address().to_string(), ca.file.display().to_string());
    let trusted = ["--cacert", &file, "--servername", "cp.test"];
    let (code, _, err) = run(&world, &[&["get", &server, "cds"], &trusted[..]].concat());
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("TLS failed, expired: the server's certificate expired on 2021"), "{err}");
    assert!(err.contains("  tried  name ok, port ok, TLS handshake\n"), "{err}");
    let watch = Watch::start(&world, plane.address(), &trusted);
    wait_for("the second attempt", || {
        let log = watch.child.log();
        (log.contains("expired") && attempts(&log) >= 2).then_some(())
    });
    watch.stop();
}

#[test]
fn client_rejects_constraint_violations() {
    let Some(world) = World::open("client_rejects_constraint_violations") else { return };
    let mut plane = world.control_plane(Flags::default());
    let chain = Snapshot::chain(Variant::Ads, backend());
    plane.set(&chain.clone().with(CLUSTER, "1", vec![dumped_cluster("bad", "x")]));
    let watch = Watch::start(&world, plane.address(), &["--ack", "validate"]);
    let nack = plane.wait_for(0, "a NACK", |event| event.is_nack(CLUSTER));
    let text = nack.error.map(|error| error.message).unwrap_or_default();
    assert!(text.starts_with("bad: connect_timeout must be greater than"), "{text}");
    let mark = plane.mark();
    plane.set(&chain.with(CLUSTER, "2", vec![cluster("echo", Variant::Ads)]));
    plane.wait_for_ack(mark, CLUSTER, "2");
    assert_clean(
        &watch.stop(),
        &["nack-resend-loop", "sotw-needless-update", "pgv-violation", "route-unknown-cluster"],
    );
}

#[test]
fn client_leaves_responses_unanswered_on_request() {
    let Some(world) = World::open("client_leaves_responses_unanswered_on_request") else { return };
    for who in ["ask", "never"] {
        let mut plane = world.control_plane(Flags::default());
        plane.set(&Snapshot::chain(Variant::Ads, backend()));
        let watch = Watch::start(&world, plane.address(), &["--ack", who]);
        for type_url in [CLUSTER, LISTENER] {
            plane.wait_for(0, "a response", |event| event.is_response(type_url));
        }
        // Two requests and their responses.
        wait_for("both pushes to be seen", || {
            let log = watch.child.log();
            (log.lines().filter(|line| line.contains("← ") && line.contains(" push ")).count() >= 2)
                .then_some(())
        });
        let recording = watch.stop();
        let answered = |event: &Event| event.event == "request" && !event.nonce.is_empty();
        assert!(!plane.events(0).iter().any(answered), "{who}: {}", recording.text("log", &[]));
        assert!(recording.messages().iter().any(|message| message["dir"] == "resp"), "{who}");
    }
}

#[test]
fn diff_compares_servers() {
    let Some(world) = World::open("diff_compares_servers") else { return };
    let (mut a, mut b) = (world.control_plane(Flags::default()), world.control_plane(Flags::default()));
    let chain = Snapshot::chain(Variant::Ads, backend());
    a.set(&chain);
    let more = vec![cluster("echo", Variant::Ads), cluster("more", Variant::Ads)];
    b.set(&chain.clone().with(CLUSTER, "2", more));
    let (first, second) = (a.address().to_string(), b.address().to_string());
    let (code, out, err) = run(&world, &["diff", &first, &second, "cds"]);
    assert_eq!(
        (code, out.contains("cds/more"), out.contains("cds/echo")),
        (Some(1), true, false),
        "{out}{err}"
    );
    let (code, _, err) = run(&world, &["diff", &first, &first, "cds"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&world, &["diff", &first, &second, "lds"]);
    assert_eq!(code, Some(0), "{err}");
    // Compares a server with the recording of its stream.
    let watch = Watch::start(&world, a.address(), &[]);
    a.wait_for_ack(0, ENDPOINTS, "1");
    let recording = watch.stop().file.display().to_string();
    let (code, out, err) = run(&world, &["diff", &recording, &first]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, out, err) = run(&world, &["diff", &second, &recording, "cds"]);
    assert_eq!((code, out.contains("cds/more")), (Some(1), true), "{out}{err}");
}

/// A grpc-go server allows one PING every five minutes.
#[test]
fn reports_too_many_pings() {
    let Some(world) = World::open("reports_too_many_pings") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let watch = Watch::start(&world, plane.address(), &["--keepalive", "100ms"]);
    plane.wait_for_ack(0, ENDPOINTS, "1");
    let mark = plane.mark();
    wait_for("its words", || {
        watch
            .child
            .log()
            .contains("the stream broke: GOAWAY ENHANCE_YOUR_CALM (too_many_pings)")
            .then_some(())
    });
    plane.wait_for(mark, "another stream", |event| event.is_request(CLUSTER));
    assert_clean(&watch.stop(), &["sotw-needless-update"]);
}
