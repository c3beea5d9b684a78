//! A dump of a client beside the screens, read again when its file changes.

use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::engine::applied::{self, AppliedState};
use crate::schema::Schema;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The file, as it was read last.
pub struct AppliedFile {
    path: PathBuf,
    schema: Arc<Schema>,
    state: RefCell<State>,
}

struct State {
    looked: Instant,
    seen: Option<(SystemTime, u64)>,
    beside: AppliedState,
    /// Why the newest reading failed; what was read before still stands.
    failed: Option<String>,
    turn: u64,
}

impl AppliedFile {
    /// A file that was read just now.
    pub fn new(path: PathBuf, beside: AppliedState, schema: Arc<Schema>) -> AppliedFile {
        let state = State { looked: Instant::now(), seen: stamp(&path), beside, failed: None, turn: 0 };
        AppliedFile { path, schema, state: RefCell::new(state) }
    }

    /// A number that changes with what was read; looks from time to time.
    pub fn revision(&self) -> u64 {
        let mut state = self.state.borrow_mut();
        if state.looked.elapsed() < LOOK {
            return state.turn;
        }
        state.looked = Instant::now();
        let stamp = stamp(&self.path);
        if stamp.is_none() || stamp == state.seen {
            return state.turn;
        }
        state.seen = stamp;
        state.turn += 1;
        match self.read() {
            Ok(beside) => (state.beside, state.failed) = (beside, None),
            // It may be half written: the next look sees more of it.
            Err(why) => {
                state.failed = Some(format!("{}: {why}; what was read before is shown", self.path.display()))
            }
        }
        state.turn
    }

    fn read(&self) -> Result<AppliedState, String> {
        let content = std::fs::read(&self.path).map_err(|error| error.to_string())?;
        let name = self.path.to_string_lossy();
        let dump = applied::read(&name, &content, &self.schema).map_err(|error| error.to_string())?;
        Ok(AppliedState::new(dump, self.schema.clone()))
    }

    pub fn beside(&self) -> Ref<'_, AppliedState> {
        Ref::map(self.state.borrow(), |state| &state.beside)
    }

    /// What a person should know of it.
    pub fn notice(&self) -> Option<String> {
        self.state.borrow().failed.clone()
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
