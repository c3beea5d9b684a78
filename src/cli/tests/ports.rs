//! Admin ports as sources: a scripted HTTP server in place of an Envoy.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{run, show};
use crate::cli::error::Exit;

/// How long a server lives at most.
const LIFETIME: Duration = Duration::from_secs(60);

/// The answer of a server to a request.
#[derive(Clone)]
enum Answer {
    Page(u16, String),
    /// These bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// A body without an end.
    Endless,
}

type Script = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

/// An HTTP/1.1 server on loopback, which answers each path as its script says.
struct ScriptedPort {
    address: String,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedPort {
    fn start(script: impl Fn(&str) -> Answer + Send + Sync + 'static) -> ScriptedPort {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, script): (_, Script) = (is_over.clone(), Arc::new(script));
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            while !over.load(Ordering::Relaxed) && begun.elapsed() < LIFETIME {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (script, over) = (script.clone(), over.clone());
                        std::thread::spawn(move || serve(stream, &script, &over));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        ScriptedPort { address, is_over, thread: Some(thread) }
    }

    fn source(&self) -> String {
        format!("envoy:{}", self.address)
    }
}

impl Drop for ScriptedPort {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Answers the requests of a connection, until the client or the script ends it.
fn serve(mut stream: TcpStream, script: &Script, is_over: &AtomicBool) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIFETIME)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            lines.push(line);
        }
        let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let sent = match script(path) {
            Answer::Page(status, body) => {
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes())
            }
            Answer::Bytes(bytes) => {
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read(&mut [0; 1]);
                return;
            }
            Answer::Endless => {
                let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
                let chunk = [b"10000\r\n", &[b' '; 0x10000][..], b"\r\n"].concat();
                while sent.is_ok() && !is_over.load(Ordering::Relaxed) {
                    sent = stream.write_all(&chunk);
                }
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

const INFO: &str =
    r#"{"version": "abc/1.40.0/Clean/RELEASE/BoringSSL", "state": "LIVE", "uptime_current_epoch": "9s"}"#;

/// A config dump with a cluster in a version, and a listener that warms.
fn dump(version: &str) -> String {
    let cluster = format!(
        r#"{{"version_info": "{version}", "cluster": {{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "cart", "connect_timeout": "{version}s"}}}}"#
    );
    format!(
        r#"{{"configs": [
 {{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {{"node": {{"id": "edge-1"}}}}}},
 {{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "version_info": "{version}", "dynamic_active_clusters": [{cluster}]}},
 {{"@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump", "version_info": "7", "dynamic_listeners": [
  {{"name": "in", "warming_state": {{"version_info": "7", "listener": {{"@type": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": "in"}}}}}}]}}
]}}"#
    )
}

const INIT: &str = r#"{"unready_targets_dumps": [{"name": "init manager Listener-local-init-manager in 123", "target_names": ["shared target RdsRouteConfigSubscription RDS init edge", "target Wasm"]}]}"#;
const STATS: &str = r#"{"stats": [{"name": "cluster_manager.cds.update_success", "value": 4}, {"name": "cluster_manager.cds.update_rejected", "value": 2}, {"name": "cluster_manager.cds.version_text", "value": "1"}, {"name": "control_plane.connected_state", "value": 1}]}"#;
const CERTS: &str = r#"{"certificates": [{"ca_cert": [], "cert_chain": [{"path": "own.pem", "serial_number": "2a", "days_until_expiration": "3"}]}]}"#;

fn page(path: &str) -> Answer {
    let body = match path {
        "/server_info" => INFO.to_owned(),
        "/config_dump?include_eds" => dump("1"),
        "/init_dump" => INIT.to_owned(),
        "/certs" => CERTS.to_owned(),
        _ if path.starts_with("/stats") => STATS.to_owned(),
        _ => return Answer::Page(404, "not found".into()),
    };
    Answer::Page(200, body)
}

#[test]
fn status_of_an_envoy_says_what_each_part_waits_for() {
    let port = ScriptedPort::start(page);
    let source = port.source();
    let shown = show(&["status", &source, "-o", "wide"]);
    for words in [
        "edge-1",
        "4 ok, 2 rejected",
        "listener in waits for RDS edge, Wasm",
        "edge-1: Envoy 1.40.0 is LIVE; a control plane is connected; certificate own.pem (serial 2a) expires in 3 days",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let objects = run(&["status", &source, "-o", "jsonl", "-q"]).out;
    assert!(
        objects.contains(r#""updates":{"success":4,"rejected":2,"failure":0,"timeouts":0,"version":"1"}"#)
    );
    assert!(objects.contains(r#""other_waits":["Wasm"]"#), "{objects}");
}

#[test]
fn facts_of_a_port_are_those_of_its_saved_dump() {
    let port = ScriptedPort::start(page);
    let source = port.source();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.json");
    std::fs::write(&file, dump("1")).unwrap();
    let file = file.to_str().unwrap();
    for args in [&["get"][..], &["get", "cds", "-o", "yaml"], &["get", "lds"], &["get", "cds/cart"]] {
        let of = |source: &str| run(&[&[args[0], source, "-q"], &args[1..]].concat()).out;
        assert_eq!(of(&source), of(file), "{args:?}");
    }
    let compared = run(&["diff", &source, file]);
    assert_eq!((compared.out.as_str(), compared.exit), ("", Exit::Yes), "{}", compared.err);
    let other = folder.path().join("other.json");
    std::fs::write(&other, dump("2")).unwrap();
    let compared = run(&["diff", file, &source, "cds", "--unified"]);
    assert_eq!(compared.exit, Exit::Yes);
    let compared = run(&["diff", other.to_str().unwrap(), &source, "cds"]);
    assert_eq!(compared.exit, Exit::No, "{}", compared.out);
    let applied = run(&["status", file, "--applied", &source, "-o", "wide"]);
    assert!(applied.out.contains("APPLIED"), "{}{}", applied.out, applied.err);
}

#[test]
fn waits_until_a_port_changes() {
    let (changed, polls) = (Arc::new(AtomicBool::new(false)), changed_after(2));
    let flag = changed.clone();
    let port = ScriptedPort::start(move |path| {
        if path.starts_with("/config_dump?resource=dynamic_active_clusters") && polls() {
            flag.store(true, Ordering::Relaxed);
        }
        let is_new = flag.load(Ordering::Relaxed);
        match path {
            "/config_dump?include_eds" if is_new => Answer::Page(200, dump("2")),
            _ if path.starts_with("/config_dump?resource") => {
                Answer::Page(200, format!("{{\"configs\": [{is_new}]}}"))
            }
            path => page(path),
        }
    });
    let waited = run(&["wait", &port.source(), "name:cart version:2", "--timeout", "20s"]);
    assert_eq!(waited.exit, Exit::Yes, "{}", waited.err);
    assert!(changed.load(Ordering::Relaxed));
    let waited = run(&["wait", &port.source(), "name:cart version:3", "--timeout", "100ms"]);
    assert_eq!(waited.exit, Exit::Never, "{}", waited.err);
}

/// Returns what becomes true with the call number `count`.
fn changed_after(count: usize) -> impl Fn() -> bool {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    move || calls.fetch_add(1, Ordering::Relaxed) + 1 >= count
}

#[test]
fn hostile_ports_are_errors_with_a_next_step() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"configs\": [";
    let cases: [(&str, Answer, &str, &str); 6] = [
        (
            "/server_info",
            Answer::Page(404, "404 page not found".into()),
            "HTTP 404 \"404 page not found\"",
            "admin port: 15000",
        ),
        (
            "/server_info",
            Answer::Bytes(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80".to_vec()),
            "the answer is not HTTP/1.1",
            "curl -s",
        ),
        ("/server_info", Answer::Bytes(Vec::new()), "connection closed before message completed", "curl -s"),
        (
            "/config_dump?include_eds",
            Answer::Endless,
            "the answer has more than 26843545 bytes",
            "--memory 5",
        ),
        ("/config_dump?include_eds", Answer::Bytes(cut.into()), "the answer broke off", "curl -s"),
        (
            "/config_dump?include_eds",
            Answer::Page(200, dump("1").replace("}}", "}")),
            "truncated or not JSON",
            "",
        ),
    ];
    for (at, answer, wanted, next) in cases {
        let port = ScriptedPort::start(move |path| if path == at { answer.clone() } else { page(path) });
        let refused = run(&["status", &port.source(), "--memory", "64MB"]);
        assert!(refused.err.contains(wanted) && refused.err.contains(next), "{wanted}: {}", refused.err);
        assert!(matches!(refused.exit, Exit::Connection | Exit::Unreadable), "{wanted}: {}", refused.err);
        assert!(!refused.err.contains("attached-"), "no path of a copy: {}", refused.err);
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = run(&["get", &format!("envoy:{closed}")]);
    assert!(
        refused.err.contains("Connection refused") && refused.exit == Exit::Connection,
        "{}",
        refused.err
    );
    let refused = run(&["get", "envoy:nowhere"]);
    assert!(refused.exit == Exit::Usage && refused.err.contains("envoy:HOST:PORT"), "{}", refused.err);
    let port = ScriptedPort::start(page);
    let refused = run(&["log", &port.source()]);
    assert!(refused.exit == Exit::Usage && refused.err.contains("-f"), "{}", refused.err);
    for verb in ["tap", "watch", "doctor"] {
        let refused = run(&[verb, &port.source()]);
        let words = "is an admin port, and not a control plane";
        assert!(refused.exit == Exit::Usage && refused.err.contains(words), "{verb}: {}", refused.err);
    }
}

#[test]
fn proxies_of_several_istiods_are_merged() {
    let list = |proxy: &str, error: &str| {
        let types = format!(
            r#"{{"type.googleapis.com/envoy.config.listener.v3.Listener": {{"sent": "b", "acked": "a",
            "sentTime": "2026-11-30T16:00:30Z", "lastError": "{error}"}}}}"#
        );
        format!(r#"[{{"proxy": "{proxy}", "istio_version": "1.27.0", "resources": {types}}}]"#)
    };
    let (first, second) = (list("web-1.shop", "Error adding listener in: no"), list("web-2.shop", ""));
    let first = ScriptedPort::start(move |_| Answer::Page(200, first.clone()));
    let second = ScriptedPort::start(move |_| Answer::Page(200, second.clone()));
    let source = format!("istiod:{},{}", first.address, second.address);
    let shown = run(&["status", &source, "-o", "wide"]);
    for words in ["web-1.shop", "web-2.shop", "Error adding listener in: no"] {
        assert!(shown.out.contains(words), "{words}: {}{}", shown.out, shown.err);
    }
    assert_eq!(shown.exit, Exit::No);
    assert!(!shown.out.contains("0.0ms"), "nobody has measured a time to ACK: {}", shown.out);
    let refused = run(&["status", &format!("{source}/web-3.shop")]);
    assert!(
        refused.exit == Exit::Connection && refused.err.contains("no dump of web-3.shop"),
        "{}",
        refused.err
    );
    let refused = run(&["status", "tests/fixtures/cli/config_dump.json", "--applied", &source]);
    assert!(refused.err.contains("what proxies have acknowledged"), "{}", refused.err);
}

#[test]
fn workloads_of_a_ztunnel_are_resources() {
    let workload = r#"{"uid": "Kubernetes//Pod/shop/web-1", "name": "web-1", "namespace": "shop"}"#;
    let body =
        format!(r#"{{"workloads": [{workload}], "services": [], "policies": [], "certificates": []}}"#);
    let port = ScriptedPort::start(move |_| Answer::Page(200, body.clone()));
    let source = format!("ztunnel:{}", port.address);
    let shown = run(&["get", &source, "istio.workload.Address", "-o", "yaml"]);
    assert!(shown.out.contains("Kubernetes//Pod/shop/web-1"), "{}{}", shown.out, shown.err);
    assert_eq!(run(&["status", &source]).exit, Exit::Yes, "no alarm about the form of the contents");
}
