//! A hop in a separate process, seen from outside.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use xdscope::app::process::allocator;

/// A hop in a separate process.
pub struct Hop {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The address of the first listener.
    pub address: SocketAddr,
    pub addresses: Vec<SocketAddr>,
}

impl Hop {
    /// Starts this program with other words, and waits for its addresses.
    pub fn start(words: &[String]) -> Hop {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(words)
            // As the program does for itself.
            .env(allocator::VARIABLE, allocator::BYTES)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a hop");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("an address");
        let addresses: Vec<_> =
            line.split_whitespace().map(|address| address.parse().expect("an address")).collect();
        Hop { child, out, address: addresses[0], addresses }
    }

    /// Returns the number of entries of a folder in `/proc/PID`.
    pub fn count(&self, folder: &str) -> usize {
        std::fs::read_dir(format!("/proc/{}/{folder}", self.child.id())).map_or(0, Iterator::count)
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }

    /// Returns a line of `/proc/PID/status` in megabytes.
    pub fn memory(&self, key: &str) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
        line.trim_start_matches(':')
            .split_whitespace()
            .next()
            .and_then(|n| n.parse::<f64>().ok())
            .unwrap_or(0.0)
            / 1000.0
    }

    /// Returns the CPU seconds of all live threads.
    pub fn cpu(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("a process");
        let run = tasks.flatten().map(|task| {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0)
        });
        run.sum::<f64>() / 1e9
    }

    pub fn forget_peak(&self) {
        // Without this reset the peak since the start counts, which is higher.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    /// Lets the hop finish and returns its last output.
    pub fn stop(mut self) -> String {
        drop(self.child.stdin.take());
        let mut said = String::new();
        let _ = self.out.read_line(&mut said);
        let _ = self.child.wait();
        said.trim().to_owned()
    }
}
