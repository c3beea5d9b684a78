//! Runs xdscope as a client that polls over REST: go-control-plane's gateway and a scripted server.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::client::{Watch, assert_clean, backend, run};
use crate::support::{
    bootstrap::{self, Variant},
    certs::{Ca, ServerTls},
    control_plane::{ControlPlane, Event, Flags},
    process::{Child, accepted, free_port},
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, dumped_cluster, listener},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

const REST: [&str; 4] = ["--variant", "rest", "--poll-delay", "100ms"];

fn gateway(world: &World) -> ControlPlane {
    world.control_plane(Flags { rest: true, ..Flags::default() })
}

/// Waits for a poll that states this version.
fn wait_for_poll(plane: &ControlPlane, mark: usize, type_url: &str, version: &str) -> Event {
    plane.wait_for(mark, &format!("a poll of {type_url} that has {version}"), |event| {
        event.rest && event.is_request(type_url) && event.version == version && event.error.is_none()
    })
}

/// docs/protocol.md#d-01, docs/protocol.md#d-02
#[test]
fn polls_follow_config_changes() {
    let Some(world) = World::open("polls_follow_config_changes") else { return };
    let mut plane = gateway(&world);
    let chain = Snapshot::chain(Variant::Sotw, backend());
    plane.set(&chain);
    let watch = Watch::start(&world, plane.rest_address(), &REST);
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        let poll = wait_for_poll(&plane, 0, type_url, "1");
        assert_eq!(poll.node, "watcher", "each poll says whose it is");
    }
    let first = plane.wait_for(0, "a poll of endpoints", |event| event.is_request(ENDPOINTS));
    assert_eq!(first.names, ["echo"], "the reference of the cluster");

    let mark = plane.mark();
    let more = chain.grown(Variant::Sotw, backend());
    plane.set(&more);
    wait_for_poll(&plane, mark, CLUSTER, "2");
    wait_for_poll(&plane, mark, ROUTE, "2");
    plane.wait_for(mark, "a poll for the new cluster's endpoints", |event| {
        event.rest && event.is_request(ENDPOINTS) && event.names == ["echo", "more"] && event.version == "2"
    });

    let recording = watch.stop();
    // A client that has version 2 of the first endpoints, and then asks for more of them, gets 304.
    let endpoints = recording.objects("get", &["eds"]);
    let is_sent = endpoints.iter().any(|of| of["name"] == "more" && of["state"] == "present");
    let of_clusters = if is_sent { "synced" } else { "warming" };
    for (kind, state_word, names) in
        [("cds", of_clusters, vec!["echo", "more"]), ("rds", "synced", vec!["r-in"])]
    {
        let state = recording.state(kind);
        assert_eq!(
            (&state["in_force"], &state["last_state"]),
            (&json!("2"), &json!(state_word)),
            "{state:#}"
        );
        let resources = recording.objects("get", &[kind]);
        let mut have: Vec<_> = resources.iter().filter_map(|resource| resource["name"].as_str()).collect();
        have.sort_unstable();
        assert_eq!(have, names);
    }
    assert_clean(&recording, &[]);
}

/// Makes all references of a resource references to REST sources.
fn poll_references(value: &mut Value) {
    match value {
        Value::Object(members) if members.contains_key("api_config_source") => *value = bootstrap::polled(),
        Value::Object(members) => members.values_mut().for_each(poll_references),
        Value::Array(items) => items.iter_mut().for_each(poll_references),
        _ => {}
    }
}

