//! `--metrics`: figures that equal the facts of the session file, and a port that anybody may
//! abuse.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::support::exposition::Scrape;
use crate::support::http::{self, exchange};
use crate::support::misbehave::{Misbehaving, Play, play_client};
use crate::support::process::{Child, free_port};
use crate::support::tap::{Recording, Tap, xdscope};
use crate::support::wait::{PATIENCE, wait_for, wait_within};

/// One stream with accepted, refused, missing and unanswered resources, and one that ends.
const SESSION: &str = "\
node n1
stream 1 ads
1 > cds
1 < cds v=1 n=1 [a b{eds}]
1 > cds v=1 n=1
1 > eds names=[b c]
1 < eds v=1 n=2 [b]
1 > eds v=1 n=2 names=[b c]
1 < cds v=2 n=3 [a~2 b{eds} d]
1 > cds v=1 n=3 nack=\"bad\"
stream 2 delta cds
2 > sub=[a gone]
2 < n=1 [a@1] rm=[gone]
2 > n=1
2 < n=2 [a~3@3]
1 > lds
1 > type=\"type.googleapis.com/some.other.Thing\"
";

type Counts = BTreeMap<String, u64>;

fn count(counts: &mut Counts, labels: &[(&str, &str)], number: u64) {
    if number > 0 {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        *counts.entry(format!("{{{}}}", labels.join(","))).or_default() += number;
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| panic!("no {field} in {object}"))
}

fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap_or_else(|| panic!("no {field} in {object}"))
}

fn objects(recording: &Recording, verb: &str) -> Vec<Value> {
    serde_json::from_str(&recording.text(verb, &["-o", "json"])).expect("a list")
}

/// The metrics as the verbs print their facts, by name and labels.
fn expected(recording: &Recording) -> BTreeMap<&'static str, Counts> {
    let messages = recording.messages();
    let (mut kinds, mut nacks, mut verdicts) = (Counts::new(), Counts::new(), Counts::new());
    for message in &messages {
        let (dir, of_type, kind) = (text(message, "dir"), text(message, "type"), text(message, "kind"));
        count(&mut kinds, &[("direction", dir), ("type", of_type), ("kind", kind)], 1);
        count(&mut nacks, &[("type", of_type)], u64::from(kind == "nack"));
        let is_verdict = matches!(kind, "ack" | "nack") && message["latency_ms"].is_number();
        count(&mut verdicts, &[("type", of_type)], u64::from(is_verdict));
    }
    let bytes = messages.iter().map(|message| number(message, "size")).sum();
    let facts = objects(recording, "status");
    let is = |object: &&Value, word: &str| object["object"] == word;
    let (mut problems, mut streams, mut findings) = (Counts::new(), Counts::new(), Counts::new());
    for problem in facts.iter().filter(|object| is(object, "problem")) {
        count(
            &mut problems,
            &[("kind", text(problem, "problem")), ("severity", text(problem, "urgency"))],
            1,
        );
    }
    for finding in objects(recording, "lint") {
        let labels = [("rule", text(&finding, "rule")), ("severity", text(&finding, "severity"))];
        count(&mut findings, &labels, number(&finding, "count"));
    }
    let states: Vec<&Value> = facts.iter().filter(|object| is(object, "state")).collect();
    let mut lost = 0;
    for stream in facts.iter().filter(|object| is(object, "stream") && object["variant"].is_string()) {
        let of_stream = states.iter().filter(|state| state["stream"] == stream["stream"]);
        let worst = of_stream.map(|state| text(state, "state")).min_by_key(|word| rank(word));
        let variant = text(stream, "variant");
        let worst = if stream["closed"].is_null() { worst.unwrap_or("idle") } else { "closed" };
        count(&mut streams, &[("variant", variant), ("state", worst)], 1);
        lost += number(stream, "gaps");
    }
    let one = |number: u64| if number > 0 { Counts::from([(String::new(), number)]) } else { Counts::new() };
    BTreeMap::from([
        ("xdscope_messages_total", kinds),
        ("xdscope_message_bytes_total", one(bytes)),
        ("xdscope_nacks_total", nacks),
        ("xdscope_problems", problems),
        ("xdscope_findings_total", findings),
        ("xdscope_streams", streams),
        ("xdscope_lost_messages_total", one(lost)),
        ("xdscope_ack_duration_seconds_count", verdicts),
        ("xdscope_resources", resources(&states)),
    ])
}

