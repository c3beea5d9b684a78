//! Checks identity and servers of the client: bootstraps, recorded clients, bearer tokens, several
//! nodes.

use std::{fs, net::SocketAddr, path::Path};

use serde_json::{Value, json};

use crate::support::{
    bootstrap::{self, Variant},
    certs::{Ca, ClientTls, ServerTls},
    control_plane::{ControlPlane, Flags},
    process::{Child, free_port},
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, endpoints, listener, route},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

fn backend() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// Runs `xdscope` and returns its exit code, stdout and stderr.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = xdscope(folder).args(args).output().expect("xdscope runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    fs::write(&file, text).expect("a file");
    file.to_str().expect("a path").to_owned()
}

/// Runs `watch` until all requested resources have arrived.
fn watch(folder: &Path, args: &[&str]) -> (Option<i32>, String, Recording) {
    let file = folder.join(format!("watch-{}.xdsrec", args.len()));
    let record = file.to_str().expect("a path");
    let own = ["--no-tui", "--until", "synced", "--force", "--record", record];
    let (code, _, err) = run(folder, &[&["watch"], args, &own].concat());
    (code, err, Recording { file })
}

#[test]
fn reads_mutual_tls_from_bootstrap() {
    let Some(world) = World::open("reads_mutual_tls_from_bootstrap") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let (own, client) = (ca.issue("plane", &["cp.test", "127.0.0.1"]), ca.issue("edge", &["edge.test"]));
    let tls = Some(ServerTls { own, client_ca: Some(ca.file.clone()) });
    let mut plane = world.control_plane(Flags { tls, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::DeltaAds, backend()));
    let with = ClientTls { ca: ca.file.clone(), own: Some(client.clone()), sni: "cp.test" };
    let envoy = bootstrap::envoy("edge-7", Variant::DeltaAds, plane.address(), Some(&with));
    let file = write(world.folder(), "envoy.json", &envoy.to_string());
    let (code, err, recording) = watch(world.folder(), &["--bootstrap", &file]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("using the node id edge-7 of the bootstrap"), "{err}");
    let info = recording.text("info", &[]);
    assert!(info.contains("edge-7") && info.contains("SNI cp.test") && info.contains("delta-ads"), "{info}");
    assert_eq!(plane.wait_for(0, "a request", |event| event.is_request(CLUSTER)).node, "edge-7");

    // Inline certificates replace the files of the bootstrap.
    let mut inline = envoy.clone();
    let context = "/static_resources/clusters/0/transport_socket/typed_config/common_tls_context";
    let context = inline.pointer_mut(context).expect("a context");
    let text = |path: &Path| json!({ "inline_string": fs::read_to_string(path).expect("PEM") });
    context["validation_context"]["trusted_ca"] = text(&ca.file);
    context["tls_certificates"] =
        json!([{ "certificate_chain": text(&client.cert), "private_key": text(&client.key) }]);
    let file = write(world.folder(), "inline.json", &inline.to_string());
    let (code, err, recording) = watch(world.folder(), &["--bootstrap", &file, "-q"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let kept = fs::read(&recording.file).expect("the recording");
    assert!(!String::from_utf8_lossy(&kept).contains("PRIVATE KEY"));

    // A wrong server name, no client certificate, and certificates by SDS.
    let mut wrong = envoy.clone();
    let names = "/static_resources/clusters/0/transport_socket/typed_config/common_tls_context/validation_context/\
                 match_typed_subject_alt_names";
    *wrong.pointer_mut(names).expect("names") =
        json!([{ "san_type": "DNS", "matcher": { "exact": "other.test" } }]);
    let file = write(world.folder(), "wrong.json", &wrong.to_string());
    let log = world.folder().join("wrong.log");
    let child = Child::start(
        xdscope(world.folder()).args(["watch", "--no-tui", "--no-record", "--bootstrap", &file]),
        &log,
    );
    wait_for("a message about the name", || child.log().contains("other.test").then_some(()));
    drop(child);
    let grpc = bootstrap::grpc("app-1", plane.address(), Some(&with));
    let file = write(world.folder(), "grpc.json", &grpc.to_string());
    let (code, err, recording) = watch(world.folder(), &["--bootstrap", &file, "--expand", "-q"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let info = recording.text("info", &[]);
    assert!(info.contains("app-1") && info.contains("  ads  "), "{info}");
    let mut sds = envoy;
    let context = "/static_resources/clusters/0/transport_socket/typed_config/common_tls_context";
    sds.pointer_mut(context).expect("a context")["tls_certificate_sds_secret_configs"] =
        json!([{ "name": "own" }]);
    let file = write(world.folder(), "sds.json", &sds.to_string());
    let (code, _, err) = run(world.folder(), &["watch", "--no-tui", "--bootstrap", &file]);
    assert!(code == Some(5) && err.contains("tls_certificate_sds_secret_configs"), "{err}");
}

#[test]
fn falls_back_to_next_server() {
    let Some(world) = World::open("falls_back_to_next_server") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let mut bootstrap = bootstrap::grpc("app-1", plane.address(), None);
    let down = json!({ "server_uri": format!("127.0.0.1:{}", free_port()), "channel_creds": [{ "type": "insecure" }] });
    let servers = bootstrap["xds_servers"].as_array_mut().expect("servers");
    servers.insert(0, down);
    let file = write(world.folder(), "bootstrap.json", &bootstrap.to_string());
    let (code, err, recording) = watch(world.folder(), &["--bootstrap", &file]);
    assert_eq!(code, Some(0), "{err}");
    let streams = recording.objects("info", &[]);
    assert_eq!(streams[0]["server"], plane.address().to_string(), "{streams:#?}");
    bootstrap["xds_servers"][0]["channel_creds"] = json!([{ "type": "google_default" }]);
    let file = write(world.folder(), "google.json", &bootstrap.to_string());
    let (code, _, err) = run(world.folder(), &["watch", "--no-tui", "--bootstrap", &file]);
    assert!(code == Some(5) && err.contains("`google_default`") && err.contains("xds_servers[0]"), "{err}");
}

/// Starts two control planes for a chain of names.
///
/// The listener has a plain name, the cluster of its route belongs to the authority `b`, which has
/// its own server, and the endpoints of the cluster belong to `a`, which uses the first server.
fn two_authorities(world: &World, variant: Variant) -> [ControlPlane; 2] {
    let mut planes = [(); 2].map(|()| world.control_plane(Flags::default()));
    let mut over_there = cluster(FAR_CLUSTER, variant);
    over_there["eds_cluster_config"]["service_name"] = json!(NEAR_ENDPOINTS);
    planes[0].set(
        &Snapshot::chain(variant, backend())
            .with(LISTENER, "1", vec![listener("in", "r-in", variant)])
            .with(ROUTE, "1", vec![route("r-in", FAR_CLUSTER)])
            .with(CLUSTER, "1", vec![])
            .with(ENDPOINTS, "1", vec![endpoints(NEAR_ENDPOINTS, backend())]),
    );
    planes[1].set(&Snapshot::default().with(CLUSTER, "7", vec![over_there]));
    planes
}

const FAR_CLUSTER: &str = "xdstp://b/envoy.config.cluster.v3.Cluster/echo";
const NEAR_ENDPOINTS: &str = "xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/echo";

/// docs/protocol.md#k-24 in the form of gRFC A47.
#[test]
fn grpc_bootstrap_maps_authorities_to_servers() {
    let Some(world) = World::open("grpc_bootstrap_maps_authorities_to_servers") else { return };
    let planes = two_authorities(&world, Variant::Ads);
    let mut bootstrap = bootstrap::grpc("app-1", planes[0].address(), None);
    let other = bootstrap::grpc("app-1", planes[1].address(), None);
    bootstrap["authorities"] = json!({ "a": {}, "b": { "xds_servers": other["xds_servers"] } });
    let file = write(world.folder(), "bootstrap.json", &bootstrap.to_string());
    let (code, err, recording) = watch(world.folder(), &["lds/in", "--bootstrap", &file, "--expand"]);
    assert_eq!(code, Some(0), "{err}");
    let mut names: Vec<String> = recording.text("get", &["-o", "name"]).lines().map(str::to_owned).collect();
    names.sort_unstable();
    let [far, near] = [format!("cds/{FAR_CLUSTER}"), format!("eds/{NEAR_ENDPOINTS}")];
    assert_eq!(names, [far.as_str(), &near, "lds/in", "rds/r-in"]);
    // Each server has one stream, with the same node, and no resources of the other server.
    let streams = recording.objects("info", &[]);
    let servers: Vec<_> =
        streams.iter().filter(|one| one["object"] == "stream").map(|one| one["server"].clone()).collect();
    assert_eq!(servers, planes.each_ref().map(|plane| json!(plane.address().to_string())), "{streams:#?}");
    for (plane, types) in planes.iter().zip([&[LISTENER, ROUTE, ENDPOINTS][..], &[CLUSTER]]) {
        for event in plane.events(0).iter().filter(|event| event.event == "request") {
            assert!(types.contains(&event.type_url.as_str()), "{event:?}");
            assert_eq!(event.node, "app-1");
        }
    }

    // Without SOURCE, the first word is WHAT, in this verb and in others.
    let (code, out, err) = run(world.folder(), &["get", &far, "--bootstrap", &file, "-o", "name", "-q"]);
    assert_eq!((code, out.trim()), (Some(0), far.as_str()), "{err}");
    let (code, _, err) = run(world.folder(), &["wait", "synced", "--bootstrap", &file]);
    assert_eq!(code, Some(0), "{err}");
    let (code, out, err) = run(world.folder(), &["status", "--bootstrap", &file]);
    // The cluster that the routes point to may arrive from its own server a moment later.
    assert!(code == Some(0) && out.starts_with("no problems"), "{out}{err}");
    let output = xdscope(world.folder())
        .args(["get", "-o", "name"])
        .env("GRPC_XDS_BOOTSTRAP", &file)
        .output()
        .expect("xdscope runs");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && err.contains("no SOURCE: using the bootstrap"), "{err}");
    // A missing source and a superfluous word are reported.
    let nobody = "xdstp://nobody/envoy.config.cluster.v3.Cluster/x";
    let (code, _, err) = run(world.folder(), &["get", nobody, "--bootstrap", &file]);
    assert!(code == Some(2) && err.contains("no server answers for the authority `nobody`"), "{err}");
    let (code, _, err) = run(world.folder(), &["status", "cds", "--bootstrap", &file]);
    assert!(code == Some(2) && err.contains("not a SOURCE: `cds`"), "{err}");
}

/// docs/protocol.md#k-24 and docs/protocol.md#k-25 with `config_sources`; no source accompanies the
/// locator, so its authority decides.
#[test]
fn envoy_bootstrap_maps_authorities_to_servers() {
    let Some(world) = World::open("envoy_bootstrap_maps_authorities_to_servers") else { return };
    let planes = two_authorities(&world, Variant::DeltaAds);
    let mut bootstrap = bootstrap::envoy("edge-1", Variant::DeltaAds, planes[0].address(), None);
    let mut second = bootstrap["static_resources"]["clusters"][0].clone();
    second["name"] = json!("far");
    second["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"] =
        bootstrap::socket_address(planes[1].address());
    bootstrap["static_resources"]["clusters"].as_array_mut().expect("clusters").push(second);
    let source = |names: &[&str], services: Value| {
        let names: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "authorities": names, "api_config_source": {
            "api_type": "AGGREGATED_DELTA_GRPC", "transport_api_version": "V3", "grpc_services": services,
        }})
    };
    let far = json!([{ "envoy_grpc": { "cluster_name": "far" } }]);
    bootstrap["config_sources"] = json!([source(&["b"], far)]);
    bootstrap["default_config_source"] = source(&[], json!([{ "envoy_grpc": { "cluster_name": "xds" } }]));
    bootstrap["dynamic_resources"]["cds_resources_locator"] = json!(FAR_CLUSTER);
    bootstrap["dynamic_resources"].as_object_mut().expect("an object").remove("cds_config");
    let file = write(world.folder(), "bootstrap.json", &bootstrap.to_string());
    let (code, err, recording) = watch(world.folder(), &["--bootstrap", &file]);
    assert_eq!(code, Some(0), "{err}");
    let mut names: Vec<String> = recording.text("get", &["-o", "name"]).lines().map(str::to_owned).collect();
    names.sort_unstable();
    let [far, near] = [format!("cds/{FAR_CLUSTER}"), format!("eds/{NEAR_ENDPOINTS}")];
    assert_eq!(names, [far.as_str(), &near, "lds/in", "rds/r-in"]);
    let asked = planes[1].wait_for(0, "the cluster", |event| event.is_request(CLUSTER));
    assert_eq!((asked.delta, asked.subscribe), (true, vec![FAR_CLUSTER.to_owned()]));
    assert!(!planes[0].events(0).iter().any(|event| event.is_request(CLUSTER)));
}

#[test]
fn imitates_recorded_client() {
    for variant in [Variant::Ads, Variant::DeltaAds] {
        let Some(world) = World::open(&format!("imitates_recorded_client_{}", variant.word())) else {
            return;
        };
        let mut plane = world.control_plane(Flags::default());
        let tap = world.tap(plane.address(), &[]);
        let mut envoy = world.envoy("edge-1", variant, tap.address());
        plane.set(&Snapshot::chain(variant, envoy.admin()));
        envoy.wait_live();
        plane.wait_for_ack(0, ENDPOINTS, "1");
        drop(envoy);
        let recording = tap.stop();
        let mark = plane.mark();
        let like = format!("{}#edge-1", recording.file.display());
        // Without a server, the recorded one is used.
        let (code, err, ours) = watch(world.folder(), &["--like", &like]);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains("using the node id edge-1 of the recorded client"), "{err}");
        let subscribed = |recording: &Recording| -> Vec<Value> {
            let states = recording.states(&[]);
            let of =
                |state: &Value| json!([state["type"], state["variant"], state["wildcard"], state["names"]]);
            let mut all: Vec<Value> =
                states.iter().filter(|state| state["object"] == "state").map(of).collect();
            all.sort_by_key(Value::to_string);
            all
        };
        assert_eq!(subscribed(&ours), subscribed(&recording));
        plane.wait_for(mark, "a request of the node", |event| {
            event.event == "request" && event.node == "edge-1"
        });
        // The node is Envoy's, with its features; only the user agent differs.
        let node = |recording: &Recording| -> Value {
            let messages = recording.objects("log", &["--body"]);
            let first = messages.iter().find(|message| message["dir"] == "req").expect("a request");
            first["body"]["node"].clone()
        };
        let (theirs, own) = (node(&recording), node(&ours));
        for field in ["id", "cluster", "metadata", "clientFeatures", "extensions"] {
            assert_eq!(own[field], theirs[field], "{field}");
        }
        assert_eq!(own["userAgentName"], "xdscope");
        // An explicit WHAT and an explicit node take precedence.
        let server = plane.address().to_string();
        let args = ["get", &server, "cds", "-o", "name", "--like", &like, "--node-id", "me"];
        let (code, out, err) = run(world.folder(), &args);
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "cds/echo\n", ""));
        let (code, _, err) = run(world.folder(), &["get", &server, "cds", "--like", "no-such-file#1"]);
        assert_eq!(code, Some(5), "{err}");
        let (code, _, err) =
            run(world.folder(), &["get", &server, "cds", "--like", &like.replace("#edge-1", "#77")]);
        assert_eq!((code, err.contains("unknown stream #77")), (Some(2), true), "{err}");
    }
}

