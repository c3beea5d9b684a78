//! Processes of kubectl, each in a process group of its own, all of which end with this process.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::net::lock;

/// Most forwards at once.
pub const MAX_FORWARDS: usize = 32;

/// The purpose of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessKind {
    /// Prints an answer and ends.
    Command,
    /// Runs until it is ended.
    Forward,
}

/// The processes that run.
struct Running {
    processes: Vec<(Pid, ProcessKind)>,
    /// Whether this process ends, and no other one may begin.
    is_over: bool,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { processes: Vec::new(), is_over: false });

/// Ends all processes at once, and lets none begin any more.
pub fn end_all() {
    let mut running = lock(&RUNNING);
    running.is_over = true;
    for (pid, _) in &running.processes {
        // Fails if the process has ended.
        let _ = kill_process_group(*pid, Signal::KILL);
    }
}

/// A process, which ends with this value.
pub(super) struct Process {
    child: Child,
    pid: Pid,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    /// There is no such program, or this process ends, or [`MAX_FORWARDS`] run already.
    pub(super) fn start(mut command: Command, kind: ProcessKind) -> io::Result<Process> {
        command.process_group(0);
        let mut running = lock(&RUNNING);
        if running.is_over {
            return Err(io::Error::other("xdscope ends"));
        }
        let forwards = running.processes.iter().filter(|(_, kind)| *kind == ProcessKind::Forward).count();
        if kind == ProcessKind::Forward && forwards >= MAX_FORWARDS {
            return Err(io::Error::other(format!("{MAX_FORWARDS} forwards run already")));
        }
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        running.processes.push((pid, kind));
        Ok(Process { child, pid })
    }

    /// Takes stdout and stderr.
    pub(super) fn pipes(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Returns whether the process has succeeded; `None` while it runs.
    pub(super) fn status(&mut self) -> Option<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(self.pid), look), Ok(None)) {
            return None;
        }
        // Its children may live on.
        self.end_group();
        Some(self.reap())
    }

    /// Ends the process group. Returns whether the process was not waited for yet.
    fn end_group(&self) -> bool {
        let running = lock(&RUNNING);
        let is_known = running.processes.iter().any(|(pid, _)| *pid == self.pid);
        if is_known {
            // Fails if the process has ended.
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
        is_known
    }

    /// Waits for the end of the process. Returns whether the process has succeeded.
    ///
    /// A process keeps its id until it is waited for. From then on the id may be that of another
    /// one, which [`end_all`] must not end.
    fn reap(&mut self) -> bool {
        // Fails for a process that was waited for before.
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let mut running = lock(&RUNNING);
        let status = self.child.wait();
        running.processes.retain(|(pid, _)| *pid != self.pid);
        status.is_ok_and(|status| status.success())
    }

    /// Ends the process and its children.
    pub(super) fn end(&mut self) {
        if self.end_group() {
            self.reap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
