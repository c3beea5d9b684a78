//! Streams that fail on a tap with real sockets: each failure is the first thing that `status`, the
//! Overview and `lint` say, with its code, text, period and last request.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use h2::Reason;
use serde_json::Value;

use crate::support::{
    certs::Ca,
    faulty::{Ending, Fault, Faulty},
    process::free_port,
    raw_pair::Pair,
    retrying::retry,
    screens,
    tap::{Recording, Tap},
    wait::{PATIENCE, pass, wait_for},
};

/// Pause between two streams of the client.
const PAUSE: Duration = Duration::from_millis(250);

/// The time after which the client leaves a silent server: its request has arrived by then, also on
/// busy cores. From five seconds on, the end would look like an idle timeout.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(3);

/// The views of a failure that users read first.
struct Seen {
    status: String,
    code: Option<i32>,
    /// The problem lines of the Overview.
    overview: String,
    findings: Vec<Value>,
}

impl Seen {
    fn of(recording: &Recording) -> Seen {
        let output = recording.run("status", &[]);
        let status = String::from_utf8(output.stdout).expect("text");
        let overview = screens::of_file(&recording.file, ["1"]).expect("a screen").concat();
        let findings = recording.objects("lint", &[]);
        let findings = findings.into_iter().filter(|finding| finding["object"] == "finding").collect();
        Seen { status, code: output.status.code(), overview, findings }
    }

    fn all(&self) -> String {
        format!("{}\nexit {:?}\n{}\n{:#?}", self.status, self.code, self.overview, self.findings)
    }

    /// Asserts that one finding of `stream-rejected` has these words.
    fn assert_found(&self, words: &[&str]) {
        let all = self.all();
        let of_rule: Vec<&Value> =
            self.findings.iter().filter(|finding| finding["rule"] == "stream-rejected").collect();
        assert_eq!(of_rule.len(), 1, "one finding for one cause: {all}");
        let text = of_rule[0]["text"].as_str().unwrap_or_default();
        for word in words {
            assert!(text.contains(word), "the finding lacks {word:?}: {all}");
        }
    }

