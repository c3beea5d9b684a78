//! Readers of stdout and stderr that block or leave: traffic and recording go on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::process::{Child, accepted};
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message};
use crate::support::tap::xdscope;
use crate::support::wait::wait_for;

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A server that reads all connections, and the number of bytes so far.
fn sink() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    std::thread::spawn(move || {
        for mut stream in accepted(listener) {
            let count = count.clone();
            std::thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    count.fetch_add(read, Ordering::Relaxed);
                }
            });
        }
    });
    (address, read)
}

/// Returns a run of `verb` with a session file, whose port is not known yet.
fn command(folder: &Path, verb: &str, source: &str, args: &[&str]) -> (Command, PathBuf) {
    let recording = folder.join("session.xdsrec");
    let mut command = xdscope(folder);
    command.args([verb, source, "--listen", "127.0.0.1:0", "--no-tui", "-o", "jsonl", "--record"]);
    command.arg(&recording).args(args);
    (command, recording)
}

/// A run with a pipe as stdout.
struct Run {
    child: Child,
    output: Option<ChildStdout>,
    address: SocketAddr,
    recording: PathBuf,
}

impl Run {
    fn start(folder: &Path, verb: &str, source: &str) -> Run {
        // On a busy machine the analysis waits for other programs.
        let args: &[&str] = if verb == "tap" { &["--drain", "150s"] } else { &[] };
        let (mut command, recording) = command(folder, verb, source, args);
        let (child, output) = Child::start_piped(&mut command, &folder.join("stderr"));
        let address = wait_for("xdscope to listen", || listening(&child.log()));
        Run { child, output: Some(output), address, recording }
    }
}

fn listening(log: &str) -> Option<SocketAddr> {
    let line = log.lines().find_map(|line| line.split_once("listening on "))?.1;
    line.split_whitespace().next()?.parse().ok()
}

/// Opens an ADS stream.
fn connect(address: SocketAddr) -> (TcpStream, usize) {
    let mut client = TcpStream::connect(address).expect("a connection");
    let start = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat();
    client.write_all(&start).expect("xdscope reads");
    (client, start.len())
}

/// Returns a request for a resource with this name.
fn request(name: &str) -> Vec<u8> {
    let mut names = vec![0x1a];
    let mut len = name.len();
    while len >= 128 {
        names.push(len as u8 | 128);
        len >>= 7;
    }
    names.push(len as u8);
    names.extend(name.as_bytes());
    message(1, false, &[field(4, CLUSTER), names].concat())
}

fn messages(recording: &Path) -> usize {
    let folder = recording.parent().expect("a folder");
    let log = xdscope(folder).arg("log").arg(recording).args(["-o", "jsonl"]).output().expect("xdscope runs");
    log.stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| line.windows(4).any(|four| four == b"\"n\":"))
        .count()
}

#[test]
fn blocked_stdout_drops_events_and_records_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, read) = sink();
    let run = Run::start(folder.path(), "tap", &server.to_string());
    let (mut client, mut sent) = connect(run.address);
    // More lines than the pipe and the queue hold, and a name that no other request has.
    for n in 0..200 {
        let bytes = request(&format!("{n:060000}"));
        client.write_all(&bytes).expect("the tap reads");
        sent += bytes.len();
    }
    wait_for("the server to get every byte", || (read.load(Ordering::Relaxed) == sent).then_some(()));
    let log = folder.path().join("stderr");
    run.child.interrupt();
    let log = std::fs::read_to_string(log).expect("stderr");
    let line = log.lines().find(|line| line.contains("not printed: stdout was blocked"));
    let dropped =
        line.and_then(|line| line.split_whitespace().nth(1)?.replace(',', "").parse::<usize>().ok());
    // The opening of the stream and findings are events too.
    assert!(dropped.is_some_and(|dropped| (1..=210).contains(&dropped)), "{log}");
    assert_eq!(messages(&run.recording), 200);
    // The lines that the pipe has got are whole, or cut at its end.
    let mut output = String::new();
    run.output.expect("a pipe").read_to_string(&mut output).expect("text");
    let ends = output.lines().filter(|line| line.starts_with('{') && line.ends_with('}')).count();
    assert!(output.lines().count() - ends <= 1, "{} of {} lines", ends, output.lines().count());
}