/// Reads `api_type: REST` of an Envoy bootstrap: its cluster, delay and timeout.
#[test]
fn reads_polling_from_envoy_bootstrap() {
    let Some(world) = World::open("reads_polling_from_envoy_bootstrap") else { return };
    let mut plane = gateway(&world);
    let mut listener = listener("in", "r-in", Variant::Sotw);
    let mut cluster = cluster("echo", Variant::Sotw);
    poll_references(&mut listener);
    poll_references(&mut cluster);
    let chain = Snapshot::chain(Variant::Sotw, backend());
    plane.set(&chain.with(LISTENER, "1", vec![listener]).with(CLUSTER, "1", vec![cluster]));
    let mut bootstrap = bootstrap::envoy_rest("edge-9", plane.rest_address());
    for source in ["lds_config", "cds_config"] {
        bootstrap["dynamic_resources"][source]["api_config_source"]["refresh_delay"] = json!("0.050s");
    }
    let file = world.folder().join("bootstrap.json");
    std::fs::write(&file, bootstrap.to_string()).expect("a file");
    let recording = world.folder().join("watch.xdsrec");
    let mut command = xdscope(world.folder());
    command.arg("watch").arg("--bootstrap").arg(&file).args(["--no-tui", "--record"]).arg(&recording);
    let child = Child::start(&mut command, &world.folder().join("watch.log"));
    wait_for_poll(&plane, 0, ENDPOINTS, "1");
    // Ten polls never come so fast with our delay of a second. On busy cores a second try may be
    // needed with the bootstrap's.
    wait_for("ten polls with the delay of the bootstrap", || {
        let (begun, mark) = (Instant::now(), plane.mark());
        wait_for("ten polls", || {
            let polls = plane.events(mark).iter().filter(|event| event.is_request(LISTENER)).count();
            (polls >= 10).then_some(())
        });
        (begun.elapsed() < Duration::from_secs(8)).then_some(())
    });
    assert!(
        plane.events(0).iter().filter(|event| event.event == "request").all(|event| event.node == "edge-9")
    );
    child.interrupt();
    let recording = Recording { file: recording };
    assert!(recording.text("info", &[]).contains("  rest  "), "{}", recording.text("info", &[]));
    assert_clean(&recording, &[]);
    // The bootstrap as SOURCE without a server.
    let file = file.to_str().expect("a path");
    let (code, out, err) = run(&world, &["get", "cds", "-o", "name", "--bootstrap", file]);
    assert_eq!((code, out.as_str()), (Some(0), "cds/echo\n"), "{err}");
}

