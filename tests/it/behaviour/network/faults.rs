//! Runs a client against failing servers: each failure has its message and exit code, and the
//! client recovers without a restart.

use std::{
    fs,
    path::Path,
    process::Output,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use h2::Reason;
use xdscope_wire::pb::put_len_field;

use crate::support::{
    faulty::{Fault, Faulty, response},
    process::Child,
    tap::{Recording, Tap, attempts, xdscope},
    wait::{wait_for, wait_for_analysis, wait_within},
};

/// SETTINGS, then GOAWAY with `ENHANCE_YOUR_CALM` and debug data.
const TOO_MANY_PINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x16\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0btoo_many_pings";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn get(folder: &Path, server: &str, args: &[&str]) -> Output {
    let mut command = xdscope(folder);
    command.args(["get", server, "cds", "--no-expand", "-o", "name"]).args(args);
    command.output().expect("xdscope runs")
}

fn watch(folder: &Path, server: &str, args: &[&str]) -> Child {
    let mut command = xdscope(folder);
    command.args(["watch", server, "cds", "--no-expand", "--no-tui", "--no-record"]).args(args);
    Child::start(&mut command, &folder.join("watch.log"))
}

/// Waits until a client has shown that an attempt has failed, unless it skips that.
fn wait_for_attempt(log: &Path, attempt: usize) {
    let is_shown = || {
        let shown = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
        (attempts(&shown) as usize >= attempt).then_some(())
    };
    let _ = wait_within(Duration::from_secs(2), is_shown);
}

/// Asserts that `get` exits with 3 and reports `words`, and that `watch` reports them with attempt
/// and back-off and recovers.
fn assert_reports_and_recovers(fault: Fault, words: &str) {
    assert_reports_within("10s", fault, words);
}

/// Asserts the same with this limit of the time to connect.
fn assert_reports_within(connect_timeout: &str, fault: Fault, words: &str) {
    let limit = ["--connect-timeout", connect_timeout];
    let folder = tempfile::tempdir().expect("a folder");
    let server = Faulty::start(vec![fault.clone()]).address.to_string();
    let output = get(folder.path(), &server, &limit);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.contains(words)), (Some(3), true), "{words}: {said}");

    let log = folder.path().join("watch.log");
    let server = Faulty::start_after(vec![fault.clone(), fault], move |n| wait_for_attempt(&log, n));
    let child = watch(folder.path(), &server.address.to_string(), &limit);
    let well = |log: &String| log.contains("└ ack") && log.contains("xdscope: connected\n");
    let log = wait_for(words, || Some(child.log()).filter(well));
    assert!(log.contains(words), "{words}: {log}");
    assert!(log.contains("(attempt 1, next in 0."), "{log}");
    assert!(log.contains("(attempt 2, next in "), "{log}");
    assert_eq!(server.connections.load(Ordering::SeqCst), 3, "{log}");
    child.interrupt();
}

#[test]
fn reports_server_without_http2() {
    let says = |bytes, closes| Fault::Says { bytes, closes };
    assert_reports_and_recovers(
        says(b"HTTP/1.1 400 Bad Request\r\n\r\n", true),
        "an HTTP/1 port: `HTTP/1.1 400 Bad Request`",
    );
    assert_reports_and_recovers(
        says(b"\xff\xfe\xfd no HTTP/2 at all", false),
        "neither HTTP/2 nor HTTP/1 nor TLS",
    );
    assert_reports_and_recovers(says(b"\x15\x03\x01\0\x02\x02\x16", true), "the server speaks TLS");
    assert_reports_and_recovers(says(b"", true), "HTTP/2 failed, the server closed the connection");
}

#[test]
fn reports_silent_server() {
    // The third connection works, and has as much time.
    assert_reports_within(
        "3s",
        Fault::Says { bytes: b"", closes: false },
        "HTTP/2 failed, no answer from the server in 3s",
    );
}

#[test]
fn reports_reset_streams() {
    assert_reports_and_recovers(Fault::Reset(Reason::REFUSED_STREAM), "RST_STREAM REFUSED_STREAM");
    assert_reports_and_recovers(Fault::Reset(Reason::INTERNAL_ERROR), "RST_STREAM INTERNAL_ERROR");
    // The reset comes in the middle of a message.
    assert_reports_and_recovers(Fault::Cut(20), "RST_STREAM CANCEL");
}

