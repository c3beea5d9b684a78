//! xdscope as a tap between peers, and the output of its verbs about the recording.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use xdscope::net::tap::{self, Arms, Config, MAX_QUEUED_BYTES, Tls};
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::FaultSet;

use super::{
    process::{Child, free_port},
    wait::{PATIENCE, wait_for},
};

/// Returns the program under test, with a separate environment.
pub fn xdscope(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    command
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("TZ", "UTC")
        .env_remove("NO_COLOR");
    command
}

/// Starts a tap in this process: a listener for each upstream, with copies of the traffic.
pub fn relay(upstreams: &[SocketAddr]) -> tap::Tap {
    armed_relay(upstreams, None)
}

/// Bytes that the armed connections of such a tap may buffer.
const ARMED_BYTES: usize = 512 << 20;

/// Starts such a tap with faults.
pub fn armed_relay(upstreams: &[SocketAddr], faults: Option<FaultSet>) -> tap::Tap {
    let address = |text: String| text.parse().expect("an address");
    let map = |upstream: &SocketAddr| (address("127.0.0.1:0".into()), address(upstream.to_string()));
    let maps = upstreams.iter().map(map).collect();
    let config = Config {
        maps,
        queue: Some(MAX_QUEUED_BYTES),
        connect_timeout: PATIENCE,
        tls: Tls::default(),
        changes: None,
        arms: faults.map(|faults| Arms {
            faults: faults.into(),
            desk: None,
            schema: Schema::builtin(),
            memory: ARMED_BYTES,
        }),
    };
    tap::Tap::start(config).expect("a tap")
}

/// Returns the highest memory of a process so far, in bytes; `None` once it has ended.
pub fn peak_memory(process: u32) -> Option<usize> {
    process_memory(process, "VmHWM:")
}

/// Returns a figure about the memory of a process, in bytes; `None` once it has ended.
pub fn process_memory(process: u32, name: &str) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let figure = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"))?;
    Some(figure.trim().parse::<usize>().expect("a number") * 1024)
}

/// Returns the highest number of an attempt to connect that a client has shown so far.
///
/// A client shows its state several times a second: on busy cores it may skip an attempt.
pub fn attempts(shown: &str) -> u32 {
    let number = |rest: &str| rest.split_once(", next in ")?.0.parse().ok();
    shown.split("(attempt ").skip(1).filter_map(number).max().unwrap_or(0)
}

/// A running `xdscope tap`, or `xdscope serve`.
pub struct Tap {
    child: Child,
    address: SocketAddr,
    pub recording: PathBuf,
}

/// Whether a text has these words in this order, on one line or on several.
pub fn has_words(text: &str, words: &str) -> bool {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined(text).contains(&joined(words))
}

impl Tap {
    /// Starts a tap in front of `upstream`, recording into `folder`.
    pub fn start(folder: &Path, upstream: SocketAddr, args: &[&str]) -> Self {
        // A restarted tap needs the port again.
        Self::run(folder, "tap", &upstream.to_string(), &format!("127.0.0.1:{}", free_port()), args)
    }

    /// Kills the tap, and starts one without flags in its place, recording into `folder`.
    pub fn restart(&mut self, folder: &Path, upstream: SocketAddr) {
        self.child.kill();
        std::fs::create_dir_all(folder).expect("a folder");
        *self = Self::run(folder, "tap", &upstream.to_string(), &self.address.to_string(), &[]);
    }

    /// Starts a control plane from `source`, recording into `folder`.
    pub fn serve(folder: &Path, source: &Path, args: &[&str]) -> Self {
        Self::run(folder, "serve", source.to_str().expect("a path"), "127.0.0.1:0", args)
    }

    fn run(folder: &Path, verb: &str, source: &str, listen: &str, args: &[&str]) -> Self {
        let recording = folder.join(format!("{verb}.xdsrec"));
        let mut command = xdscope(folder);
        command.args([verb, source, "--listen", listen, "--no-tui", "--force", "--record"]);
        command.arg(&recording).args(args);
        let mut child = Child::start(&mut command, &folder.join(format!("{verb}.log")));
        let address = wait_for("xdscope to listen", || {
            child.assert_running();
            let log = child.log();
            let line = log.lines().find_map(|line| line.split_once("listening on "))?.1;
            line.split_whitespace().next()?.parse().ok()
        });
        Self { child, address, recording }
    }

