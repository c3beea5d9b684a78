//! Checks that real peers cause no false findings.

use std::{collections::BTreeSet, fs, net::SocketAddr};

use serde_json::{Value, json};
use xdscope::app::demo::{Demo, Scenario};
use xdscope::net::transport::Address;

use crate::support::{
    bootstrap::{self, Variant},
    control_plane::{ControlPlane, Flags},
    grpc_client::Kind,
    misbehave::schema,
    process::Child,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, bad_clusters, cluster, endpoints, route},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

/// Asserts that exactly the `known` rules have errors or warnings.
fn assert_found(recording: &Recording, known: &[&str]) {
    let findings = recording.objects("lint", &[]);
    let severe: Vec<_> = findings.iter().filter(|finding| finding["severity"] != "info").collect();
    let rules: BTreeSet<&str> = severe.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    let known: BTreeSet<&str> = known.iter().copied().collect();
    assert_eq!(rules, known, "{severe:#?}\n{}", recording.text("log", &[]));
}

#[test]
fn lint_of_envoy_over_ads() {
    // go-control-plane answers a NACK with the snapshot that was refused.
    envoy("lint_of_envoy_over_ads", Variant::Ads, &["nack-resend-loop"]);
}

#[test]
fn lint_of_envoy_over_delta_ads() {
    envoy("lint_of_envoy_over_delta_ads", Variant::DeltaAds, &[]);
}

#[test]
fn lint_of_envoy_over_sotw_streams() {
    let known = &["nack-resend-loop"];
    envoy("lint_of_envoy_over_sotw_streams", Variant::Sotw, known);
}

#[test]
fn lint_of_envoy_over_delta_streams() {
    envoy("lint_of_envoy_over_delta_streams", Variant::Delta, &[]);
}

fn nacks(plane: &ControlPlane, mark: usize) -> usize {
    plane.events(mark).iter().filter(|event| event.is_nack(CLUSTER)).count()
}

/// Runs an Envoy through start, a rejected update, its repair, and a reconnect.
fn envoy(test: &str, variant: Variant, known: &[&str]) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags { ads: variant.is_aggregated(), ..Flags::default() });
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    if !known.is_empty() {
        // The loop has begun with the second NACK.
        wait_for("a second NACK", || (nacks(&plane, mark) > 1).then_some(()));
    }
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", variant)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    grow_and_shrink(&mut plane, &chain, variant, envoy.admin());
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    // An Envoy that ends by itself resets its streams one by one.
    envoy.child.kill();
    assert_found(&tap.stop(), known);
}

/// Adds a cluster with endpoints, moves the route there and back, and removes the cluster.
fn grow_and_shrink(plane: &mut ControlPlane, chain: &Snapshot, source: Variant, backend: SocketAddr) {
    let clusters = |names: &[&str]| names.iter().map(|name| cluster(name, source)).collect::<Vec<_>>();
    let assigned = |names: &[&str]| names.iter().map(|name| endpoints(name, backend)).collect::<Vec<_>>();
    let more = chain.clone();
    let more = more.with(CLUSTER, "4", clusters(&["echo", "more"]));
    let more = more.with(ENDPOINTS, "4", assigned(&["echo", "more"]));
    let mark = plane.mark();
    plane.set(&more);
    plane.wait_for_ack(mark, CLUSTER, "4");
    plane.wait_for(mark, "the new cluster's endpoints", |event| {
        event.is_response(ENDPOINTS) && event.names.iter().any(|name| name == "more")
    });
    for (version, to) in [("5", "more"), ("6", "echo")] {
        let mark = plane.mark();
        plane.set(&more.clone().with(ROUTE, version, vec![route("r-in", to)]));
        plane.wait_for_ack(mark, ROUTE, version);
    }
    let mark = plane.mark();
    let fewer = more.with(ROUTE, "6", vec![route("r-in", "echo")]);
    plane.set(&fewer.with(CLUSTER, "7", clusters(&["echo"])).with(ENDPOINTS, "7", assigned(&["echo"])));
    plane.wait_for_ack(mark, CLUSTER, "7");
}