#[test]
fn rereads_tokens_and_never_records_them() {
    let Some(world) = World::open("rereads_tokens_and_never_records_them") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    // Received tokens are told apart by length: a tap does not record tokens either.
    let tap = world.tap(plane.address(), &[]);
    let token = write(world.folder(), "token", "first-0123456789\n");
    let recording = world.folder().join("own.xdsrec");
    let mut command = xdscope(world.folder());
    command.args(["watch", &tap.address().to_string(), "--no-tui", "--token-file", &token, "--record"]);
    let child = Child::start(command.arg(&recording), &world.folder().join("own.log"));
    plane.wait_for_ack(0, ENDPOINTS, "1");
    fs::write(&token, "second-9876543210").expect("a rotation");
    let mark = plane.mark();
    plane.close_streams(16, "token expired");
    plane.wait_for(mark, "a new stream", |event| event.is_request(CLUSTER));
    child.interrupt();
    let seen = tap.stop();
    let raw = seen.text("export", &["--to", "raw"]);
    for token in ["Bearer first-0123456789", "Bearer second-9876543210"] {
        let arrived = format!("\"authorization\":\"[redacted {} B]\"", token.len());
        assert!(raw.contains(&arrived), "{arrived}: {raw}");
    }
    let own = Recording { file: recording };
    let raw = own.text("export", &["--to", "raw"]);
    assert!(raw.contains("authorization") && raw.contains("[redacted]"), "{raw}");
    let kept = [
        String::from_utf8_lossy(&fs::read(&own.file).expect("the recording")).into_owned(),
        fs::read_to_string(world.folder().join("own.log")).expect("the log"),
        raw,
    ];
    for text in kept {
        assert!(!text.contains("0123456789") && !text.contains("9876543210"));
    }

    let server = plane.address().to_string();
    let output = xdscope(world.folder())
        .env("XDS_TOKEN", "from-the-environment")
        .args(["get", &server, "cds", "-o", "name", "--token-env", "XDS_TOKEN"])
        .output()
        .expect("xdscope runs");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"cds/echo\n"[..]));
    for (args, words) in [
        (["--token-env", "NO_SUCH_TOKEN"], "NO_SUCH_TOKEN is not set"),
        (["--token-file", "/no/such/token"], "cannot read the token file /no/such/token"),
    ] {
        let (code, _, err) = run(world.folder(), &[&["get", &server, "cds"][..], &args].concat());
        assert!(code != Some(0) && err.contains(words), "{err}");
    }
    let (code, _, err) = run(world.folder(), &["tap", &server, "--token-file", &token]);
    assert!(code == Some(2) && err.contains("--token-file does nothing on a tap"), "{err}");
}