#[test]
fn reports_goaway() {
    assert_reports_and_recovers(
        Fault::Says { bytes: TOO_MANY_PINGS, closes: false },
        "GOAWAY ENHANCE_YOUR_CALM (too_many_pings)",
    );
}

#[test]
fn reports_every_grpc_status() {
    let field = |name, value: &str| (name, value.to_owned());
    let denied = vec![field("grpc-status", "7"), field("grpc-message", "node %22me%22 may not")];
    let words = "the server ended the stream: PERMISSION_DENIED: node \"me\" may not";
    assert_reports_and_recovers(Fault::Headers(200, denied.clone()), words);
    assert_reports_and_recovers(Fault::Trailers(denied.clone()), words);

    let (mut info, mut any, mut status) = (Vec::new(), Vec::new(), Vec::new());
    put_len_field(&mut info, 1, b"NO_SUCH_NODE");
    put_len_field(&mut info, 2, b"mesh.test");
    put_len_field(&mut any, 1, b"type.googleapis.com/google.rpc.ErrorInfo");
    put_len_field(&mut any, 2, &info);
    put_len_field(&mut status, 3, &any);
    let mut detailed = denied;
    detailed.push(("grpc-status-details-bin", BASE64_STANDARD_NO_PAD.encode(status)));
    assert_reports_and_recovers(
        Fault::Headers(200, detailed),
        "; details: ErrorInfo NO_SUCH_NODE, mesh.test",
    );
}

#[test]
fn reports_response_that_is_not_grpc() {
    assert_reports_and_recovers(
        Fault::Body(503, "text/plain", "no healthy upstream"),
        "UNAVAILABLE: HTTP status 503: no healthy upstream",
    );
    assert_reports_and_recovers(
        Fault::Body(200, "text/html", "<h1>Welcome</h1>"),
        "the answer is text/html, not gRPC: <h1>Welcome</h1>",
    );
    assert_reports_and_recovers(Fault::Headers(401, vec![]), "UNAUTHENTICATED: HTTP status 401");
}

/// Keepalive detects a half-open connection, and the client leaves it.
#[test]
fn keepalive_detects_half_open_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("watch.log");
    let server = Faulty::start_after(vec![Fault::HalfOpen], move |n| wait_for_attempt(&log, n));
    let keepalive = ["--keepalive", "300ms", "--keepalive-timeout", "300ms"];
    let child = watch(folder.path(), &server.address.to_string(), &keepalive);
    let log = wait_for("an ACK", || Some(child.log()).filter(|log| log.contains("└ ack")));
    assert!(log.contains("the stream broke: keepalive: no answer to a PING in 300ms (attempt 1, "), "{log}");
    child.interrupt();

    // Without keepalive the client waits for its response in vain.
    let server = Faulty::start(vec![Fault::HalfOpen]).address.to_string();
    let output = get(folder.path(), &server, &["--resource-timeout", "1500ms"]);
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.contains("not answered within 1.5s: CDS")),
        (Some(4), true),
        "{said}"
    );
}

/// A server that answers PINGs is never left, however long it is silent.
#[test]
fn tolerates_slow_server() {
    let folder = tempfile::tempdir().expect("a folder");
    // Longer than a client waits for the answer to a PING, which may be late on busy cores.
    let server = Faulty::start(vec![Fault::Slow(Duration::from_secs(8))]);
    let keepalive = ["--keepalive", "200ms", "--keepalive-timeout", "5s"];
    let output = get(folder.path(), &server.address.to_string(), &keepalive);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "cds/echo\n"), "{said}");
    // The first of such lines is about the connection if that takes more than a second.
    let waits = |line: &str| line.contains("waiting for CDS (") && line.ends_with("s of 15s)");
    assert!(said.lines().any(waits), "{said}");
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn reports_unresolved_host_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = get(folder.path(), "no-such-host.invalid:15010", &["--plaintext"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("cannot reach no-such-host.invalid:15010") && said.contains("  tried  name\n"),
        "{said}"
    );
    let child = watch(folder.path(), "no-such-host.invalid:15010", &["--plaintext"]);
    wait_for("the second attempt", || (attempts(&child.log()) >= 2).then_some(()));
    child.interrupt();
}