    /// Returns the address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the output so far: a line for each event.
    pub fn log(&self) -> String {
        self.child.log()
    }

    /// Whether the output has these words, on one line or on several.
    pub fn says(&self, words: &str) -> bool {
        has_words(&self.log(), words)
    }

    /// Returns the CPU time so far of the thread that relays, in clock ticks.
    pub fn relay_ticks(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("a process");
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let relay = stats.filter_map(|stat| Some(stat.split_once("(tap) ")?.1.to_owned()));
        // The state is the third field, the times in user and system mode are the 14th and 15th.
        let ticks = |stat: String| {
            let fields = stat.split_whitespace().skip(11).take(2);
            fields.map(|ticks| ticks.parse::<u64>().expect("a number")).sum::<u64>()
        };
        relay.map(ticks).sum()
    }

    /// Returns the highest memory of the process so far, in bytes.
    pub fn peak_memory(&self) -> usize {
        peak_memory(self.child.id()).expect("a peak")
    }

    /// Returns the memory without the pages of the program file.
    pub fn own_memory(&self) -> usize {
        process_memory(self.child.id(), "RssAnon:").expect("its memory")
    }

    /// Waits until the run ends by itself. Returns the exit code and the recording.
    pub fn wait(mut self) -> (Option<i32>, Recording) {
        (self.child.finish(), Recording { file: self.recording })
    }

    /// Copies the recording so far; `None` while it has no message and is not a source.
    pub fn copy_of_recording(&self) -> Option<Recording> {
        let folder = self.recording.parent().expect("a folder");
        let copy = folder.join("copy.xdsrec");
        std::fs::copy(&self.recording, &copy).expect("a copy");
        let recording = Recording { file: copy };
        recording.answer("status", &[]).is_some().then_some(recording)
    }

    /// Sends SIGINT and waits for the end.
    pub fn stop(self) -> Recording {
        self.child.interrupt();
        Recording { file: self.recording }
    }

    /// Kills the process without a chance to clean up.
    pub fn kill(self) -> Recording {
        drop(self.child);
        Recording { file: self.recording }
    }
}

/// Whether a verb read its source: exit code 1 says that the source has problems.
fn has_answer(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 1))
}

/// A session file, read by the program's own verbs.
pub struct Recording {
    pub file: PathBuf,
}

impl Recording {
    /// Runs `xdscope VERB FILE ARGS`.
    pub fn run(&self, verb: &str, args: &[&str]) -> Output {
        let output = self.output(verb, args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(has_answer(&output), "{verb} {args:?}: {:?} {error}", output.status.code());
        output
    }

    /// Runs `xdscope VERB FILE ARGS`; `None` while the file has no message and is not a source.
    pub fn answer(&self, verb: &str, args: &[&str]) -> Option<Output> {
        Some(self.output(verb, args)).filter(has_answer)
    }

    fn output(&self, verb: &str, args: &[&str]) -> Output {
        let folder = self.file.parent().expect("a folder");
        xdscope(folder).arg(verb).arg(&self.file).args(args).output().expect("xdscope runs")
    }

    /// Runs a verb and returns its output as text.
    pub fn text(&self, verb: &str, args: &[&str]) -> String {
        String::from_utf8(self.run(verb, args).stdout).expect("text")
    }

    /// Returns the JSON objects that a verb prints.
    pub fn objects(&self, verb: &str, args: &[&str]) -> Vec<Value> {
        let text = self.text(verb, &[args, &["-o", "jsonl"]].concat());
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// Returns all messages in order.
    pub fn messages(&self) -> Vec<Value> {
        self.objects("log", &[]).into_iter().filter(|object| object["n"].is_number()).collect()
    }

    /// Returns the states of all types and streams.
    pub fn states(&self, args: &[&str]) -> Vec<Value> {
        let objects = self.objects("status", args).into_iter();
        objects.filter(|object| object["object"] == "state").collect()
    }

    /// Returns the state of one type on its newest stream.
    pub fn state(&self, kind: &str) -> Value {
        let states = self.states(&[]);
        let of_kind = |state: &&Value| state["type"] == kind;
        states.iter().rfind(of_kind).unwrap_or_else(|| panic!("no {kind} in {states:?}")).clone()
    }
}
