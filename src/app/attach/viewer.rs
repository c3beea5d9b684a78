//! A viewer of a run: a thread that keeps copies of its session files up to date.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::mirror::{FIRST_OF_SESSION, Mirror};
use crate::app::live_copy::{CopyState, LiveCopy, STOP_INTERVAL};
use crate::net::attach::{AttachError, AttachOptions, Event, FollowRequest, PROTOCOL_VERSION, follow};

/// The shortest and the longest time between two attempts to reach a run.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// How long a run that has just started may take to write its first bytes.
const FIRST_CONTENT_TIME: Duration = Duration::from_secs(5);

/// The reason why a viewer cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    #[error("cannot keep a copy of the session")]
    Folder(#[source] io::Error),
    #[error(transparent)]
    Run(#[from] AttachError),
    #[error("{0}")]
    Stopped(String),
    #[error("the run has recorded nothing yet")]
    Nothing,
}

/// Copies the session of a run, and waits until all that is written was copied.
///
/// `parent` is the folder for copies. The viewer goes on copying if `goes_on`.
///
/// # Errors
/// The run cannot be reached, refuses the viewer, or has recorded nothing.
pub fn attach(
    name: String,
    options: AttachOptions,
    parent: Option<&Path>,
    goes_on: bool,
) -> Result<LiveCopy, ViewerError> {
    let mirror = Mirror::create(parent).map_err(ViewerError::Folder)?;
    let folder = mirror.folder().to_owned();
    let shared = Arc::new(CopyState::default());
    let (send, begun) = channel();
    let viewer =
        Viewer { options, mirror, session: None, shared: shared.clone(), begun: Some(send), goes_on };
    let thread = std::thread::Builder::new().name("attach".into()).spawn(move || viewer.run());
    let thread = thread.map_err(ViewerError::Folder)?;
    let path = folder.join(FIRST_OF_SESSION);
    let session = LiveCopy::new(name, path, shared, Some(thread));
    let deadline = Instant::now() + FIRST_CONTENT_TIME;
    loop {
        match begun.recv_timeout(STOP_INTERVAL) {
            Ok(result) => return result.map(|()| session),
            // The run is reached, and its size decides how long the copy takes.
            Err(RecvTimeoutError::Timeout) if has_content(&folder) => {}
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(_) => return Err(ViewerError::Nothing),
        }
    }
}

fn has_content(folder: &Path) -> bool {
    xdscope_sources::size_of(folder) > 0
}

/// The work of the thread.
struct Viewer {
    options: AttachOptions,
    mirror: Mirror,
    /// The session that the copies are of.
    session: Option<u64>,
    shared: Arc<CopyState>,
    /// Receives the result of the first attempt.
    begun: Option<Sender<Result<(), ViewerError>>>,
    goes_on: bool,
}

/// How an attempt ended.
enum Attempt {
    /// The run has ended, or nobody wants more.
    Done,
    Again(String),
    Never(String),
}

impl Viewer {
    fn run(mut self) {
        let mut wait = FIRST_RETRY;
        loop {
            let before = self.mirror.have();
            let (why, is_last) = match self.attempt() {
                Attempt::Done => break,
                Attempt::Again(why) => (why, false),
                Attempt::Never(why) => (why, true),
            };
            if let Some(begun) = self.begun.take() {
                // The receiver may be gone.
                let _ = begun.send(Err(ViewerError::Stopped(why)));
                break;
            }
            tracing::warn!("{why}{}", if is_last { "" } else { "; xdscope tries again" });
            self.shared.set_trouble(Some(why));
            if is_last {
                self.mirror.release();
                break;
            }
            if self.shared.sleep(wait) {
                break;
            }
            wait = if self.mirror.have() == before { (wait * 2).min(LAST_RETRY) } else { FIRST_RETRY };
        }
        // The copies stay until nobody reads them.
        while !self.shared.is_stopped() {
            std::thread::sleep(STOP_INTERVAL);
        }
    }

    /// Copies until the connection is lost.
    fn attempt(&mut self) -> Attempt {
        let request =
            FollowRequest { version: PROTOCOL_VERSION, session: self.session, have: self.mirror.have() };
        let (options, shared) = (self.options.clone(), self.shared.clone());
        let mut failed = None;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return Attempt::Never(error.to_string()),
        };
        let result = runtime.block_on(async {
            tokio::select! {
                result = follow(&options, &request, |event| self.take(event, &mut failed)) => Some(result),
                () = shared.stopped() => None,
            }
        });
        // Do not wait for a name that is still being resolved.
        runtime.shutdown_background();
        if let Some(why) = failed {
            return Attempt::Never(why);
        }
        match result {
            None | Some(Ok(())) => Attempt::Done,
            Some(Err(error)) => {
                let why = error.to_string();
                let may_pass = error.may_pass();
                if let Some(begun) = self.begun.take() {
                    // The receiver may be gone.
                    let _ = begun.send(Err(error.into()));
                    return Attempt::Done;
                }
                if may_pass { Attempt::Again(why) } else { Attempt::Never(why) }
            }
        }
    }

    /// Takes an event of the run. Breaks if nothing more is wanted, with the reason in `failed` if
    /// that is an error.
    fn take(&mut self, event: Event, failed: &mut Option<String>) -> ControlFlow<()> {
        match event {
            Event::Session(session) => match self.session {
                Some(known) if known != session.session => {
                    *failed =
                        Some(format!("{} has begun another session: attach again", self.options.address));
                    return ControlFlow::Break(());
                }
                _ => self.session = Some(session.session),
            },
            Event::Content(content) => {
                if let Err(error) = self.mirror.write(&content) {
                    *failed = Some(format!("cannot copy the session: {error}"));
                    return ControlFlow::Break(());
                }
            }
            Event::Current(_) if self.mirror.is_empty() => {}
            Event::Current(_) => {
                self.shared.set_trouble(None);
                self.begin();
                if !self.goes_on {
                    return ControlFlow::Break(());
                }
            }
            Event::Ended(_) => {
                self.mirror.release();
                self.begin();
            }
        }
        ControlFlow::Continue(())
    }

    /// Says that all that is written was copied.
    fn begin(&mut self) {
        if let Some(begun) = self.begun.take() {
            // The receiver may be gone.
            let _ = begun.send(if self.mirror.is_empty() { Err(ViewerError::Nothing) } else { Ok(()) });
        }
    }
}
