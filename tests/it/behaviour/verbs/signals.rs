//! Signals end a run in any state, after its traffic is recorded; others do not end it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::behaviour::verbs::screen::Terminal;
use crate::support::process::{Child, accepted, free_port};
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message};
use crate::support::tap::{Recording, xdscope};
use crate::support::wait::{pass, wait_for};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A control plane that reads everything and answers nothing.
struct Sink {
    address: SocketAddr,
    read: Arc<AtomicUsize>,
}

impl Sink {
    fn start() -> Sink {
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
        Sink { address, read }
    }
}

/// A client of a tap in front of a [`Sink`].
struct Client<'a> {
    stream: TcpStream,
    sink: &'a Sink,
    sent: usize,
    messages: usize,
}

impl Client<'_> {
    fn connect(tap: SocketAddr, sink: &Sink) -> Client<'_> {
        let stream = wait_for("the tap to listen", || TcpStream::connect(tap).ok());
        let mut client = Client { stream, sink, sent: sink.read.load(Ordering::Relaxed), messages: 0 };
        client.write(&[PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat());
        client
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the tap reads");
        self.sent += bytes.len();
    }

    /// Sends a request, and waits until the control plane has got everything.
    fn request(&mut self) {
        self.messages += 1;
        let name = format!("cluster-{}", self.messages);
        self.write(&message(1, false, &[field(4, CLUSTER), field(3, &name)].concat()));
        wait_for("the control plane to get every byte", || {
            (self.sink.read.load(Ordering::Relaxed) == self.sent).then_some(())
        });
    }
}

/// A tap with screens on a terminal.
struct ScreenTap {
    terminal: Terminal,
    address: SocketAddr,
    recording: PathBuf,
}

impl ScreenTap {
    fn start(folder: &Path, server: SocketAddr, args: &[&str]) -> ScreenTap {
        let recording = folder.join("session.xdsrec");
        let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().expect("an address");
        let (server, listen) = (server.to_string(), address.to_string());
        let file = recording.to_str().expect("a path");
        let fixed = ["tap", &server, "--listen", &listen, "--record", file];
        let terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &[&fixed, args].concat());
        ScreenTap { terminal, address, recording }
    }

    fn recorded(&self) -> usize {
        Recording { file: self.recording.clone() }.messages().len()
    }
}

/// Sizes of a terminal, each of which has the screens drawn again in full, and the time between
/// two: more frames than a terminal holds.
const SIZES: u16 = 150;
const SIZE_TIME: Duration = Duration::from_millis(20);

#[test]
fn signals_end_a_tap_whose_terminal_nobody_reads() {
    let sink = Sink::start();
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tap = ScreenTap::start(folder.path(), sink.address, &[]);
        tap.terminal.until("Listening on");
        let mut client = Client::connect(tap.address, &sink);
        client.request();
        let gate = tap.terminal.gate();
        let unread = gate.lock().expect("the gate");
        for size in 0..SIZES {
            tap.terminal.resize(180 + size % 7, 50);
            pass(SIZE_TIME);
        }
        (0..20).for_each(|_| client.request());
        tap.terminal.signal(signal);
        assert_eq!(tap.terminal.end(), code, "{signal}");
        tap.terminal.assert_modes_restored();
        assert_eq!(tap.recorded(), client.messages, "{signal}");
        drop(unread);
    }
}

#[test]
fn screens_go_on_once_the_terminal_is_read_again() {
    let sink = Sink::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mut tap = ScreenTap::start(folder.path(), sink.address, &[]);
    tap.terminal.until("Listening on");
    let gate = tap.terminal.gate();
    let unread = gate.lock().expect("the gate");
    for size in 0..SIZES {
        tap.terminal.resize(180 + size % 7, 50);
        pass(SIZE_TIME);
    }
    tap.terminal.press("3");
    drop(unread);
    tap.terminal.until("[3 Timeline]");
    tap.terminal.signal("TERM");
    assert_eq!(tap.terminal.end(), 143);
    tap.terminal.assert_restored();
}

#[test]
fn sigterm_ends_a_tap_that_waits_for_a_pipe() {
    let sink = Sink::start();
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("applied.json");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("a pipe");
    let args = ["--drain", "2s", "--applied", pipe.to_str().expect("a path")];
    let mut tap = ScreenTap::start(folder.path(), sink.address, &args);
    let mut client = Client::connect(tap.address, &sink);
    (0..20).for_each(|_| client.request());
    tap.terminal.signal("TERM");
    assert_eq!(tap.terminal.end(), 143);
    tap.terminal.assert_restored();
    assert_eq!(tap.recorded(), client.messages);
}

/// Attempts to meet the event loop at work. The screens reported a crash in one of twenty.
const QUIT_ATTEMPTS: u16 = 12;

#[test]
fn sigquit_restores_the_terminal() {
    // A core dump would stay in the folder of the tests.
    let demo = format!("ulimit -c 0; exec {} demo --no-record", env!("CARGO_BIN_EXE_xdscope"));
    for attempt in 0..QUIT_ATTEMPTS {
        let mut terminal = Terminal::start("sh", &["-c", &demo]);
        terminal.until("edge-gw-1");
        // The signal comes while frames are drawn: the event loop may look at the terminal between
        // its restoration and the end.
        for size in 0..=attempt {
            terminal.resize(100 + size % 5, 30);
        }
        terminal.signal("QUIT");
        assert_eq!(
            terminal.end_by_signal().as_deref(),
            Some("Quit"),
            "attempt {attempt}: {}",
            terminal.text()
        );
        terminal.assert_restored();
        let text = terminal.text();
        assert!(!text.contains("ended the screens"), "attempt {attempt}: {text}");
    }
}

#[test]
fn other_signals_do_not_end_a_tap() {
    let sink = Sink::start();
    let folder = tempfile::tempdir().expect("a folder");
    let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().expect("an address");
    let mut command = xdscope(folder.path());
    command.args(["tap", &sink.address.to_string(), "--listen", &address.to_string(), "--no-tui"]);
    command.arg("--no-record");
    let mut child = Child::start(&mut command, &folder.path().join("log"));
    let mut client = Client::connect(address, &sink);
    // The signals are watched before the tap listens.
    for signal in ["USR1", "USR2", "ALRM"] {
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{signal}");
        client.request();
        child.assert_running();
    }
    child.interrupt();
}