/// A token rotated while a client runs is used by the next attempt; until then the error of the
/// server is shown.
#[test]
fn retries_with_rotated_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let (token, recording) = (folder.path().join("token"), folder.path().join("own.xdsrec"));
    fs::write(&token, "old\n").expect("a token");
    let path = token.to_str().expect("a path");
    let server = Faulty::start(vec![Fault::Demands("new"); 64]).address.to_string();
    let words = "UNAUTHENTICATED: the token is not taken";
    let output = get(folder.path(), &server, &["--token-file", path]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.contains(words)), (Some(3), true), "{said}");
    assert!(said.contains(&format!("  next   another token in {path}")), "{said}");

    let mut command = xdscope(folder.path());
    command.args(["watch", &server, "cds", "--no-expand", "--no-tui", "--token-file", path, "--record"]);
    let child = Child::start(command.arg(&recording), &folder.path().join("watch.log"));
    wait_for("a second refusal", || (attempts(&child.log()) >= 2).then_some(()));
    assert!(child.log().contains(words) && !child.log().contains("└ ack"), "{}", child.log());
    fs::write(&token, "new\n").expect("a rotation");
    let well = |log: &String| log.contains("└ ack") && log.contains("xdscope: connected\n");
    wait_for("an ACK", || Some(child.log()).filter(well));
    child.interrupt();

    // In the recording each attempt is a stream, and the last one succeeds.
    let recording = Recording { file: recording };
    let log = recording.text("log", &[]);
    assert!(log.contains("UNAUTHENTICATED the token is not taken by the server"), "{log}");
    assert_eq!(recording.state("cds")["last_state"], "synced");
    let output = get(folder.path(), &server, &["--token-file", path]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "cds/echo\n"));

    // The token file disappears while the client runs, and comes back.
    let server = Faulty::start(vec![Fault::Demands("newer"); 64]).address.to_string();
    let other = tempfile::tempdir().expect("a folder");
    let child = watch(other.path(), &server, &["--token-file", path]);
    wait_for("a refusal", || child.log().contains("UNAUTHENTICATED").then_some(()));
    fs::remove_file(&token).expect("it goes");
    let words = format!("cannot read the token file {path}");
    wait_for("a message about the file", || child.log().contains(&words).then_some(()));
    fs::write(&token, "newer\n").expect("it is back");
    wait_for("an ACK", || child.log().contains("└ ack").then_some(()));
    child.interrupt();
}

/// Returns a response with 200 MB of distinct clusters.
fn large_response() -> bytes::Bytes {
    const CLUSTERS: u64 = 3200;
    response((0..CLUSTERS).map(|n| {
        let mut value = Vec::new();
        put_len_field(&mut value, 1, format!("cluster-{n}").as_bytes());
        // Incompressible text.
        let mut random = n;
        let noise: String = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:08x}", random >> 32)
        })
        .take(8000)
        .collect();
        put_len_field(&mut value, 28, noise.as_bytes());
        value
    }))
}

/// Memory is bounded by the size of the response; a lower limit rejects the response.
#[test]
fn bounds_memory_for_huge_response() {
    let folder = tempfile::tempdir().expect("a folder");
    let huge = large_response();
    assert!(huge.len() > 200_000_000);
    // On a busy machine the first client may connect twice.
    let sends = (0..3).map(|_| Fault::Sends(huge.clone()));
    let server = Faulty::start(sends.collect());
    let address = server.address.to_string();
    let begun = Instant::now();
    let child = watch(folder.path(), &address, &[]);
    wait_for_analysis("an ACK", || child.log().contains("└ ack").then_some(()));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("its state");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: usize = peak.expect("a peak").trim().parse().expect("a number");
    assert!(peak * 1024 < huge.len() * 5 / 2, "{peak} kB after {:?}", begun.elapsed());
    child.interrupt();

    let output = get(folder.path(), &address, &["--max-message-size", "100MB"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.contains("--max-message-size")), (Some(3), true), "{said}");
}

