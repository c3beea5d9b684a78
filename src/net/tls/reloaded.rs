//! Content of certificate files, which another process may renew while the tap runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tracing::{info, warn};

use super::LoadError;
use crate::net::lock::lock;

/// Interval between two looks at the files: each costs a handshake some microseconds.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The time and the size of a file, which change when it is renewed; `None` if there is no file.
type Stamp = Option<(SystemTime, u64)>;

/// Reads the files.
type Load<T> = Box<dyn Fn() -> Result<T, LoadError> + Send + Sync>;

/// A value made of files, and made again when one of the files changes.
///
/// Files that cannot be used, half written ones for example, leave the value before in place.
/// Connections keep the value that they began with.
pub(super) struct Reloaded<T> {
    files: Vec<PathBuf>,
    load: Load<T>,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Arc<T>,
    stamps: Vec<Stamp>,
    looked: Instant,
}

impl<T> Reloaded<T> {
    /// Makes the value for the first time.
    ///
    /// # Errors
    /// A file cannot be read, or its content cannot be used.
    pub(super) fn new(files: Vec<PathBuf>, load: Load<T>) -> Result<Reloaded<T>, LoadError> {
        // Looked at before the reading: a change during the reading is seen at the next look.
        let stamps = stamps(&files);
        let value = Arc::new(load()?);
        let state = State { value, stamps, looked: Instant::now() };
        Ok(Reloaded { files, load, state: Mutex::new(state) })
    }

    /// Returns the value of the files as they are now, or were a second ago.
    pub(super) fn current(&self) -> Arc<T> {
        let mut state = lock(&self.state);
        if state.looked.elapsed() >= LOOK_INTERVAL {
            state.looked = Instant::now();
            self.look(&mut state);
        }
        state.value.clone()
    }

    /// Reads the files again if one has changed.
    fn look(&self, state: &mut State<T>) {
        let now = stamps(&self.files);
        if now == state.stamps {
            return;
        }
        state.stamps = now;
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let names = names.join(", ");
        match (self.load)() {
            Ok(value) => {
                info!("new connections use the renewed {names}");
                state.value = Arc::new(value);
            }
            Err(error) => warn!("{error}: what {names} held before stays in use"),
        }
    }
}

impl<T> fmt::Debug for Reloaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reloaded").field(&self.files).finish()
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    files.iter().map(|file| stamp(file)).collect()
}

fn stamp(file: &Path) -> Stamp {
    let file = std::fs::metadata(file).ok()?;
    Some((file.modified().ok()?, file.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a file; an empty one cannot be used.
    fn text(file: &Path) -> Load<String> {
        let file = file.to_owned();
        Box::new(move || match std::fs::read_to_string(&file) {
            Ok(text) if !text.is_empty() => Ok(text),
            _ => Err(LoadError::Empty { path: file.display().to_string() }),
        })
    }

    #[test]
    fn renewed_files_count_and_broken_ones_leave_the_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cert.pem");
        assert!(Reloaded::new(vec![file.clone()], text(&file)).is_err(), "nothing to begin with");
        std::fs::write(&file, "first").unwrap();
        let reloaded = Reloaded::new(vec![file.clone()], text(&file)).unwrap();
        let shown = || {
            reloaded.look(&mut lock(&reloaded.state));
            reloaded.current().to_string()
        };
        assert_eq!(shown(), "first");
        std::fs::write(&file, "").unwrap();
        assert_eq!(shown(), "first", "half written");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(shown(), "first", "replaced by another one soon");
        std::fs::write(&file, "second, longer").unwrap();
        assert_eq!(shown(), "second, longer");
    }
}