#[test]
fn waits_for_nodes_of_growing_recording() {
    let Some(world) = World::open("waits_for_nodes_of_growing_recording") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, backend()));
    let tap = world.tap(plane.address(), &[]);
    let file = tap.recording.to_str().expect("a path").to_owned();
    let (server, through) = (plane.address().to_string(), tap.address().to_string());
    let client = |node: &str| {
        let mut command = xdscope(world.folder());
        command.args(["watch", &through, "--no-tui", "--no-record", "--node-id", node]);
        Child::start(&mut command, &world.folder().join(format!("{node}.log")))
    };
    let _one = client("one");
    wait_for("the first node in the recording", || {
        let status = xdscope(world.folder()).args(["status", &file]).output().expect("xdscope runs");
        let shown = String::from_utf8_lossy(&status.stdout).into_owned();
        shown.split_whitespace().any(|word| word == "one").then_some(())
    });
    let waiting = |verb: &[&str]| {
        let mut command = xdscope(world.folder());
        command.args(verb);
        Child::start(&mut command, &world.folder().join(format!("{}.log", verb[0])))
    };
    let (code, _, err) = run(world.folder(), &["wait", &file, "synced", "--nodes", "2", "--timeout", "2s"]);
    assert_eq!(code, Some(4), "{err}");
    let mut wait = waiting(&["wait", &file, "synced", "--nodes", "2", "--timeout", "150s"]);
    let mut status = waiting(&["status", &file, "--wait", "150s", "--nodes", "2"]);
    wait.assert_running();
    status.assert_running();
    let _two = client("two");
    assert_eq!(wait.finish(), Some(0));
    assert_eq!(status.finish(), Some(0), "{}", status.log());
    let shown = status.log();
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
    let (code, _, err) = run(world.folder(), &["status", &file, "--wait", "300ms", "--nodes", "3"]);
    assert!(code == Some(4) && err.contains("3 nodes were not in sync"), "{err}");
    for verb in [
        &["wait", &server, "synced", "--nodes", "2"][..],
        &["status", &server, "--wait", "1s", "--nodes", "2"],
    ] {
        let (code, _, err) = run(world.folder(), verb);
        assert!(code == Some(2) && err.contains("a server shows one node"), "{err}");
    }
}