/// Reads one line of a run and closes its stdout, as `head -1` does.
#[track_caller]
fn close_after_one_line(mut run: Run, what: &str) {
    let (mut client, _) = connect(run.address);
    client.write_all(&request("first")).expect("xdscope reads");
    let mut output = BufReader::new(run.output.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert!(line.starts_with('{'), "{line}");
    drop(output);
    for name in ["second", "third"] {
        client.write_all(&request(name)).expect("xdscope reads");
        wait_for("the message about stdout", || run.child.log().contains("stdout is closed").then_some(()));
    }
    client.write_all(&request("last")).expect("xdscope reads");
    wait_for("the last request in the recording", || {
        let folder = run.recording.parent().expect("a folder");
        let log = xdscope(folder).arg("log").arg(&run.recording).args(["-o", "jsonl"]).output();
        String::from_utf8_lossy(&log.expect("xdscope runs").stdout).contains("\"last\"").then_some(())
    });
    run.child.assert_running();
    let log = run.child.log();
    assert_eq!(log.matches("stdout is closed").count(), 1, "{log}");
    assert!(log.contains(what), "{log}");
    run.child.interrupt();
}

#[test]
fn closed_stdout_does_not_end_a_tap() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, _) = sink();
    let run = Run::start(folder.path(), "tap", &server.to_string());
    close_after_one_line(run, "traffic and recording go on");
}

#[test]
fn closed_stdout_does_not_end_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), "serve", "examples/nack.xds");
    close_after_one_line(run, "serving and recording go on");
}

#[test]
fn closed_stdout_ends_a_client_without_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Run::start(folder.path(), "serve", "examples/nack.xds");
    let mut watch = xdscope(folder.path());
    watch.args(["watch", &server.address.to_string(), "-o", "jsonl", "--no-record"]);
    let (mut child, output) = Child::start_piped(&mut watch, &folder.path().join("watch"));
    drop(output);
    assert_eq!(child.finish(), Some(0));
    assert_eq!(child.log(), "");
}

#[test]
fn blocked_stderr_does_not_stop_a_tap() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, read) = sink();
    let (mut command, recording) = command(folder.path(), "tap", &server.to_string(), &["--verbose"]);
    let (child, errors) = Child::start_mute(&mut command, &folder.path().join("stdout"));
    let mut errors = BufReader::new(errors);
    let mut address = None;
    while address.is_none() {
        let mut line = String::new();
        assert!(errors.read_line(&mut line).expect("stderr") > 0, "xdscope listens");
        address = listening(&line);
    }
    let address = address.expect("an address");
    // Each connection writes lines to stderr, which nobody reads any more.
    let mut sent = 0;
    for number in 0..2_000 {
        let (_, bytes) = connect(address);
        sent += bytes;
        if number % 50 == 0 {
            wait_for("the server to get every byte so far", || {
                (read.load(Ordering::Relaxed) == sent).then_some(())
            });
        }
    }
    let (mut client, bytes) = connect(address);
    let last = request("last");
    client.write_all(&last).expect("the tap reads");
    sent += bytes + last.len();
    wait_for("the server to get every byte", || (read.load(Ordering::Relaxed) == sent).then_some(()));
    child.interrupt();
    assert_eq!(messages(&recording), 1);
}

#[test]
fn messages_on_stderr_are_written_at_once() {
    let (read, write) = UnixDatagram::pair().expect("a pair of sockets");
    read.set_nonblocking(true).expect("a socket");
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = xdscope(folder.path());
    command.args(["status", "missing.xdsrec"]).stderr(OwnedFd::from(write));
    assert!(!command.status().expect("xdscope runs").success());
    let mut bytes = [0; 4096];
    let mut written = Vec::new();
    while let Ok(size) = read.recv(&mut bytes) {
        written.push(String::from_utf8_lossy(&bytes[..size]).into_owned());
    }
    assert!(!written.is_empty());
    assert!(written.iter().all(|text| text.ends_with('\n')), "{written:?}");
}