#[test]
fn lint_of_grpc_core() {
    grpc("lint_of_grpc_core", Kind::Core, &[]);
}

#[test]
fn lint_of_grpc_go() {
    grpc("lint_of_grpc_go", Kind::Go, &[]);
}

#[test]
fn lint_of_grpc_js() {
    grpc("lint_of_grpc_js", Kind::Js, &[]);
}

/// Runs a gRPC client through start, an added and removed cluster, and a reconnect.
fn grpc(test: &str, kind: Kind, known: &[&str]) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", tap.address(), None);
    let chain = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let backend = client.backend();
    let more =
        chain.clone().with(CLUSTER, "2", vec![cluster("echo", Variant::Ads), cluster("more", Variant::Ads)]);
    let more = more.with(ENDPOINTS, "2", vec![endpoints("echo", backend), endpoints("more", backend)]);
    let mark = plane.mark();
    plane.set(&more.clone().with(ROUTE, "2", vec![route("r-in", "more")]));
    plane.wait_for_ack(mark, ROUTE, "2");
    plane.wait_for(mark, "the new cluster", |event| {
        event.is_response(ENDPOINTS) && event.names.iter().any(|name| name == "more")
    });
    assert_eq!(client.call("more"), Ok("more".to_owned()));
    let mark = plane.mark();
    plane.set(&more.with(ROUTE, "3", vec![route("r-in", "echo")]));
    plane.wait_for_ack(mark, ROUTE, "3");
    assert_eq!(client.call("less"), Ok("less".to_owned()));
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    assert_eq!(client.call("again"), Ok("again".to_owned()));
    drop(client);
    assert_found(&tap.stop(), known);
}

/// Start, a rejected update, its repair, and a removal over REST.
///
/// Envoy rejects by polling with the previous version: docs/protocol.md#d-02
#[test]
fn lint_of_envoy_by_polls() {
    let Some(world) = World::open("lint_of_envoy_by_polls") else { return };
    let mut plane = world.control_plane(Flags { rest: true, ..Flags::default() });
    let tap = world.tap(plane.rest_address(), &[]);
    let polled = |name: &str| {
        let mut cluster = cluster(name, Variant::Sotw);
        cluster["eds_cluster_config"]["eds_config"] = bootstrap::polled();
        cluster
    };
    let mut envoy = world.envoy_of("edge-1", &bootstrap::envoy_rest("edge-1", tap.address()));
    let chain = Snapshot::default()
        .with(LISTENER, "1", vec![])
        .with(CLUSTER, "1", vec![polled("echo")])
        .with(ENDPOINTS, "1", vec![endpoints("echo", envoy.admin())]);
    plane.set(&chain);
    envoy.wait_live();
    let runs = |name: &str| envoy.get("/clusters").contains(&format!("{name}::"));
    wait_for("the cluster", || runs("echo").then_some(()));
    let both = vec![polled("echo"), polled("more")];
    let more = chain.clone().with(CLUSTER, "2", both.clone()).with(
        ENDPOINTS,
        "2",
        vec![endpoints("echo", envoy.admin()), endpoints("more", envoy.admin())],
    );
    plane.set(&more);
    wait_for("one cluster more", || runs("more").then_some(()));
    plane.set(&more.clone().with(CLUSTER, "3", [both.clone(), bad_clusters()].concat()));
    wait_for("a refusal", || envoy.get("/stats?filter=cds").contains("update_rejected: 1").then_some(()));
    plane.set(&more.clone().with(CLUSTER, "4", vec![polled("echo")]));
    wait_for("one cluster less", || (!runs("more")).then_some(()));
    envoy.child.interrupt();
    assert_found(&tap.stop(), &["implicit-nack"]);
}