#[test]
fn verbs_accept_rest_gateway_as_source() {
    let Some(world) = World::open("verbs_accept_rest_gateway_as_source") else { return };
    let mut plane = gateway(&world);
    plane.set(&Snapshot::chain(Variant::Sotw, backend()));
    let server = plane.rest_address().to_string();
    let rest = |args: &[&str]| run(&world, &[args, &REST[..]].concat());
    let (code, out, err) = rest(&["get", &server, "-o", "name"]);
    let mut names: Vec<&str> = out.lines().collect();
    names.sort_unstable();
    assert_eq!((code, &names[..]), (Some(0), &["cds/echo", "eds/echo", "lds/in", "rds/r-in"][..]), "{err}");
    let (code, out, err) = rest(&["status", &server]);
    assert_eq!((code, out.contains("rest"), out.contains("SYNCED")), (Some(0), true, true), "{out}{err}");
    let (code, out, err) = rest(&["log", &server, "-o", "jsonl"]);
    assert_eq!((code, out.matches("\"kind\":\"ack\"").count()), (Some(0), 4), "{out}{err}");
    let (code, out, err) = rest(&["lint", &server]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, _, err) = rest(&["wait", &server, "synced"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, out, err) = rest(&["diff", &server, &server, "cds"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, out, err) = rest(&["export", &server, "--to", "script"]);
    assert_eq!((code, out.contains("rest")), (Some(0), true), "{out}{err}");
    let (code, _, err) = rest(&["get", &server, "cds/none", "--resource-timeout", "2s"]);
    assert_eq!(code, Some(4), "{err}");
    // docs/protocol.md#d-06: types without a REST method are rejected.
    let (code, _, err) = rest(&["get", &server, "vhds/r/h"]);
    assert_eq!((code, err.contains("no delta over REST")), (Some(2), true), "{err}");
    let (code, _, err) = rest(&["get", &server, "own.Type/x"]);
    assert_eq!((code, err.contains("no ADS over REST")), (Some(2), true), "{err}");
    // The gRPC port does not answer REST polls.
    let (code, _, err) = rest(&["get", &plane.address().to_string(), "cds"]);
    assert_eq!(code, Some(3), "{err}");
    let (code, _, err) = rest(&["get", &format!("127.0.0.1:{}", free_port()), "cds"]);
    assert_eq!((code, err.contains("tried  name ok, port")), (Some(3), true), "{err}");
}

#[test]
fn next_poll_rejects_response() {
    let Some(world) = World::open("next_poll_rejects_response") else { return };
    let mut plane = gateway(&world);
    let chain = Snapshot::chain(Variant::Sotw, backend());
    plane.set(&chain);
    let args = [&REST[..], &["--nack", "type:cds version:2 => not today"]].concat();
    let watch = Watch::start(&world, plane.rest_address(), &args);
    wait_for_poll(&plane, 0, CLUSTER, "1");
    let mark = plane.mark();
    let bad = vec![cluster("echo", Variant::Sotw), dumped_cluster("bad", "x")];
    plane.set(&chain.clone().with(CLUSTER, "2", bad));
    let nack = plane.wait_for(mark, "a NACK", |event| event.is_nack(CLUSTER));
    assert_eq!(nack.version, "1", "the version in force");
    assert_eq!(nack.error.map(|error| error.message).as_deref(), Some("not today"));
    plane.set(&chain.with(CLUSTER, "3", vec![cluster("echo", Variant::Sotw)]));
    wait_for_poll(&plane, mark, CLUSTER, "3");
    let recording = watch.stop();
    assert_ne!(recording.objects("log", &["--filter", "kind:nack"]).len(), 0);
    // The gateway answers a NACK with the rejected response.
    let known = ["nack-resend-loop", "sotw-needless-update", "pgv-violation", "rest-unchanged-response"];
    assert_clean(&recording, &known);
}

#[test]
fn polls_over_mutual_tls() {
    let Some(world) = World::open("polls_over_mutual_tls") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let (plane_own, own) = (ca.issue("plane", &["cp.test"]), ca.issue("own", &["poller.test"]));
    let tls = Some(ServerTls { own: plane_own, client_ca: Some(ca.file.clone()) });
    let mut plane = world.control_plane(Flags { rest: true, tls, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::Sotw, backend()));
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let server = plane.rest_address().to_string();
    let trusted =
        ["get", &server, "cds", "-o", "name", "--cacert", &path(&ca.file), "--servername", "cp.test"];
    let (cert, key) = (path(&own.cert), path(&own.key));
    let (code, out, err) = run(&world, &[&trusted[..], &REST, &["--cert", &cert, "--key", &key]].concat());
    assert_eq!((code, out.as_str()), (Some(0), "cds/echo\n"), "{err}");
    let (code, _, err) = run(&world, &[&trusted[..], &REST].concat());
    assert_eq!(code, Some(3), "{err}");
    let (code, _, err) = run(&world, &[&["get", &server, "cds"], &REST[..]].concat());
    assert_eq!(code, Some(3), "{err}");
}

/// Reaction of a scripted server to a poll.
enum Answer {
    Say(u16, String),
    Hold,
    /// Closes the connection.
    Hang,
}

/// A poll, and when it arrived.
#[derive(Clone)]
struct Polled {
    path: String,
    /// The request line and the headers, in lowercase.
    head: String,
    body: Value,
    at: Instant,
}

/// Connections with a poll that the client has not given up.
#[derive(Default)]
struct OpenPolls(Mutex<Vec<(usize, TcpStream)>>);

impl OpenPolls {
    /// Adds poll number `n`, and returns the number of open ones.
    fn begin(&self, n: usize, stream: &TcpStream) -> usize {
        let mut open = self.0.lock().expect("the polls");
        open.retain(|(_, stream)| is_open(stream));
        open.push((n, stream.try_clone().expect("a stream")));
        open.len()
    }

    fn end(&self, n: usize) {
        self.0.lock().expect("the polls").retain(|(other, _)| *other != n);
    }
}

/// Whether the client has left the connection open: its own thread may notice the end late.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    match stream.peek(&mut [0]) {
        Ok(size) => size > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// A REST server that records all polls.
struct Scripted {
    address: SocketAddr,
    polls: Arc<Mutex<Vec<Polled>>>,
    /// Highest number of concurrent polls of one path.
    most: Arc<AtomicUsize>,
}

impl Scripted {
    /// Answers poll number `n`, from 0.
    fn start(answer: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Scripted {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("its address");
        let (polls, most) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (kept, peak, open) = (polls.clone(), most.clone(), Arc::new(OpenPolls::default()));
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in accepted(socket) {
                let (kept, peak, open) = (kept.clone(), peak.clone(), open.clone());
                let answer = answer.clone();
                thread::spawn(move || {
                    let mut input = BufReader::new(stream.try_clone().expect("a stream"));
                    while let Some((path, head, body)) = read_poll(&mut input) {
                        let n = {
                            let mut kept = kept.lock().expect("the polls");
                            let n = kept.len();
                            peak.fetch_max(open.begin(n, &stream), Ordering::SeqCst);
                            kept.push(Polled { path, head, body: body.clone(), at: Instant::now() });
                            n
                        };
                        let done = write_answer(&stream, answer(n, &body), &mut input);
                        open.end(n);
                        if !done {
                            return;
                        }
                    }
                });
            }
        });
        Scripted { address, polls, most }
    }

    fn polls(&self) -> Vec<Polled> {
        self.polls.lock().expect("the polls").clone()
    }

    /// Returns the body of poll `n` once it has arrived.
    fn poll(&self, n: usize) -> Value {
        wait_for(&format!("poll {n}"), || self.polls().get(n).map(|poll| poll.body.clone()))
    }
}

fn read_poll(input: &mut impl BufRead) -> Option<(String, String, Value)> {
    let (mut head, mut line) = (String::new(), String::new());
    while input.read_line(&mut line).ok()? > 0 && line != "\r\n" {
        head.push_str(&line.to_lowercase());
        line.clear();
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some((path, head.clone(), serde_json::from_slice(&body).ok()?))
}

fn write_answer(mut to: &TcpStream, answer: Answer, input: &mut impl Read) -> bool {
    match answer {
        Answer::Say(status, body) => {
            write!(to, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).is_ok()
        }
        Answer::Hold => {
            let _ = input.read(&mut [0]);
            false
        }
        Answer::Hang => {
            let _ = to.shutdown(std::net::Shutdown::Both);
            false
        }
    }
}

fn clusters(version: &str) -> String {
    let cluster = json!({ "@type": CLUSTER, "name": "c", "connectTimeout": "1s" });
    json!({ "versionInfo": version, "typeUrl": CLUSTER, "nonce": format!("n{version}"), "resources": [cluster] }).to_string()
}

const JUST_CDS: [&str; 8] =
    ["cds", "--no-expand", "--variant", "rest", "--poll-delay", "100ms", "--poll-timeout", "5s"];

/// docs/protocol.md#d-02, docs/protocol.md#d-03 and docs/protocol.md#d-04: the bytes of a poll.
#[test]
fn polls_one_at_a_time_in_canonical_json() {
    let Some(world) = World::open("polls_one_at_a_time_in_canonical_json") else { return };
    let server = Scripted::start(|n, _| match n {
        0 => Answer::Say(200, clusters("1")),
        1..=3 => Answer::Say(304, String::new()),
        _ => Answer::Hold,
    });
    let header = ["-H", "x-own: 1", "--node-metadata", "role=edge"];
    let watch = Watch::start(&world, server.address, &[&JUST_CDS[..], &header].concat());
    let first = server.poll(0);
    assert_eq!(first["typeUrl"], CLUSTER);
    assert_eq!(
        (&first["node"]["id"], &first["node"]["metadata"]["role"]),
        (&json!("watcher"), &json!("edge"))
    );
    assert_eq!((first.get("versionInfo"), first.get("resourceNames")), (None, None));
    for n in 1..=4 {
        let next = server.poll(n);
        assert_eq!((&next["versionInfo"], &next["responseNonce"]), (&json!("1"), &json!("n1")));
        assert_eq!(next["node"]["id"], "watcher", "each poll stands for itself");
    }
    let polls = server.polls();
    let time = polls[4].at.duration_since(polls[0].at);
    assert!(time >= Duration::from_millis(300), "a 304 does not shorten the poll delay: {time:?}");
    // A poll without a response is repeated after `--poll-timeout`.
    server.poll(5);
    let Polled { path, head, .. } = server.polls().swap_remove(0);
    assert_eq!(path, "/v3/discovery:clusters");
    assert!(head.contains("x-own: 1") && head.contains("content-type: application/json"), "{head}");
    assert_eq!(server.most.load(Ordering::SeqCst), 1);
    let snake = |poll: Polled| poll.body.to_string().contains("type_url");
    assert!(!server.polls().into_iter().any(snake));
    let recording = watch.stop();
    assert_eq!(recording.state("cds")["in_force"], "1");
    assert_clean(&recording, &[]);
    assert_eq!(recording.objects("lint", &[]).len(), 0, "not even a note");
}

#[test]
fn keeps_polling_after_invalid_responses() {
    let Some(world) = World::open("keeps_polling_after_invalid_responses") else { return };
    let log = world.folder().join("watch.log");
    let failed = "the poll failed: HTTP status 503";
    let is_shown = move || std::fs::read_to_string(&log).is_ok_and(|log| log.contains(failed));
    // Polls since the client showed the failure: it shows what is wrong several times a second.
    let since = AtomicUsize::new(0);
    let server = Scripted::start(move |_, _| {
        if since.load(Ordering::SeqCst) == 0 && !is_shown() {
            return Answer::Say(503, "overloaded".into());
        }
        match since.fetch_add(1, Ordering::SeqCst) {
            0 => Answer::Hang,
            1 => Answer::Say(200, "<html>".into()),
            2 => Answer::Say(200, clusters("1")),
            3 => Answer::Hang,
            4 => Answer::Say(200, clusters("2")),
            5 => Answer::Say(200, clusters("3")),
            _ => Answer::Say(304, String::new()),
        }
    });
    let watch = Watch::start(&world, server.address, &JUST_CDS);
    wait_for("version 3", || (server.polls().last()?.body["versionInfo"] == "3").then_some(()));
    assert!(watch.child.log().contains("overloaded"), "the server's own words");
    assert_eq!(server.most.load(Ordering::SeqCst), 1);
    let recording = watch.stop();
    assert_eq!(recording.state("cds")["in_force"], "3");
    let rules: Vec<_> =
        recording.objects("lint", &[]).iter().map(|finding| finding["rule"].clone()).collect();
    assert_eq!(rules, ["rest-bad-json", "version-churn"], "both versions have the same content");
    // For a verb that polls once, a NACK is an error.
    let down = Scripted::start(|_, _| Answer::Say(403, "not you".into()));
    let (code, _, err) = run(&world, &["get", &down.address.to_string(), "cds", "--variant", "rest"]);
    assert_eq!((code, err.contains("403"), err.contains("not you")), (Some(3), true, true), "{err}");
}

/// A body that would not be decoded is not read to its end.
#[test]
fn bodies_have_a_limited_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = Scripted::start(|_, _| Answer::Say(200, " ".repeat((16 << 20) + 1)));
    let mut get = xdscope(folder.path());
    get.args(["get", &large.address.to_string(), "cds", "--variant", "rest"]);
    let output = get.output().expect("xdscope runs");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("the answer broke off, or has more than 16777216 bytes"), "{err}");
}

/// A server with v2 services and types.
#[test]
fn polls_v2_services() {
    let Some(world) = World::open("polls_v2_services") else { return };
    let cluster =
        json!({ "@type": "type.googleapis.com/envoy.api.v2.Cluster", "name": "old", "connectTimeout": "1s" });
    let body = json!({ "versionInfo": "1", "resources": [cluster] }).to_string();
    let server = Scripted::start(move |_, asked| match asked.get("versionInfo") {
        None => Answer::Say(200, body.clone()),
        Some(_) => Answer::Say(304, String::new()),
    });
    let address = server.address.to_string();
    let get = [
        "get",
        &address,
        "cds",
        "--no-expand",
        "--variant",
        "rest",
        "-o",
        "yaml",
        "--transport-api-version",
        "v2",
    ];
    let (code, out, err) = run(&world, &get);
    assert_eq!((code, out.contains("old")), (Some(0), true), "{out}{err}");
    let Polled { path, body, .. } = server.polls().swap_remove(0);
    assert_eq!(path, "/v2/discovery:clusters");
    assert_eq!(body["typeUrl"], "type.googleapis.com/envoy.api.v2.Cluster");
}