/// The order of states: of several the first counts (`help states`).
fn rank(word: &str) -> usize {
    let words = [
        "closed", "nack", "rejected", "stale", "miss", "expired", "warming", "sent", "wait", "synced", "idle",
    ];
    words.iter().position(|of| *of == word).unwrap_or_else(|| panic!("{word} is a state"))
}

/// The resources of open streams by type: those in use or not answered, those that are refused,
/// missing or absent.
fn resources(states: &[&Value]) -> Counts {
    let mut counts = Counts::new();
    for state in states.iter().filter(|state| state["state"] != "closed") {
        // A missing resource may be absent too.
        let lists = ["missing", "absent"].into_iter().filter_map(|field| state[field].as_array());
        let names: BTreeSet<&str> = lists.flatten().filter_map(Value::as_str).collect();
        let refused = number(state, "refused") + number(state, "refused_unnamed");
        let of_type = text(state, "type");
        count(&mut counts, &[("type", of_type), ("sum", "refused")], refused);
        let others = number(state, "resources") + names.len() as u64;
        count(&mut counts, &[("type", of_type), ("sum", "all")], others);
    }
    counts
}

/// The metrics of a scrape in the form of [`expected`].
fn found(scrape: &Scrape, names: &BTreeMap<&'static str, Counts>) -> BTreeMap<&'static str, Counts> {
    let family = |name: &&'static str| (*name, scrape.family(name));
    let mut all: BTreeMap<&'static str, Counts> = names.keys().map(family).collect();
    let mut sums = Counts::new();
    for (labels, number) in scrape.family("xdscope_resources") {
        let value = |name: &str| {
            let rest = labels.split_once(&format!("{name}=\"")).expect("a label").1;
            rest.split('"').next().expect("a value").to_owned()
        };
        let (of_type, state) = (value("type"), value("cache_state"));
        let is_refused = state.starts_with("nacked");
        count(&mut sums, &[("type", &of_type), ("sum", "refused")], if is_refused { number } else { 0 });
        let is_other = state != "nacked";
        count(&mut sums, &[("type", &of_type), ("sum", "all")], if is_other { number } else { 0 });
    }
    all.insert("xdscope_resources", sums);
    all
}

/// Waits until the metrics are the facts of the session file so far.
fn assert_equal_facts(metrics: SocketAddr, tap: &Tap, messages: usize) -> Scrape {
    let mut last = None;
    let equal = wait_within(PATIENCE, || {
        let recording = tap.copy_of_recording()?;
        let expected = expected(&recording);
        let scrape = Scrape::of(metrics, true);
        let has_all = recording.messages().len() == messages;
        let found = found(&scrape, &expected);
        let is_equal = found == expected && has_all;
        last = Some((found, expected));
        is_equal.then_some(scrape)
    });
    equal.unwrap_or_else(|| {
        let (found, expected) = last.expect("a recording");
        assert_eq!(found, expected);
        panic!("not all of {messages} messages are recorded");
    })
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn metrics_are_the_facts_of_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Misbehaving::start();
    let port = free_port();
    let tap = Tap::start(folder.path(), server.address(), &["--metrics", &address(port).to_string()]);
    let (metrics, listening) = (address(port), tap.address());
    let play = Play::new("session", SESSION);
    let messages = SESSION.lines().filter(|line| line.starts_with("1 ") || line.starts_with("2 ")).count();
    thread::scope(|both| {
        let (done, played) = oneshot::channel();
        // Contents belong to their thread, so the client parses the script itself.
        both.spawn(move || play_client(&Play::new("session", SESSION), listening, played));
        server.play(&play, true);
        let scrape = assert_equal_facts(metrics, &tap, messages);
        assert_eq!(scrape.value("xdscope_resources{type=\"cds\",cache_state=\"nacked_but_cached\"}"), 1.0);
        assert_eq!(scrape.value("xdscope_resources{type=\"cds\",cache_state=\"nacked\"}"), 1.0);
        assert_eq!(scrape.value("xdscope_resources{type=\"cds\",cache_state=\"does_not_exist\"}"), 1.0);
        assert_eq!(scrape.value("xdscope_resources{type=\"eds\",cache_state=\"acked\"}"), 1.0);
        assert_eq!(scrape.value("xdscope_resources{type=\"eds\",cache_state=\"requested\"}"), 1.0);
        // The clock of the analysis may stand at the request.
        wait_for("an answer to be owed for some time", || {
            let owed = Scrape::of(metrics, true).value("xdscope_owed_seconds{type=\"lds\"}");
            (owed > 0.0).then_some(())
        });
        assert!(scrape.value("xdscope_memory_bytes") > 0.0 && scrape.value("xdscope_recording_bytes") > 0.0);
        assert!(scrape.value("xdscope_added_delay_seconds_count") > 0.0);
        assert_eq!(
            scrape.value(&format!("xdscope_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))),
            1.0
        );
        assert_exemplars(&scrape, &tap.copy_of_recording().expect("a recording"));
        // The client is gone if the script has ended with its message.
        let _ = done.send(());
    });
    let scrape = wait_for("closed streams", || {
        let scrape = assert_equal_facts(metrics, &tap, messages);
        (scrape.family("xdscope_streams").keys().all(|labels| labels.contains("closed"))).then_some(scrape)
    });
    assert_eq!(scrape.family("xdscope_resources"), Counts::new(), "the clients are gone");
    let prometheus = Scrape::of(metrics, false);
    assert_eq!(prometheus.family("xdscope_messages_total"), scrape.family("xdscope_messages_total"));
    assert!(prometheus.exemplars.is_empty());
    tap.stop();
    assert!(TcpStream::connect(metrics).is_err(), "the port closes with the run");
}

/// Each exemplar is a verdict of the session with its latency.
fn assert_exemplars(scrape: &Scrape, recording: &Recording) {
    let messages = recording.messages();
    assert!(!scrape.exemplars.is_empty());
    for (sample, exemplar) in &scrape.exemplars {
        let rest = exemplar.strip_prefix("{message=\"").expect("a number");
        let (n, rest) = rest.split_once("\"} ").expect("a value");
        let (value, at) = rest.split_once(' ').expect("a time");
        let message =
            messages.iter().find(|message| message["n"].as_u64() == n.parse().ok()).expect("a message");
        assert!(sample.contains(&format!("type=\"{}\"", text(message, "type"))), "{sample} {message}");
        let latency = message["latency_ms"].as_f64().expect("a verdict") / 1000.0;
        assert!((latency - value.parse::<f64>().expect("seconds")).abs() < 1e-6, "{exemplar} {message}");
        let stamp = text(message, "time").parse::<jiff::Timestamp>().expect("a time");
        let at: f64 = at.parse().expect("seconds");
        assert!((stamp.as_millisecond() as f64 / 1000.0 - at).abs() < 0.01, "{exemplar} {message}");
    }
}

#[test]
fn flood_of_types_adds_no_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Misbehaving::start();
    let port = free_port();
    let tap = Tap::start(folder.path(), server.address(), &["--metrics", &address(port).to_string()]);
    let (metrics, listening) = (address(port), tap.address());
    const STREAMS: usize = 4;
    const TYPES: usize = 100;
    let stream = |stream: usize| {
        let request = |n: usize| format!("{stream} > type=\"type.googleapis.com/flood.T{stream}x{n}\"\n");
        format!("stream {stream} ads\n{}", (0..TYPES).map(request).collect::<String>())
    };
    let flood = format!("node n1\n{}stream 9 ads\n9 > cds\n", (1..=STREAMS).map(stream).collect::<String>());
    let play = Play::new("flood", &flood);
    let scrape = thread::scope(|both| {
        let (done, played) = oneshot::channel();
        let text = &flood;
        both.spawn(move || play_client(&Play::new("flood", text), listening, played));
        server.play(&play, true);
        let all = STREAMS * TYPES + 1;
        let scrape = wait_for("all messages", || {
            let scrape = Scrape::of(metrics, false);
            let messages: u64 = scrape.family("xdscope_messages_total").values().sum();
            (messages == all as u64).then_some(scrape)
        });
        let _ = done.send(());
        scrape
    });
    let labels = |name: &str| scrape.samples.keys().filter(|sample| sample.starts_with(name)).count();
    // 32 type URLs, `cds` and `other`; each has requests of one or two kinds.
    assert_eq!(labels("xdscope_owed_seconds"), 34);
    assert!(labels("xdscope_messages_total") <= 2 * 34, "{:?}", scrape.family("xdscope_messages_total"));
    let of_others: u64 = scrape
        .family("xdscope_messages_total")
        .iter()
        .filter(|(labels, _)| labels.contains("type=\"other\""))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(of_others, (STREAMS * TYPES - 32) as u64);
    assert_eq!(
        scrape.value("xdscope_messages_total{direction=\"req\",type=\"cds\",kind=\"subscribe\"}"),
        1.0
    );
}

/// A tap in front of a server that is not there, and the address of its metrics.
fn idle_tap(folder: &Path) -> (Tap, SocketAddr) {
    let port = free_port();
    let tap = Tap::start(folder, address(free_port()), &["--metrics", &address(port).to_string()]);
    (tap, address(port))
}

#[test]
fn probes_do_not_depend_on_the_control_plane() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tap, metrics) = idle_tap(folder.path());
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = http::get(metrics, path).expect("an answer");
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{path}");
    }
    let unknown = http::get(metrics, "/").expect("an answer");
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.starts_with("unknown path: /metrics"), "{}", unknown.body);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
        let answer = exchange(metrics, request.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.to_ascii_lowercase().contains("allow: get, head"), "{}", answer.head);
    }
    let head = exchange(metrics, b"HEAD /metrics HTTP/1.1\r\nhost: x\r\n\r\n").expect("an answer");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    tap.stop();
}