/// Start, an added cluster, a change, and a removal in files that Envoy and xdscope both read.
#[test]
fn lint_of_envoy_by_files() {
    let Some(world) = World::open("lint_of_envoy_by_files") else { return };
    let folder = world.folder().join("files");
    fs::create_dir(&folder).expect("a folder for the files");
    let write = |file: &str, type_url: &str, version: &str, mut resources: Vec<Value>| {
        resources.iter_mut().for_each(|resource| resource["@type"] = json!(type_url));
        let new = world.folder().join("new");
        fs::write(&new, json!({ "version_info": version, "resources": resources }).to_string())
            .expect("a file");
        fs::rename(new, folder.join(file)).expect("a file in its place");
    };
    let filed = |name: &str| {
        let mut cluster = cluster(name, Variant::Sotw);
        cluster["eds_cluster_config"]["eds_config"] = bootstrap::filed(&folder.join(format!("{name}.json")));
        cluster
    };
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    write("lds.json", LISTENER, "l1", Vec::new());
    write("echo.json", ENDPOINTS, "e1", vec![endpoints("echo", at(9))]);
    write("cds.json", CLUSTER, "c1", vec![filed("echo")]);
    let mut envoy = world.envoy_of("edge-1", &bootstrap::envoy_files("edge-1", &folder));
    envoy.wait_live();
    let has = |text: &str| envoy.get("/clusters").contains(text);
    wait_for("the cluster", || has("echo::127.0.0.1:9::").then_some(()));
    let file = world.folder().join("watch.xdsrec");
    let mut command = xdscope(world.folder());
    command.arg("watch").arg(&folder).args(["--no-tui", "--record"]).arg(&file);
    let child = Child::start(&mut command, &world.folder().join("watch.log"));
    let read = |versions: &[&str]| {
        let is_push = |line: &str, version| line.contains(" push ") && line.contains(&format!(" {version} "));
        let all = || versions.iter().all(|version| child.log().lines().any(|line| is_push(line, version)));
        wait_for("the files to be read", || all().then_some(()));
    };
    read(&["l1", "e1", "c1"]);
    write("more.json", ENDPOINTS, "m1", vec![endpoints("more", at(9))]);
    write("cds.json", CLUSTER, "c2", vec![filed("echo"), filed("more")]);
    wait_for("one cluster more", || has("more::127.0.0.1:9::").then_some(()));
    read(&["m1", "c2"]);
    write("echo.json", ENDPOINTS, "e2", vec![endpoints("echo", at(10))]);
    wait_for("another endpoint", || has("echo::127.0.0.1:10::").then_some(()));
    read(&["e2"]);
    write("cds.json", CLUSTER, "c3", vec![filed("echo")]);
    wait_for("one cluster less", || (!has("more::")).then_some(()));
    read(&["c3"]);
    fs::remove_file(folder.join("more.json")).expect("a file to remove");
    wait_for("the end of a file", || child.log().contains("is gone").then_some(()));
    child.interrupt();
    let stats = envoy.get("/stats?filter=update_rejected");
    assert!(stats.lines().all(|line| line.ends_with(": 0")), "{stats}");
    envoy.child.interrupt();
    let recording = Recording { file };
    assert_eq!(recording.state("cds")["in_force"], "c3");
    assert_found(&recording, &[]);
}

/// Globs with an added member, a change, and moved endpoints, from the demo server.
#[test]
fn lint_of_envoy_by_structured_names() {
    let Some(world) = World::open("lint_of_envoy_by_structured_names") else { return };
    let demo = Demo::start(schema().clone(), Scenario::Xdstp, 1).expect("a demo");
    let upstream: SocketAddr = demo.upstream.to_string().parse().expect("an address");
    let tap = world.tap(upstream, &[]);
    let mut envoy =
        world.envoy_of("edge-1", &bootstrap::envoy_xdstp("edge-1", Variant::DeltaAds, tap.address()));
    envoy.wait_live();
    let has = |name: &str| envoy.get("/clusters").contains(&format!("{name}::"));
    let name = |service: &str| format!("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/{service}");
    wait_for("a cluster", || has(&name("ratings")).then_some(()));
    // The scenario continues once its own clients may connect, although nothing listens there.
    demo.connect(&Address::Tcp("127.0.0.1:9".to_owned()));
    wait_for("a cluster more", || has(&name("ledger")).then_some(()));
    envoy.child.interrupt();
    assert_found(&tap.stop(), &[]);
}

