//! A dump of a client's applied configuration, read again when its file changes.

use std::cell::{Ref, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use xdscope_engine::applied::{self, AppliedState};
use xdscope_schema::Schema;

/// A dump file that cannot be read again.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Dump(#[from] applied::DumpError),
}

/// A dump file and its contents.
pub struct AppliedFile {
    path: PathBuf,
    schema: Arc<Schema>,
    state: RefCell<FileState>,
}

struct FileState {
    checked: Instant,
    seen: Option<(SystemTime, u64)>,
    contents: AppliedState,
    /// The error of the newest reading. The earlier contents remain valid.
    failed: Option<String>,
    revision: u64,
}

impl AppliedFile {
    /// How often the file is checked.
    pub const POLL_INTERVAL: Duration = Duration::from_millis(500);

    /// Returns the handle of a file that was just read.
    pub fn new(path: PathBuf, contents: AppliedState, schema: Arc<Schema>) -> AppliedFile {
        let state =
            FileState { checked: Instant::now(), seen: stamp(&path), contents, failed: None, revision: 0 };
        AppliedFile { path, schema, state: RefCell::new(state) }
    }

    /// Checks the file from time to time. Returns a number that changes with the contents.
    pub fn revision(&self) -> u64 {
        let mut state = self.state.borrow_mut();
        if state.checked.elapsed() < AppliedFile::POLL_INTERVAL {
            return state.revision;
        }
        state.checked = Instant::now();
        let stamp = stamp(&self.path);
        if stamp.is_none() || stamp == state.seen {
            return state.revision;
        }
        state.seen = stamp;
        state.revision += 1;
        match self.read() {
            Ok(contents) => (state.contents, state.failed) = (contents, None),
            // The file may be half written: the next check reads it again.
            Err(why) => {
                state.failed = Some(format!("{}: {why}; the earlier content is shown", self.path.display()))
            }
        }
        state.revision
    }

    fn read(&self) -> Result<AppliedState, ReadError> {
        let content = std::fs::read(&self.path)?;
        let name = self.path.to_string_lossy();
        let dump = applied::read(&name, &content, &self.schema)?;
        Ok(AppliedState::new(dump, self.schema.clone()))
    }

    pub fn beside(&self) -> Ref<'_, AppliedState> {
        Ref::map(self.state.borrow(), |state| &state.contents)
    }

    /// Returns a message about the file for the user.
    pub fn notice(&self) -> Option<String> {
        self.state.borrow().failed.clone()
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