/// The run and the timer of a state do not end at the same moment, so that no run differs.
#[test]
fn unanswered_request_has_one_exit_code_in_every_verb_and_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Faulty::start(vec![Fault::HalfOpen; 200]).address.to_string();
    let run = |verb: &[&str]| {
        let mut command = xdscope(folder.path());
        command.args([verb[0], &server]).args(&verb[1..]).args(["--resource-timeout", "1500ms"]);
        command.output().expect("xdscope runs")
    };
    let verbs: [&[&str]; 4] = [&["status"], &["get"], &["get", "cds/none", "--no-expand"], &["lint"]];
    for _ in 0..10 {
        std::thread::scope(|scope| {
            let runs = verbs.iter().chain(&verbs).map(|verb| scope.spawn(move || (verb, run(verb))));
            for (verb, output) in runs.collect::<Vec<_>>().into_iter().map(|run| run.join().expect("a run")) {
                let (out, said) = (text(&output.stdout), text(&output.stderr));
                assert_eq!(output.status.code(), Some(4), "{verb:?}: {out}{said}");
                assert!(said.contains("not answered within 1.5s"), "{verb:?}: {said}");
                assert!(verb[0] != "status" || out.contains("MISS"), "{verb:?}: {out}");
            }
        });
    }
}

/// A server that has a cluster and not its endpoints leaves one name without an answer.
#[test]
fn unanswered_name_has_one_answer_in_every_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("one.xds");
    fs::write(&script, "node n\nstream 1 ads\n> cds\n< cds v=1 n=1 [c{eds: null}]\n").expect("a script");
    let serve = Tap::serve(folder.path(), &script, &[]);
    let server = serve.address().to_string();
    // Progress ("waiting for ...") is not said by a run that had no time for it.
    let words = ["SYNCED", "MISS", "WAIT", "SENT", "present", "no finding"];
    let run = |verb: &str| {
        let mut command = xdscope(folder.path());
        let output = command.args([verb, &server, "--resource-timeout", "1s"]).output();
        let output = output.expect("xdscope runs");
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        let all = out + &said;
        let found: Vec<_> = words.into_iter().filter(|word| all.contains(word)).collect();
        (output.status.code(), found, all.contains("not answered within 1s: eds/c"), all)
    };
    for verb in ["status", "get", "lint"] {
        let first = run(verb);
        assert_eq!((first.0, first.2), (Some(4), true), "{verb}: {first:?}");
        assert!(!first.1.is_empty(), "{verb}: {first:?}");
        for _ in 0..5 {
            std::thread::scope(|scope| {
                let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| run(verb))).collect();
                for again in runs.into_iter().map(|run| run.join().expect("a run")) {
                    assert_eq!(
                        (&again.0, &again.1, again.2),
                        (&first.0, &first.1, first.2),
                        "{verb}: {again:?}"
                    );
                }
            });
        }
    }
}

/// Records a client whose streams all have `fault`, and returns the findings of `stream-rejected`.
fn rejections(fault: Fault, args: &[&str], failures: u32) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Faulty::start(vec![fault; 50]).address.to_string();
    let file = folder.path().join("watch.xdsrec");
    let mut command = xdscope(folder.path());
    command.args(["watch", &server, "cds", "--no-expand", "--no-tui", "--record"]).arg(&file).args(args);
    let child = Child::start(&mut command, &folder.path().join("watch.log"));
    wait_for("failed attempts", || (attempts(&child.log()) >= failures).then_some(()));
    child.interrupt();
    let mut findings = Recording { file }.objects("lint", &[]);
    findings.retain(|finding| finding["rule"] == "stream-rejected");
    findings
}

#[test]
fn rejected_streams_are_one_finding() {
    let fields = vec![("grpc-status", "16".to_owned()), ("grpc-message", "token expired".to_owned())];
    let findings = rejections(Fault::Headers(200, fields), &[], 3);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((&findings[0]["severity"], &findings[0]["blame"]), (&"error".into(), &"server".into()));
    let text = findings[0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("UNAUTHENTICATED token expired"), "{text}");
    assert!(findings[0]["count"].as_u64() >= Some(3), "{findings:#?}");
}

#[test]
fn keepalive_timeouts_are_one_finding() {
    let keepalive = ["--keepalive", "200ms", "--keepalive-timeout", "200ms"];
    let findings = rejections(Fault::HalfOpen, &keepalive, 4);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let text = findings[0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("keepalive: no answer to a PING"), "{text}");
}
