//! `--attach` and `xdscope attach`: viewers elsewhere see what the session file has, and nobody else
//! does.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::sync::oneshot;
use tonic::transport::{Server, server::TcpIncoming};
use tonic::{Status, Streaming};
use xdscope::net::attach::FileBytes;
use xdscope_wire::pb::put_len_field;

use crate::support::certs::Ca;
use crate::support::grpc_server::{Handler, Responses, Streams};
use crate::support::misbehave::{Misbehaving, Play, play_client};
use crate::support::process::{Child, accepted};
use crate::support::raw_h2::{PREFACE, frame};
use crate::support::tap::{Tap, xdscope};
use crate::support::wait::wait_for;

/// A stream with an accepted and a refused push.
const SESSION: &str = "\
node n1
stream 1 ads
1 > cds
1 < cds v=1 n=1 [a b{eds}]
1 > cds v=1 n=1
1 < cds v=2 n=2 [a~2 b{eds} d]
1 > cds v=1 n=2 nack=\"bad\"
1 > lds
";

const MESSAGES: usize = 6;

/// A tap with viewers, and a server that it can forward to.
struct Run {
    folder: tempfile::TempDir,
    server: Misbehaving,
    tap: Tap,
    /// The SOURCE of viewers.
    source: String,
}

impl Run {
    fn start(attach: &str, args: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        Run::in_folder(folder, attach, args)
    }

    fn in_folder(folder: tempfile::TempDir, attach: &str, args: &[&str]) -> Run {
        let server = Misbehaving::start();
        let args = [&["--attach", attach], args].concat();
        let tap = Tap::start(folder.path(), server.address(), &args);
        let source = wait_for("the address for viewers", || {
            let log = tap.log();
            let line = log.lines().find_map(|line| line.split_once("xdscope attach "))?.1;
            Some(format!("attach:{line}"))
        });
        Run { folder, server, tap, source }
    }

    /// Starts a run that viewers reach by a socket.
    fn on_socket(args: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = format!("unix:{}", folder.path().join("view.sock").display());
        Run::in_folder(folder, &socket, args)
    }

    /// Starts a run whose viewers need the token `right`.
    fn with_token(args: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        std::fs::write(&file, "right\n").expect("a file");
        let file = file.to_str().expect("a path").to_owned();
        let args = [&["--attach-token-file", &file], args].concat();
        Run::in_folder(folder, "127.0.0.1:0", &args)
    }

    /// Plays the session, and calls `seen` while its streams are open.
    fn play<T>(&mut self, session: &str, seen: impl FnOnce(&Run) -> T) -> T {
        let listening = self.tap.address();
        thread::scope(|both| {
            let (done, played) = oneshot::channel();
            both.spawn(move || play_client(&Play::new("session", session), listening, played));
            self.server.play(&Play::new("session", session), true);
            let result = seen(self);
            // The client is gone if the script has ended with its message.
            let _ = done.send(());
            result
        })
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("a path").to_owned()
    }

    fn verb(&self, args: &[&str]) -> Output {
        verb(self.folder.path(), args)
    }

    /// The messages of a source, as `log` prints them.
    fn messages(&self, source: &str, args: &[&str]) -> Vec<String> {
        let output = self.verb(&[&["log", source, "-o", "jsonl"], args].concat());
        rows(&text(&output.stdout))
    }

    /// Waits until a viewer sees all messages.
    fn wait_for_messages(&self, count: usize, args: &[&str]) {
        wait_for("all messages", || (self.messages(&self.source, args).len() == count).then_some(()));
    }

    /// Starts a viewer that follows the session.
    fn follow(&self, source: &str, args: &[&str]) -> Child {
        let mut command: Command = xdscope(self.folder.path());
        command.args(["attach", source.strip_prefix("attach:").expect("a source"), "-o", "jsonl"]).args(args);
        let log = (1..).map(|n| self.folder.path().join(format!("viewer-{n}.log"))).find(|log| !log.exists());
        Child::start(&mut command, &log.expect("a name"))
    }
}