    /// Asserts that `status` and the Overview begin with a problem that has these words; narrow
    /// screens cut its end off.
    fn assert_first(&self, in_status: &[&str], in_overview: &[&str]) {
        let all = self.all();
        assert_eq!(self.code, Some(1), "{all}");
        let is_count = |line: &&str| line.ends_with(" problem") || line.ends_with(" problems");
        let first = self.status.lines().find(|line| !is_count(line)).unwrap_or_default();
        let rows = self.overview.lines().skip_while(|line| !line.contains(" STATE ")).skip(1);
        // Beside the list is a pane that shows the evidence of the chosen problem.
        let mut rows = rows.filter_map(|line| line.split('│').next());
        let is_next = |line: &str| line.chars().nth(1).is_none_or(|mark| mark != ' ');
        let first_row = rows.next().unwrap_or_default().to_owned();
        let shown = rows.take_while(|line| !is_next(line)).fold(first_row, |text, line| text + line);
        let shown = shown.split(['▌', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        for word in in_status {
            assert!(first.contains(word), "status lacks {word:?}: {all}");
        }
        for word in in_overview {
            assert!(shown.contains(word), "the Overview lacks {word:?}: {all}");
        }
    }
}

/// Runs a client through a tap.
fn tapped(upstream: SocketAddr, attempts: u32, pause: Duration, limit: Duration) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::start(folder.path(), upstream, &[]);
    retry(tap.address(), attempts, pause, limit);
    Seen::of(&tap.stop())
}

/// Runs of a client whose streams must end at regular times.
const REGULAR_RUNS: usize = 3;

/// Repeats a run until a finding is about regular times: busy cores delay single streams by more
/// than times that count as alike may differ.
fn regular(is_regular: impl Fn(&Value) -> bool, run: impl Fn() -> Seen) -> Seen {
    let mut seen = run();
    for _ in 1..REGULAR_RUNS {
        if seen.findings.iter().any(&is_regular) {
            break;
        }
        seen = run();
    }
    seen
}

fn has_text(words: &str) -> impl Fn(&Value) -> bool {
    move |finding: &Value| finding["text"].as_str().is_some_and(|text| text.contains(words))
}

/// Runs a client through a tap to a server that fails in the same way each time.
fn failing(fault: Fault, attempts: u32) -> Seen {
    let is_silent = matches!(fault, Fault::HalfOpen | Fault::Says { closes: false, .. });
    let server = Faulty::start(vec![fault; 50]);
    // On a busy machine the client must not leave before the server ends the stream.
    tapped(server.address, attempts, PAUSE, if is_silent { CLIENT_TIMEOUT } else { PATIENCE })
}

fn status(code: &str, text: &str) -> Vec<(&'static str, String)> {
    vec![("grpc-status", code.to_owned()), ("grpc-message", text.to_owned())]
}

#[test]
fn unauthenticated_on_every_attempt() {
    // An interval long enough that the delays of busy cores are a small part of it.
    let server = Faulty::start(vec![Fault::Headers(200, status("16", "no such token")); 50]);
    let seen = regular(has_text(", every "), || tapped(server.address, 6, Duration::from_secs(1), PATIENCE));
    seen.assert_found(&["6 streams end before a response, every ", "UNAUTHENTICATED no such token", "CDS"]);
    seen.assert_first(
        &[
            "FAILING",
            "server rejects the stream: 6 times",
            ", every ",
            "UNAUTHENTICATED no such token; last request CDS #",
        ],
        &["FAILING", "server rejects the stream: 6 times"],
    );
}

#[test]
fn refused_connections() {
    let upstream = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let seen = tapped(upstream, 5, PAUSE, CLIENT_TIMEOUT);
    seen.assert_found(&["5 attempts", "Connection refused"]);
    seen.assert_first(&["DOWN", "5 attempts", "Connection refused"], &["DOWN", "5 attempts"]);
}

/// The server works at first, and ends the stream when the token expires.
#[test]
fn expired_token() {
    let refused = Fault::Headers(200, status("16", "token expired"));
    let ends = Fault::Ends(Duration::from_millis(300), Ending::Trailers(status("16", "token expired")));
    let server = Faulty::start([vec![ends], vec![refused; 50]].concat());
    let seen = tapped(server.address, 5, PAUSE, PATIENCE);
    seen.assert_found(&["5 streams end with an error, 4 before a response", "UNAUTHENTICATED token expired"]);
    seen.assert_first(
        &[
            "FAILING",
            "server ends the stream with an error: 5 times",
            "UNAUTHENTICATED token expired; last request CDS #",
        ],
        &["FAILING", "server ends the stream with an error: 5 times"],
    );
}

/// The server accepts the stream and answers nothing, not even PINGs: the client gives up.
#[test]
fn unanswered_keepalives() {
    let seen = failing(Fault::HalfOpen, 4);
    seen.assert_found(&["client gives up 4 streams without a response", "CANCEL", "CDS"]);
    seen.assert_first(
        &[
            "FAILING",
            "client ends the stream before a response: 4 times",
            "RST_STREAM CANCEL; last request CDS #",
        ],
        &["FAILING", "client ends the stream before a response: 4 times"],
    );
}

/// A proxy ends streams that were silent for some time.
#[test]
fn idle_timeout_names_its_period() {
    let silence = Duration::from_secs(6);
    let server = Faulty::start(vec![Fault::Ends(silence, Ending::Reset(Reason::INTERNAL_ERROR)); 50]);
    let seen = regular(has_text("4 times, each 6"), || tapped(server.address, 4, PAUSE, silence * 2));
    seen.assert_found(&["4 times, each 6", "after the last message", "INTERNAL_ERROR"]);
    seen.assert_first(
        &[
            "FAILING",
            "server cuts off each stream: 4 times, each 6",
            "after the last message",
            "RST_STREAM INTERNAL_ERROR; last request CDS #",
        ],
        &["FAILING", "server cuts off each stream: 4 times, each 6"],
    );
}

/// A planned end is no problem, and its period is named.
#[test]
fn connection_age_names_its_period() {
    let age = Duration::from_secs(11);
    let server = Faulty::start(vec![Fault::Ages(age); 50]);
    let is_of_age = |finding: &Value| finding["rule"] == "regular-stream-age";
    let seen = regular(is_of_age, || tapped(server.address, 4, PAUSE, age * 2));
    let of_age = seen.findings.iter().find(|finding| finding["rule"] == "regular-stream-age");
    let text = of_age.and_then(|finding| finding["text"].as_str()).unwrap_or_default();
    assert!(text.contains("4") && text.contains("11"), "{}", seen.all());
    assert!(seen.findings.iter().all(|finding| finding["rule"] != "stream-rejected"), "{}", seen.all());
}

/// The proxy accepts connections and says nothing.
#[test]
fn black_holing_proxy() {
    let seen = failing(Fault::Says { bytes: b"", closes: false }, 4);
    seen.assert_found(&["client gives up 4 streams without a response", "CDS"]);
    seen.assert_first(
        &[
            "FAILING",
            "client ends the stream before a response: 4 times",
            "RST_STREAM CANCEL; last request CDS #",
        ],
        &["FAILING", "client ends the stream before a response: 4 times"],
    );
}

#[test]
fn reset_after_first_response() {
    let ending = Ending::Reset(Reason::INTERNAL_ERROR);
    let seen = failing(Fault::Ends(Duration::from_millis(100), ending), 5);
    seen.assert_found(&["5 ", "cut off", "RST_STREAM INTERNAL_ERROR", "CDS"]);
    seen.assert_first(
        // `5 times` or, if the ages happen to be alike, `5 × at an age of 145ms`.
        &["FAILING", "server cuts off each stream: 5 ", "RST_STREAM INTERNAL_ERROR; last request CDS #"],
        &["FAILING", "server cuts off each stream: 5 "],
    );
}

#[test]
fn unavailable_over_http2() {
    let seen = failing(Fault::Body(503, "text/plain", "no healthy upstream"), 5);
    seen.assert_found(&[
        "5 streams end before a response",
        "UNAVAILABLE HTTP status 503: no healthy upstream",
    ]);
    seen.assert_first(
        &[
            "FAILING",
            "server rejects the stream: 5 times",
            "UNAVAILABLE HTTP status 503: no healthy upstream; last request CDS #",
        ],
        &["FAILING", "server rejects the stream: 5 times"],
    );
}

#[test]
fn unavailable_over_http1() {
    let bytes = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
    let seen = failing(Fault::Says { bytes, closes: true }, 5);
    seen.assert_found(&["5 streams end before a response", "HTTP/1.1 503 Service Unavailable"]);
    seen.assert_first(
        &[
            "FAILING",
            "server rejects the stream: 5 times",
            "HTTP/1.1 503 Service Unavailable`; last request CDS #",
        ],
        &["FAILING", "server rejects the stream: 5 times"],
    );
}

#[test]
fn server_that_speaks_tls() {
    let seen = failing(Fault::Says { bytes: b"\x15\x03\x01\0\x02\x02\x16", closes: true }, 5);
    // A connection may fail before its stream begins: DOWN then, else FAILING.
    seen.assert_found(&["the server requires TLS"]);
    seen.assert_first(&["the server requires TLS"], &[": the server"]);
}

/// Runs connections of this many milliseconds through a tap, and ends each with `end`.
fn ended(ages: &[u64], end: fn(Pair)) -> Seen {
    let plane = TcpListener::bind("127.0.0.1:0").expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::start(folder.path(), plane.local_addr().expect("an address"), &[]);
    for age in ages {
        let mut pair = Pair::open(tap.address(), &plane);
        pair.push(1, 8);
        pair.ack();
        pass(Duration::from_millis(*age));
        end(pair);
    }
    Seen::of(&tap.stop())
}

#[test]
fn server_that_dies_first_is_to_blame_for_the_reset_of_its_client() {
    let seen = ended(&[800, 1000, 600, 900], Pair::lose_server);
    seen.assert_found(&["4 streams in a row are cut off: the connection was closed"]);
    seen.assert_first(
        &["FAILING", "server cuts off each stream: 4 times", "the connection was closed"],
        &["FAILING", "server cuts off each stream: 4 times"],
    );
}

#[test]
fn client_that_leaves_first_is_no_fault_of_the_server() {
    let seen = ended(&[300], Pair::lose_client);
    assert!(seen.status.starts_with("no problems"), "{}", seen.all());
    assert!(seen.findings.iter().all(|finding| finding["rule"] != "stream-rejected"), "{}", seen.all());
}

/// A recording that is still written is judged as of now: nothing has happened since the request.
#[test]
fn silence_is_a_problem_in_the_file_of_a_running_tap() {
    let limit = ["--resource-timeout", "1s"];
    let plane = TcpListener::bind("127.0.0.1:0").expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::start(folder.path(), plane.local_addr().expect("an address"), &limit);
    let pair = Pair::open(tap.address(), &plane);
    let live = Recording { file: tap.recording.clone() };
    wait_for("the request to be recorded", || tap.says("subscribe").then_some(()));
    let of_tap = wait_for("a problem in the file", || {
        live.answer("status", &limit).filter(|output| output.status.code() == Some(1))
    });
    let text = String::from_utf8_lossy(&of_tap.stdout).into_owned();
    assert!(text.starts_with("1 problem\nMISS"), "{text}");
    // The copy of the file has no writer, and lasts until its last event.
    let copy = tap.copy_of_recording().expect("a recording");
    assert_eq!(copy.run("status", &limit).status.code(), Some(0));
    drop(pair);
}

/// The listener of the tap expects TLS, and the client speaks plaintext.
#[test]
fn client_that_speaks_plaintext() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let ca = Ca::new(folder.path(), "ca");
    let own = ca.issue("tap", &["cp.test"]);
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    let (cert, key) = (text(&own.cert), text(&own.key));
    let address = server.local_addr().expect("an address");
    let tap = Tap::start(folder.path(), address, &["--listen-cert", &cert, "--listen-key", &key]);
    retry(tap.address(), 5, PAUSE, CLIENT_TIMEOUT);
    let seen = Seen::of(&tap.stop());
    seen.assert_found(&["5 attempts", "TLS"]);
    seen.assert_first(
        &["DOWN", "client can't connect, 5 attempts", "the client spoke plaintext"],
        &["DOWN", "client can't connect, 5 attempts"],
    );
}