#[test]
fn hostile_clients_of_the_metrics_port_keep_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tap, metrics) = idle_tap(folder.path());
    let connect = || TcpStream::connect(metrics).expect("a connection");
    let is_served = |after: &str| {
        let begun = Instant::now();
        let answer = http::get(metrics, "/readyz").unwrap_or_else(|error| panic!("after {after}: {error}"));
        assert_eq!(answer.status, 200, "after {after}");
        assert!(begun.elapsed() < Duration::from_secs(60), "after {after}: {:?}", begun.elapsed());
    };
    // Slow loris: more connections than the limit, each with half a request.
    let mut slow: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    for client in &mut slow {
        // The oldest ones are closed already.
        let _ = client.write_all(b"GET /metrics HTTP/1.1\r\nx: ");
    }
    is_served("200 slow clients");
    wait_for("the end of slow clients", || {
        slow.iter_mut()
            .all(|client| {
                client.set_read_timeout(Some(Duration::from_millis(10))).expect("a timeout");
                !matches!(client.read(&mut [0; 512]), Err(error) if is_timeout(&error))
            })
            .then_some(())
    });
    // A header of a megabyte.
    let mut large = connect();
    let _ = large.write_all(b"GET /metrics HTTP/1.1\r\n");
    let line = format!("x: {}\r\n", "y".repeat(1 << 10));
    let is_refused = (0..1024).any(|_| large.write_all(line.as_bytes()).is_err());
    let mut answer = Vec::new();
    let ended = large.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(is_refused || ended.is_err() || answer.contains(" 431 "), "{answer}");
    assert!(!answer.contains(" 200 "), "{answer}");
    is_served("a large header");
    // Pipelined requests: the first one is answered.
    let mut pipeline = connect();
    let _ = pipeline.write_all("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000).as_bytes());
    let mut answers = Vec::new();
    let _ = pipeline.read_to_end(&mut answers);
    assert!(String::from_utf8_lossy(&answers).matches("HTTP/1.1 200").count() <= 1);
    is_served("pipelined requests");
    for garbage in
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"\x16\x03\x01\x00\xff\x01", b"\0\0\0", b"\r\n\r\n"]
    {
        let mut client = connect();
        let _ = client.write_all(garbage);
        let _ = client.read_to_end(&mut Vec::new());
        is_served("garbage");
    }
    tap.stop();
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