fn verb(folder: &Path, args: &[&str]) -> Output {
    xdscope(folder).args(args).output().expect("xdscope runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The messages among the lines of a log.
fn rows(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains("\"object\":\"message\",\"n\":")).map(str::to_owned).collect()
}

#[test]
fn viewers_see_what_the_session_file_has() {
    let mut run = Run::on_socket(&[]);
    let mut follower = run.follow(&run.source, &[]);
    run.play(SESSION, |run| {
        run.wait_for_messages(MESSAGES, &[]);
        let copy = run.tap.copy_of_recording().expect("a recording").file;
        let copy = copy.to_str().expect("a path");
        assert_eq!(run.messages(&run.source, &[]), run.messages(copy, &[]));
        for args in [&["get", "-o", "json"][..], &["lint", "-o", "json"], &["diff", "@start", "@end"]] {
            let of = |source: &str| {
                let output = run.verb(&[&args[..1], &[source], &args[1..]].concat());
                (output.status.code(), text(&output.stdout))
            };
            assert_eq!(of(&run.source), of(copy), "{args:?}");
        }
        let status = run.verb(&["status", &run.source]);
        assert_eq!(status.status.code(), Some(1), "{}", text(&status.stderr));
        assert!(text(&status.stdout).contains("NACK"), "{}", text(&status.stdout));
        let waits = run.verb(&["wait", &run.source, "nack"]);
        assert_eq!(waits.status.code(), Some(0), "{}", text(&waits.stderr));
        wait_for("a row of each message", || (rows(&follower.log()).len() >= MESSAGES).then_some(()));
        follower.assert_running();
    });
    let recording = run.tap.stop();
    assert_eq!(follower.finish(), Some(0), "the session is complete: {}", follower.log());
    let all = text(
        &verb(run.folder.path(), &["log", recording.file.to_str().expect("a path"), "-o", "jsonl"]).stdout,
    );
    assert_eq!(rows(&follower.log()), rows(&all));
    let left: Vec<_> = std::fs::read_dir(run.folder.path().join("xdscope")).into_iter().flatten().collect();
    assert!(left.iter().flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("attached-")));
}

#[test]
fn viewers_follow_a_session_in_several_files() {
    let mut run = Run::on_socket(&["--record-max", "1kB"]);
    let mut follower = run.follow(&run.source, &[]);
    const ROUNDS: usize = 5;
    for round in 1..=ROUNDS {
        run.play(SESSION, |run| run.wait_for_messages(round * MESSAGES, &[]));
    }
    let files = std::fs::read_dir(run.folder.path()).expect("a folder").flatten();
    assert!(files.filter(|file| file.file_name().to_string_lossy().starts_with("tap-")).count() > 1);
    run.tap.stop();
    assert_eq!(follower.finish(), Some(0), "{}", follower.log());
    assert_eq!(rows(&follower.log()).len(), ROUNDS * MESSAGES);
}

#[test]
fn only_viewers_with_the_token_see_the_session() {
    let run = Run::with_token(&[]);
    let (right, wrong) = (run.file("right", "right"), run.file("wrong", "rigth-token"));
    let refused = |args: &[&str], words: &[&str]| {
        let output = run.verb(&[&["status", &run.source], args].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!said.contains("rigth-token"), "{said}");
    };
    refused(&[], &["the token is missing", "--token-file FILE"]);
    refused(&["--token-file", &wrong], &["the token is wrong", "another token in"]);
    refused(&["--token-file", &right, "--insecure"], &["TLS"]);
    let output = run.verb(&["log", &run.source, "--token-file", &right]);
    assert_eq!(output.status.code(), Some(5), "no stream yet: {}", text(&output.stderr));
    // A client of xDS learns what the port is for.
    let address = run.source.strip_prefix("attach:").expect("a source");
    let client = run.verb(&["status", address, "--wait", "3s"]);
    assert!(text(&client.stderr).contains("for viewers"), "{}", text(&client.stderr));
    // A new token counts for the next viewer.
    run.file("token", "rigth-token");
    refused(&["--token-file", &right], &["the token is wrong"]);
}

