//! A dump of a client's applied configuration, read again when its file changes.

use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::app::live_copy::Trouble;
use xdscope_engine::applied::{self, AppliedState};
use xdscope_schema::Schema;
use xdscope_sources::SourceError;

/// A dump file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    File(#[from] SourceError),
    #[error(transparent)]
    Dump(#[from] applied::DumpError),
}

/// Reads a dump, which may take `memory` bytes as a whole.
///
/// # Errors
/// The file cannot be read, needs more memory, or is not a dump.
pub fn read(path: &Path, memory: usize, schema: &Arc<Schema>) -> Result<AppliedState, ReadError> {
    let content = xdscope_sources::read_resources(path, memory)?;
    let dump = applied::read(&path.to_string_lossy(), &content, schema)?;
    Ok(AppliedState::new(dump, schema.clone()))
}

/// A dump file and its contents.
pub struct AppliedFile {
    /// The file or port, as typed.
    name: String,
    path: PathBuf,
    /// Tells why the port cannot be read at present, if the file is a copy of one.
    trouble: Option<Trouble>,
    /// Bytes that the dump may take.
    memory: usize,
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

    /// Reads a file, which may take `memory` bytes as a whole.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn open(
        name: String,
        path: PathBuf,
        memory: usize,
        schema: Arc<Schema>,
        trouble: Option<Trouble>,
    ) -> Result<AppliedFile, ReadError> {
        let contents = read(&path, memory, &schema)?;
        let state =
            FileState { checked: Instant::now(), seen: stamp(&path), contents, failed: None, revision: 0 };
        Ok(AppliedFile { name, path, trouble, memory, schema, state: RefCell::new(state) })
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
        match read(&self.path, self.memory, &self.schema) {
            Ok(contents) => (state.contents, state.failed) = (contents, None),
            // The file may be half written: the next check reads it again.
            Err(why) => state.failed = Some(format!("{}: {why}; the earlier content is shown", self.name)),
        }
        state.revision
    }

    pub fn beside(&self) -> Ref<'_, AppliedState> {
        Ref::map(self.state.borrow(), |state| &state.contents)
    }

    /// Returns a message about the file for the user.
    pub fn notice(&self) -> Option<String> {
        let trouble = self.trouble.as_ref().and_then(|trouble| trouble());
        let trouble = trouble.map(|why| format!("{}: {why}; the earlier content is shown", self.name));
        self.state.borrow().failed.clone().or(trouble)
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
