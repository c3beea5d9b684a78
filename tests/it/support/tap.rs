//! xdscope itself, as a tap between peers, and its answers about what it recorded.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use xdscope::net::tap::{self, Config, MAX_QUEUED_BYTES, Tls};

use super::{
    process::Child,
    wait::{PATIENCE, wait_for},
};

/// The program under test, with an environment of its own.
pub fn xdscope(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    command
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("TZ", "UTC")
        .env_remove("NO_COLOR");
    command
}

/// A tap in this process: a listener in front of each of these, and copies of what passes.
pub fn relay(upstreams: &[SocketAddr]) -> tap::Tap {
    let address = |text: String| text.parse().expect("an address");
    let map = |upstream: &SocketAddr| (address("127.0.0.1:0".into()), address(upstream.to_string()));
    let maps = upstreams.iter().map(map).collect();
    let config = Config {
        maps,
        queue: Some(MAX_QUEUED_BYTES),
        connect_timeout: PATIENCE,
        tls: Tls::default(),
        changes: None,
    };
    tap::Tap::start(config).expect("a tap")
}

/// A running `xdscope tap`, or `xdscope serve`.
pub struct Tap {
    child: Child,
    address: SocketAddr,
    pub recording: PathBuf,
}

impl Tap {
    /// Starts a tap in front of `upstream`, recording into `folder`.
    pub fn start(folder: &Path, upstream: SocketAddr, args: &[&str]) -> Self {
        Self::run(folder, "tap", &upstream.to_string(), args)
    }

    /// Starts a control plane from `source`, recording into `folder`.
    pub fn serve(folder: &Path, source: &Path, args: &[&str]) -> Self {
        Self::run(folder, "serve", source.to_str().expect("a path"), args)
    }

    fn run(folder: &Path, verb: &str, source: &str, args: &[&str]) -> Self {
        let recording = folder.join(format!("{verb}.xdsrec"));
        let mut command = xdscope(folder);
        command.args([verb, source, "--listen", "127.0.0.1:0", "--no-tui", "--record"]);
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

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has printed so far: a line per event.
    pub fn log(&self) -> String {
        self.child.log()
    }

    /// Ends it as Ctrl-C does, and waits until it has.
    pub fn stop(self) -> Recording {
        self.child.interrupt();
        Recording { file: self.recording }
    }

    /// Kills it: no part of it can do anything any more.
    pub fn kill(self) -> Recording {
        drop(self.child);
        Recording { file: self.recording }
    }
}

/// A session file, asked through the program's own verbs.
pub struct Recording {
    pub file: PathBuf,
}

impl Recording {
    /// Runs `xdscope VERB FILE ARGS`.
    pub fn run(&self, verb: &str, args: &[&str]) -> Output {
        let folder = self.file.parent().expect("a folder");
        let output = xdscope(folder).arg(verb).arg(&self.file).args(args).output().expect("xdscope runs");
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 1)),
            "{verb} {args:?}: {code:?} {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    /// The same, as text.
    pub fn text(&self, verb: &str, args: &[&str]) -> String {
        String::from_utf8(self.run(verb, args).stdout).expect("text")
    }

    /// The objects that a verb prints.
    pub fn objects(&self, verb: &str, args: &[&str]) -> Vec<Value> {
        let text = self.text(verb, &[args, &["-o", "jsonl"]].concat());
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// All messages, in order.
    pub fn messages(&self) -> Vec<Value> {
        self.objects("log", &[]).into_iter().filter(|object| object["n"].is_number()).collect()
    }

    /// The state of one type on the newest stream that has it.
    pub fn state(&self, kind: &str) -> Value {
        let states = self.objects("status", &[]);
        let of_kind = |state: &&Value| state["object"] == "state" && state["type"] == kind;
        states.iter().rfind(of_kind).unwrap_or_else(|| panic!("no {kind} in {states:?}")).clone()
    }
}
