//! Content of certificate files, which another process may renew while the tap runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use tracing::{info, warn};

use super::LoadError;
use crate::net::lock::lock;

/// Interval between two looks at the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The time and the size of a file, which change when it is renewed; `None` if there is no file.
type Stamp = Option<(SystemTime, u64)>;

/// Reads the files.
type Load<T> = Box<dyn Fn() -> Result<T, LoadError> + Send>;

/// A value made of files, and made again when one of the files changes.
///
/// A thread of its own looks at the files, so that no handshake waits for a disk. Files that cannot
/// be used, half written ones for example, leave the value before in place. Connections keep the
/// value that they began with.
pub(super) struct Reloaded<T> {
    value: Arc<Mutex<Arc<T>>>,
}

impl<T: Send + Sync + 'static> Reloaded<T> {
    /// Makes the value for the first time, and looks at the files from then on.
    ///
    /// # Errors
    /// A file cannot be read, or its content cannot be used.
    pub(super) fn new(files: Vec<PathBuf>, load: Load<T>) -> Result<Reloaded<T>, LoadError> {
        let has_files = !files.is_empty();
        let (watch, value) = Watch::begin(files, load)?;
        let value = Arc::new(Mutex::new(Arc::new(value)));
        let target = Arc::downgrade(&value);
        let watches = std::thread::Builder::new().name("tls-files".into());
        if has_files && let Err(error) = watches.spawn(move || watch.run(&target)) {
            warn!("renewed certificates will not be seen: {error}");
        }
        Ok(Reloaded { value })
    }
}

impl<T> Reloaded<T> {
    /// Returns the value of the files as they are now, or were a second ago.
    pub(super) fn current(&self) -> Arc<T> {
        lock(&self.value).clone()
    }
}

impl<T> fmt::Debug for Reloaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reloaded")
    }
}

/// The files, and what they looked like when they were read last.
struct Watch<T> {
    files: Vec<PathBuf>,
    load: Load<T>,
    stamps: Vec<Stamp>,
}

impl<T> Watch<T> {
    fn begin(files: Vec<PathBuf>, load: Load<T>) -> Result<(Watch<T>, T), LoadError> {
        // Looked at before the reading: a change during the reading is seen at the next look.
        let stamps = stamps(&files);
        let value = load()?;
        Ok((Watch { files, load, stamps }, value))
    }

    /// Renews the value until nobody uses it any more.
    fn run(mut self, target: &Weak<Mutex<Arc<T>>>) {
        loop {
            std::thread::sleep(LOOK_INTERVAL);
            let Some(target) = target.upgrade() else { return };
            if let Some(value) = self.look() {
                *lock(&target) = Arc::new(value);
            }
        }
    }

    /// Reads the files again if one has changed. `None` if nothing new can be used.
    fn look(&mut self) -> Option<T> {
        let now = stamps(&self.files);
        if now == self.stamps {
            return None;
        }
        self.stamps = now;
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let names = names.join(", ");
        match (self.load)() {
            Ok(value) => {
                info!("new connections use the renewed {names}");
                Some(value)
            }
            Err(error) => {
                warn!("{error}: what {names} held before stays in use");
                None
            }
        }
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
        assert!(Watch::begin(vec![file.clone()], text(&file)).is_err(), "nothing to begin with");
        std::fs::write(&file, "first").unwrap();
        let (mut watch, value) = Watch::begin(vec![file.clone()], text(&file)).unwrap();
        assert_eq!((value.as_str(), watch.look()), ("first", None));
        std::fs::write(&file, "").unwrap();
        assert_eq!(watch.look(), None, "half written");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(watch.look(), None, "replaced by another one soon");
        std::fs::write(&file, "second, longer").unwrap();
        assert_eq!(watch.look().as_deref(), Some("second, longer"));
        assert_eq!(watch.look(), None, "read once");
    }
}
