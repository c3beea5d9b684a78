//! A forward to a port of a pod: started when it is needed, and again after it has died or hung.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::command::{Kubectl, in_background};
use super::failure::{Failure, SharedTail};
use super::process::{Process, ProcessKind};
use crate::net::lock;

/// The time that kubectl may take to say that it forwards: it may have to sign in.
const START_TIMEOUT: Duration = Duration::from_secs(15);

/// The time that the last words of an ended kubectl may take.
const WORDS_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval at which a kubectl that begins is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The pause after the first failed start. Each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause after failed starts.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Bytes of the line that says which port was chosen.
const MAX_LINE_BYTES: u64 = 1 << 10;

/// The words of kubectl, in each of its versions:
/// `Forwarding from 127.0.0.1:40123 -> 15000`.
const BEGINNING: &str = "Forwarding from 127.0.0.1:";

/// A port of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardTarget {
    pub kubectl: Kubectl,
    pub namespace: String,
    pub pod: String,
    pub port: u16,
}

impl fmt::Display for ForwardTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k8s:{}/{}:{}", self.namespace, self.pod, self.port)
    }
}

/// A forward to a port of a pod. It ends with its last clone.
#[derive(Clone)]
pub struct Forward(Arc<Inner>);

struct Inner {
    target: ForwardTarget,
    state: Mutex<State>,
}

/// The process of a forward, and when to start the next one.
#[derive(Default)]
struct State {
    running: Option<RunningForward>,
    /// The last failed start, and the earliest time of the next one.
    failed: Option<(Failure, Instant)>,
    /// The pause after the next failed start.
    pause: Duration,
}

struct RunningForward {
    process: Process,
    local: SocketAddr,
    errors: SharedTail,
    /// Whether kubectl has written more errors than are read.
    is_flooded: Arc<AtomicBool>,
}

impl Forward {
    /// Creates a forward, without starting kubectl.
    pub fn new(target: ForwardTarget) -> Forward {
        let state = State { pause: FIRST_PAUSE, ..State::default() };
        Forward(Arc::new(Inner { target, state: Mutex::new(state) }))
    }

    /// Returns the port that is forwarded to.
    pub fn target(&self) -> &ForwardTarget {
        &self.0.target
    }

    /// Returns the local address of the forward, and starts kubectl if it does not run.
    ///
    /// # Errors
    /// kubectl does not forward. It is started again after a pause.
    pub(in crate::net) async fn local(&self) -> Result<SocketAddr, Failure> {
        let (send, receive) = tokio::sync::oneshot::channel();
        let forward = self.clone();
        // A thread, because a runtime waits at its end for what blocks on its own threads.
        std::thread::spawn(move || {
            // The connection may not be wanted any more.
            let _ = send.send(forward.started());
        });
        let lost = |_| Failure::new("port-forward", "the forward cannot be started".to_owned());
        receive.await.map_err(lost)?
    }

    /// Ends kubectl: what was reached through it does not answer. The next connection starts it.
    pub(in crate::net) fn restart(&self) {
        // The holder of the lock is starting kubectl.
        if let Ok(mut state) = self.0.state.try_lock() {
            state.running = None;
        }
    }

    /// Returns what kubectl has said about connections, if anything.
    pub(in crate::net) fn words(&self) -> Option<String> {
        let state = self.0.state.try_lock().ok()?;
        Some(state.running.as_ref()?.errors.text()).filter(|text| !text.is_empty())
    }

    /// Ends kubectl until the next connection.
    pub fn pause(&self) {
        lock(&self.0.state).running = None;
    }

    fn started(&self) -> Result<SocketAddr, Failure> {
        let mut state = lock(&self.0.state);
        if let Some(running) = &mut state.running {
            if running.process.status().is_none() && !running.is_flooded.load(Ordering::Relaxed) {
                return Ok(running.local);
            }
            let text = running.errors.text();
            tracing::warn!("the forward to {} ended: {text}; kubectl is started again", self.0.target);
            state.running = None;
        }
        if let Some((failure, at)) = &state.failed
            && Instant::now() < *at
        {
            return Err(failure.clone());
        }
        match start(&self.0.target) {
            Ok(running) => {
                let local = running.local;
                *state = State { running: Some(running), failed: None, pause: FIRST_PAUSE };
                Ok(local)
            }
            Err(failure) => {
                state.failed = Some((failure.clone(), Instant::now() + state.pause));
                state.pause = (state.pause * 2).min(MAX_PAUSE);
                Err(failure)
            }
        }
    }
}

/// Starts kubectl, and waits until it says which port it has chosen.
fn start(target: &ForwardTarget) -> Result<RunningForward, Failure> {
    const WHAT: &str = "port-forward";
    let fail = |text: String| Failure::new(WHAT, text);
    let args =
        ["port-forward", "--address=127.0.0.1", &format!("pod/{}", target.pod), &format!(":{}", target.port)]
            .map(str::to_owned);
    let command = target.kubectl.command(Some(&target.namespace), &args);
    let mut process =
        Process::start(command, ProcessKind::Forward).map_err(|error| Failure::not_started(WHAT, &error))?;
    let (Some(stdout), Some(stderr)) = process.pipes() else {
        return Err(fail("kubectl has no output".to_owned()));
    };
    let (send, lines) = channel();
    std::thread::spawn(move || read_lines(stdout, &send));
    let (errors, is_flooded) = (SharedTail::default(), Arc::new(AtomicBool::new(false)));
    let (shared, flooded) = (errors.clone(), is_flooded.clone());
    let said = in_background(move || {
        let has_end = shared.read(stderr);
        flooded.store(!has_end, Ordering::Relaxed);
    });
    let begun = Instant::now();
    let line = loop {
        match lines.recv_timeout(LOOK_INTERVAL) {
            Ok(line) => break line,
            Err(RecvTimeoutError::Timeout) if begun.elapsed() < START_TIMEOUT => {
                if !is_flooded.load(Ordering::Relaxed) && process.status().is_none() {
                    continue;
                }
            }
            Err(_) => {}
        }
        let is_late = begun.elapsed() >= START_TIMEOUT;
        process.end();
        let _ = said.recv_timeout(WORDS_TIMEOUT);
        let late = format!("no forward in {START_TIMEOUT:?}");
        return Err(fail(match (errors.text(), is_late) {
            (text, true) if text.is_empty() => late,
            (text, true) => format!("{late}: {text}"),
            (text, false) if text.is_empty() => "kubectl ended without a word".to_owned(),
            (text, false) => text,
        }));
    };
    let port = line.strip_prefix(BEGINNING).and_then(|rest| rest.split(' ').next()?.parse().ok());
    let Some(port) = port else {
        let line: String = line.chars().take(80).collect();
        return Err(fail(format!("not the port of a forward: {:?}", line.trim_end())));
    };
    Ok(RunningForward { process, local: (Ipv4Addr::LOCALHOST, port).into(), errors, is_flooded })
}

/// Sends the first line, and reads the others, so that kubectl is never blocked.
fn read_lines(stdout: ChildStdout, lines: &Sender<String>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
    if read.is_ok_and(|count| count > 0) {
        // A start that has timed out does not listen.
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
    }
    let mut rest = [0; 4096];
    while reader.read(&mut rest).is_ok_and(|count| count > 0) {}
}

impl fmt::Debug for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forward({})", self.0.target)
    }
}

impl PartialEq for Forward {
    fn eq(&self, other: &Forward) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Forward {}

impl Hash for Forward {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
