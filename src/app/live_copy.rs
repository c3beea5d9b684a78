//! A source elsewhere that a thread copies to files, which verbs and screens read like any file
//! that grows or is replaced.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::app::process::signals;
use crate::app::recording::session_dir;
use crate::net::lock;

/// How often the thread looks whether the copy is still wanted.
pub(super) const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// The file of a folder of copies that its process keeps locked.
const LOCK: &str = ".lock";

const PREFIX: &str = "attached-";

/// Returns an error of now.
pub type Trouble = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A source elsewhere, which is copied for as long as this value lives.
pub struct LiveCopy {
    /// SOURCE as typed.
    pub name: String,
    /// The path that stands for the copy.
    pub path: PathBuf,
    state: Arc<CopyState>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the thread and the readers of a copy share.
#[derive(Default)]
pub(super) struct CopyState {
    is_stopped: AtomicBool,
    /// The error that keeps the thread from the source at present.
    trouble: Mutex<Option<String>>,
}

impl CopyState {
    /// Whether the copy is not wanted any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        *lock(&self.trouble) = trouble;
    }

    /// Sleeps. Returns whether the copy is not wanted any more.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(STOP_INTERVAL));
        }
        self.is_stopped()
    }

    /// Waits until the copy is not wanted any more.
    pub(super) async fn stopped(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(STOP_INTERVAL).await;
        }
    }
}

impl LiveCopy {
    pub(super) fn new(
        name: String,
        path: PathBuf,
        state: Arc<CopyState>,
        thread: Option<JoinHandle<()>>,
    ) -> LiveCopy {
        LiveCopy { name, path, state, thread }
    }

    /// Returns what tells the error that keeps the thread from the source at present.
    pub fn trouble(&self) -> Trouble {
        let state = self.state.clone();
        Arc::new(move || lock(&state.trouble).clone())
    }

    /// Removes the copies also if a signal ends the program, which catches none.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub fn remove_on_signal(&self) -> io::Result<()> {
        let folder = self.path.parent().map(Path::to_owned);
        signals::before_end(move || {
            if let Some(folder) = folder {
                // The next copy removes what is left.
                let _ = fs::remove_dir_all(folder);
            }
        })
    }
}

impl Drop for LiveCopy {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that copies {} panicked", self.name);
        }
    }
}

/// A folder of copies, which is removed at the end.
pub(super) struct CopyFolder {
    folder: TempDir,
    /// Locked while the folder is in use.
    _lock: File,
}

impl CopyFolder {
    /// Creates an empty folder below `parent`, and removes those of processes that were killed.
    pub(super) fn create(parent: Option<&Path>) -> io::Result<CopyFolder> {
        let parent = match parent.filter(|parent| session_dir::create_private_dir(parent).is_ok()) {
            Some(parent) => parent.to_owned(),
            None => std::env::temp_dir(),
        };
        remove_abandoned(&parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(CopyFolder { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders whose process has ended without doing so.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let is_copy = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) && path.is_dir()
    };
    for folder in entries.flatten().map(|entry| entry.path()).filter(is_copy) {
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            // Another process may remove it at the same time.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let abandoned = parent.path().join("attached-1");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join(LOCK), "").unwrap();
        let other = parent.path().join("attached-2");
        fs::create_dir(&other).unwrap();
        let first = CopyFolder::create(Some(parent.path())).unwrap();
        let second = CopyFolder::create(Some(parent.path())).unwrap();
        assert!(!abandoned.exists() && other.exists(), "a folder without a lock is not ours");
        assert!(first.path().exists() && second.path().exists());
        let (first, second) = (first.path().to_owned(), {
            drop(first);
            second
        });
        assert!(!first.exists() && second.path().exists());
    }
}
