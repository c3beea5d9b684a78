//! The sessions of runs for viewers: both ends of `--attach`.

mod mirror;
mod viewer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use mirror::MAX_MIRROR_BYTES;
pub use viewer::{ViewerError, attach};

use crate::net::attach::{AttachAccess, AttachServer, Attachable};
use crate::net::tap::ListenError;
use crate::net::transport::Address;

use super::live_state::LiveState;

/// How long the end of a run waits for its viewers.
const LAST_MESSAGES_TIME: Duration = Duration::from_secs(1);

/// The session of a run, for viewers. It listens before the run starts, and ends when it is
/// dropped.
pub struct SharedSession {
    run: Arc<AttachedRun>,
    server: AttachServer,
}

/// A run, as viewers see it.
#[derive(Default)]
struct AttachedRun {
    /// `None` once the run has started: it is not recorded.
    state: OnceLock<Option<RecordedRun>>,
    has_ended: AtomicBool,
}

/// A run that has started.
struct RecordedRun {
    shared: Arc<LiveState>,
    /// The first session file.
    first: PathBuf,
}

impl SharedSession {
    /// Serves the session of a run that is about to start.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(listen: Address, access: AttachAccess) -> Result<SharedSession, ListenError> {
        let run = Arc::new(AttachedRun::default());
        let server = AttachServer::start(listen.clone(), access, run.clone())?;
        if let Address::Unix(path) = &listen {
            let only_own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            let set = std::fs::set_permissions(path, only_own);
            set.map_err(|source| ListenError { address: listen.clone(), source })?;
        }
        Ok(SharedSession { run, server })
    }

    /// Returns the address, with its port.
    pub fn address(&self) -> String {
        self.server.address().map(ToString::to_string).unwrap_or_default()
    }

    /// Says that the run has started. `first` is its first session file, if it is recorded.
    pub fn set_run(&self, shared: Option<Arc<LiveState>>, first: Option<PathBuf>) {
        let run = shared.zip(first).map(|(shared, first)| RecordedRun { shared, first });
        // A session has one run.
        let _ = self.run.state.set(run);
    }

    /// Says that the session files are complete, and waits a moment for viewers to get the rest.
    pub fn finish(&self) {
        self.run.has_ended.store(true, Ordering::Release);
        let deadline = Instant::now() + LAST_MESSAGES_TIME;
        while self.server.viewers() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Attachable for AttachedRun {
    fn files(&self) -> Option<Vec<PathBuf>> {
        let Some(run) = self.state.get() else { return Some(Vec::new()) };
        let run = run.as_ref()?;
        let files = run.shared.recordings();
        Some(if files.is_empty() { vec![run.first.clone()] } else { files })
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}