#[test]
fn address_in_use_names_the_flag() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let run = |metrics: &str| {
        let mut command = xdscope(folder.path());
        command.args(["tap", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--headless", "--metrics", metrics]);
        let output = command.output().expect("xdscope runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, error) = run(&address);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains(&format!("--metrics: cannot listen on {address}")), "{error}");
    assert!(error.contains("next") && error.contains("--metrics with another port"), "{error}");
    let (code, error) = run("cp:port");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--metrics: `cp:port` has no port number"), "{error}");
}

#[test]
fn service_manager_hears_of_a_headless_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let heard = || {
        let mut room = [0; 512];
        let len = manager.recv(&mut room).expect("a message");
        String::from_utf8_lossy(&room[..len]).into_owned()
    };
    let mut command = xdscope(folder.path());
    command.args(["tap", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--headless", "--log-format", "json"]);
    command.args(["--metrics", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "600000");
    let log = folder.path().join("log");
    let child = Child::start(&mut command, &log);
    let ready = heard();
    assert!(ready.starts_with("READY=1\nSTATUS=tap 127.0.0.1:"), "{ready}");
    assert_eq!([heard(), heard()], ["WATCHDOG=1", "WATCHDOG=1"]);
    child.interrupt();
    let last = std::iter::repeat_with(heard).find(|message| message != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    let log = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let says = |words: &str| lines.iter().any(|line| text(line, "message").starts_with(words));
    assert!(says("listening on 127.0.0.1:") && says("metrics on http://127.0.0.1:"), "{log}");
    assert!(says("no session kept: ") && lines.iter().all(|line| line["level"] == "info"), "{log}");
}
