//! Commands of kubectl, which print an answer and end.

use std::io::Read;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::failure::{Failure, SharedTail};
use super::process::{Process, ProcessKind};

/// The program, which is looked for in `PATH`.
const PROGRAM: &str = "kubectl";

/// The time that a command may take that is not a forward.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// Most bytes of the answer of a command: the pods of a large cluster.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// The time that the output of an ended process may still take.
const PIPE_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval at which a running command is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// `kubectl` with the flags that choose a cluster and a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubectl {
    /// The context of its configuration. `None`: the current one.
    pub context: Option<String>,
    /// The user to act as (`kubectl --as`).
    pub user: Option<String>,
}

impl Kubectl {
    /// Returns a command with the flags that choose a cluster and a user.
    pub(super) fn command(&self, namespace: Option<&str>, args: &[String]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args);
        for (flag, value) in
            [("context", self.context.as_deref()), ("as", self.user.as_deref()), ("namespace", namespace)]
        {
            if let Some(value) = value {
                command.arg(format!("--{flag}={value}"));
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command, and returns what it prints. `is_over` ends it.
    ///
    /// # Errors
    /// `kubectl` is missing, fails, takes too long, or prints too much.
    pub(super) fn answer(
        &self,
        namespace: Option<&str>,
        args: &[String],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Failure> {
        let what = args.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
        let fail = |text: String| Failure::new(&what, text);
        let begun = Instant::now();
        let mut process = Process::start(self.command(namespace, args), ProcessKind::Command)
            .map_err(|error| Failure::not_started(&what, &error))?;
        let (Some(stdout), Some(stderr)) = process.pipes() else {
            return Err(fail("kubectl has no output".to_owned()));
        };
        let answer = in_background(move || read_answer(stdout));
        let tail = SharedTail::default();
        let shared = tail.clone();
        let errors = in_background(move || shared.read(stderr));
        let said = || {
            // A child of kubectl may hold the pipe.
            let _ = errors.recv_timeout(PIPE_TIMEOUT);
            tail.text()
        };
        let is_done = loop {
            if let Some(is_done) = process.status() {
                break is_done;
            }
            if is_over() {
                return Err(fail("xdscope ends".to_owned()));
            }
            if begun.elapsed() >= COMMAND_TIMEOUT {
                process.end();
                let why = format!("no answer in {COMMAND_TIMEOUT:?}");
                return Err(fail(match said() {
                    text if text.is_empty() => why,
                    text => format!("{why}: {text}"),
                }));
            }
            std::thread::sleep(LOOK_INTERVAL);
        };
        if !is_done {
            return Err(fail(match said() {
                text if text.is_empty() => "kubectl failed without a word".to_owned(),
                text => text,
            }));
        }
        match answer.recv_timeout(PIPE_TIMEOUT) {
            Ok(Ok(answer)) if answer.len() as u64 <= MAX_ANSWER_BYTES => Ok(answer),
            Ok(Ok(_)) => Err(fail(format!("the answer has more than {} MB", MAX_ANSWER_BYTES >> 20))),
            Ok(Err(error)) => Err(fail(error.to_string())),
            Err(_) => Err(fail("the answer has no end".to_owned())),
        }
    }

    /// Gets an object or a list of objects in JSON: `get pods`.
    ///
    /// # Errors
    /// As for any command.
    pub fn get(
        &self,
        namespace: Option<&str>,
        what: &[&str],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Failure> {
        let args = ["get"].iter().chain(what).chain(&["--output=json"]);
        let args: Vec<String> = args.map(|word| (*word).to_owned()).collect();
        self.answer(namespace, &args, is_over)
    }
}

fn read_answer(stdout: ChildStdout) -> std::io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    stdout.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Runs on a thread, and returns what receives the result.
pub(super) fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        // Nobody may wait for it any more.
        let _ = send.send(work());
    });
    receive
}