/// The demo server before its scenario begins.
#[test]
fn lint_of_envoy_and_our_own_server() {
    for (variant, test) in [
        (Variant::Ads, "lint_of_envoy_and_our_own_server"),
        (Variant::DeltaAds, "lint_of_envoy_and_our_own_server_delta"),
    ] {
        let Some(world) = World::open(test) else { return };
        let demo = Demo::start(schema().clone(), Scenario::Tour, 1).expect("a demo");
        let tap = world.tap(demo.upstream.to_string().parse().expect("an address"), &[]);
        let mut envoy = world.envoy("edge-1", variant, tap.address());
        envoy.wait_live();
        wait_for("a cluster", || envoy.get("/clusters").contains("ratings::").then_some(()));
        envoy.child.interrupt();
        assert_found(&tap.stop(), &[]);
    }
}

/// The demo: six nodes, each with exactly its intended problems.
#[test]
fn lint_of_the_tour() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("demo.xdsrec");
    let mut command = xdscope(folder.path());
    command.args(["demo", "--no-tui", "-o", "jsonl", "--record"]).arg(&file);
    let demo = Child::start(&mut command, &folder.path().join("demo.log"));
    // The last finding is that of a name requested in vain for 15 s.
    let found = |rule: &str, node: &str| {
        let of_node = |line: &&str| line.contains(&format!("\"rule\":\"{rule}\"")) && line.contains(node);
        demo.log().lines().any(|line| of_node(&line))
    };
    wait_for("the end of the story", || {
        let waited = found("name-not-delivered", "edge-gw-1") && found("name-not-delivered", "grpc-cart-0");
        let cut = found("stream-rejected", "payments-v3-1c2a");
        let warms = found("warming-stuck", "edge-gw-1");
        (waited && cut && warms).then_some(())
    });
    demo.interrupt();
    let findings = Recording { file }.objects("lint", &[]);
    let said: BTreeSet<(&str, &str)> =
        findings.iter().filter_map(|f| Some((f["node"].as_str()?, f["rule"].as_str()?))).collect();
    let of =
        |node: &str| said.iter().filter(|(of, _)| *of == node).map(|(_, rule)| *rule).collect::<Vec<_>>();
    // All clients are sent a route to a missing cluster, and a cluster that breaks a constraint.
    let common = ["pgv-violation", "route-unknown-cluster"];
    let with = |more: &[&'static str]| {
        let mut all: Vec<&str> = common.iter().chain(more).copied().collect();
        all.sort_unstable();
        all
    };
    // Rejects, receives the same once again after 10 s, and waits for missing endpoints, for which
    // a cluster of the refused push warms.
    let gateway = ["nack", "name-not-delivered", "warming-stuck"];
    assert_eq!(of("edge-gw-1"), with(&gateway));
    // Does not answer the push of routes, so that it has no route to the missing cluster.
    assert_eq!(of("ratings-v1-77d0"), ["pgv-violation", "response-unanswered", "version-churn"]);
    // Requests a missing cluster only.
    assert_eq!(of("grpc-cart-0"), ["name-not-delivered"]);
    assert_eq!(of("reviews-v2-6b8f"), common);
    assert_eq!(of("batch-9"), with(&["version-churn"]));
    // The streams of this node are cut repeatedly, perhaps before it accepts the route.
    let mut payments = of("payments-v3-1c2a");
    payments.retain(|rule| *rule != "route-unknown-cluster");
    assert_eq!(payments, ["pgv-violation", "stream-rejected"]);
}