#[test]
fn runs_refuse_to_show_a_session_to_everyone() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "right").expect("a file");
    let token = token.to_str().expect("a path");
    for (args, words) in [
        (&["--attach", "127.0.0.1:0"][..], "everyone who can connect"),
        (&["--attach", "0.0.0.0:0", "--attach-token-file", token], "without TLS"),
        (&["--attach", "127.0.0.1:0", "--attach-token-file", token, "--keep-secrets"], "has secrets"),
        (&["--attach", "unix:x.sock", "--no-record"], "--no-record"),
        (&["--attach", "127.0.0.1:0", "--attach-token-file", "gone"], "cannot read the token file"),
        (&["--attach", "nowhere"], "has no port"),
    ] {
        let output =
            verb(folder.path(), &[&["tap", "127.0.0.1:9", "--listen", "127.0.0.1:0"], args].concat());
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 5)) && said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn certificates_prove_both_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = Ca::new(folder.path(), "ca");
    let (own, viewer) = (ca.issue("run", &["127.0.0.1"]), ca.issue("viewer", &["viewer"]));
    let expired = ca.expired("expired", &["viewer"]);
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let flags = ["--attach-cert", &path(&own.cert), "--attach-key", &path(&own.key)].map(str::to_owned);
    let flags = [&flags[..], &["--attach-client-ca".to_owned(), path(&ca.file)]].concat();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut run = Run::start("127.0.0.1:0", &flags);
    let with = |cert: &Path, key: &Path| {
        [
            "--cacert".to_owned(),
            path(&ca.file),
            "--cert".to_owned(),
            path(cert),
            "--key".to_owned(),
            path(key),
        ]
    };
    let right = with(&viewer.cert, &viewer.key);
    let right: Vec<&str> = right.iter().map(String::as_str).collect();
    run.play(SESSION, |run| run.wait_for_messages(MESSAGES, &right));
    let old = with(&expired.cert, &expired.key);
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    for args in [&old[..], &["--cacert", right[1]], &["--plaintext"], &[]] {
        let output = run.verb(&[&["status", &run.source], args].concat());
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

/// A hop that can cut its connections.
struct Hop {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Hop {
    fn to(server: SocketAddr) -> Hop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let connections = open.clone();
        thread::spawn(move || {
            for client in accepted(listener) {
                let upstream = TcpStream::connect(server).expect("a server");
                let copy = |from: &TcpStream, to: &TcpStream| {
                    let (mut from, mut to) =
                        (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
                    thread::spawn(move || std::io::copy(&mut from, &mut to));
                };
                copy(&client, &upstream);
                copy(&upstream, &client);
                connections.lock().expect("the connections").extend([client, upstream]);
            }
        });
        Hop { address, open }
    }

    fn cut(&self) {
        for socket in self.open.lock().expect("the connections").drain(..) {
            // The other end may be gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn viewers_go_on_after_a_cut() {
    let mut run = Run::with_token(&[]);
    let address: SocketAddr =
        run.source.strip_prefix("attach:").expect("a source").parse().expect("an address");
    let hop = Hop::to(address);
    let token = run.file("sent", "right");
    let mut follower = run.follow(&format!("attach:{}", hop.address), &["--token-file", &token]);
    run.play(SESSION, |_| {
        wait_for("a row of each message", || (rows(&follower.log()).len() >= MESSAGES).then_some(()));
    });
    for round in 2..4 {
        hop.cut();
        wait_for("the loss", || (follower.log().matches("is lost").count() + 1 >= round).then_some(()));
        run.play(SESSION, |_| {
            let all = round * MESSAGES;
            wait_for("later messages", || (rows(&follower.log()).len() >= all).then_some(()));
        });
    }
    run.tap.stop();
    assert_eq!(follower.finish(), Some(0), "{}", follower.log());
    assert_eq!(rows(&follower.log()).len(), 3 * MESSAGES, "each message once");
}

#[test]
fn hostile_viewers_keep_nobody_out_and_cost_little() {
    let mut run = Run::with_token(&[]);
    let address: SocketAddr =
        run.source.strip_prefix("attach:").expect("a source").parse().expect("an address");
    let token = run.file("sent", "right");
    // Half a preface, garbage, HTTP/1, frames without a request, and nothing at all.
    let bad_stream = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &[0xff; 40])].concat();
    let bytes: [&[u8]; 5] = [&PREFACE[..9], &[0xff; 3000], b"GET / HTTP/1.1\r\n\r\n", &bad_stream, b""];
    let mut open = Vec::new();
    for n in 0..40 {
        let mut socket = TcpStream::connect(address).expect("a connection");
        // The run may close it at once.
        let _ = socket.write_all(bytes[n % bytes.len()]);
        open.push(socket);
    }
    // A viewer that stops reading.
    let stopped = run.follow(&run.source, &["--token-file", &token]);
    let signal = |name: &str| Command::new("kill").args([name, &stopped.id().to_string()]).status();
    signal("-STOP").expect("kill runs");
    run.play(SESSION, |run| run.wait_for_messages(MESSAGES, &["--token-file", &token]));
    signal("-CONT").expect("kill runs");
    wait_for("the rows of a viewer that goes on", || (rows(&stopped.log()).len() >= MESSAGES).then_some(()));
    let mut answer = Vec::new();
    open[2].set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
    // Ends with an error if the run resets the connection.
    let _ = open[2].read_to_end(&mut answer);
    assert!(text(&answer).contains("for viewers"), "{}", text(&answer));
}

#[test]
fn viewers_do_not_mix_the_sessions_of_two_runs() {
    let mut run = Run::on_socket(&[]);
    let mut follower = run.follow(&run.source, &[]);
    run.play(SESSION, |_| {
        wait_for("a row of each message", || (rows(&follower.log()).len() >= MESSAGES).then_some(()));
    });
    let Run { folder, server, tap, source } = run;
    drop(tap.kill());
    // The socket of a killed run stays.
    let socket = folder.path().join("view.sock");
    std::fs::remove_file(&socket).expect("a socket");
    let other =
        Tap::start(folder.path(), server.address(), &["--attach", &format!("unix:{}", socket.display())]);
    assert!(source.contains("view.sock"));
    assert_eq!(follower.finish(), Some(3));
    assert!(follower.log().contains("another session"), "{}", follower.log());
    drop(other);
}

/// A run that sends these messages to each viewer, then the status.
struct HostileRun {
    messages: Vec<Bytes>,
    status: Status,
}

impl Handler for HostileRun {
    fn stream(
        &self,
        _path: &str,
        _requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (messages, status) = (self.messages.clone(), self.status.clone());
        Box::pin(async move {
            for message in messages.into_iter().map(Ok).chain([Err(status)]) {
                // The viewer may be gone.
                let _ = responses.send(message).await;
            }
        })
    }
}

/// Runs `status` on such a run. Returns its exit code and its messages.
fn answer_to(run: HostileRun) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(Server::builder().serve_with_incoming(Streams::new(run), TcpIncoming::from(listener)));
    let token = folder.path().join("token");
    std::fs::write(&token, "own-secret-token").expect("a file");
    let token = token.to_str().expect("a path");
    let output = verb(folder.path(), &["status", &format!("attach:{address}"), "--token-file", token]);
    let said = text(&output.stderr);
    assert!(!said.contains("own-secret-token") && !said.contains('\u{1b}'), "{said}");
    let outside = folder.path().join("evil.xdsrec");
    assert!(!outside.exists() && output.stdout.is_empty());
    (output.status.code(), said)
}

#[test]
fn hostile_runs_harm_no_viewer() {
    let response = |field: u32, message: &[u8]| {
        let mut out = Vec::new();
        put_len_field(&mut out, field, message);
        Bytes::from(out)
    };
    let content = |offset: u64, bytes: &[u8]| {
        let file = "../../evil.xdsrec".to_owned();
        response(2, &FileBytes { file, offset, bytes: bytes.to_vec(), is_final: true }.encode_to_vec())
    };
    let current = response(3, &[]);
    let refusal = Status::unauthenticated("Bearer own-secret-token is \u{1b}[31mwrong");
    let gone = || Status::unavailable("gone");
    for (messages, status, code, words) in [
        (vec![], refusal, 3, "another token in"),
        (vec![Bytes::from_static(b"\xff\xff\xff")], gone(), 3, "is lost"),
        (vec![content(0, b"head"), content(9, b"gap"), current.clone()], gone(), 3, "left out a part"),
        (vec![content(u64::MAX, b"far"), current.clone()], gone(), 3, "left out a part"),
        (vec![content(0, b"no recording"), current], gone(), 5, "attach:"),
    ] {
        let (exit, said) = answer_to(HostileRun { messages, status });
        assert!(exit == Some(code) && said.contains(words), "{words}: {exit:?} {said}");
    }
}
