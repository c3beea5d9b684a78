//! Recordings as files: creating and writing them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sources::record::{Header, MAGIC, RewritableFile, Writer};

impl RewritableFile for File {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }
}

/// An open session file, and when to begin the next one.
pub struct SessionFile {
    pub path: PathBuf,
    pub file: File,
    pub rotation: Rotation,
}

impl SessionFile {
    /// Returns a session file that takes the whole session.
    pub fn new(path: PathBuf, file: File) -> SessionFile {
        SessionFile { path, file, rotation: Rotation::default() }
    }
}

/// When a session goes on in another file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// The size of a file in bytes.
    pub max_bytes: Option<u64>,
    /// The age of a file.
    pub max_age: Option<Duration>,
    /// The number of files of the run to keep; `None`: all.
    pub keep: Option<usize>,
}

/// Creates the file of a recording, readable by its owner only (0600), and locks it.
///
/// # Errors
///
/// The file can't be created, is not empty, or another process writes it.
pub fn create(path: &Path) -> io::Result<File> {
    open(path, false)
}

/// Creates the file of a recording, or opens it if it is one, and locks it. An old recording stays
/// until the new one begins.
///
/// # Errors
///
/// The file can't be created, is not a recording, or another process writes it.
pub fn replace(path: &Path) -> io::Result<File> {
    open(path, true)
}

/// Removes the file of a run that did not start, if nothing was written to it.
pub fn remove_empty(path: &Path) {
    if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
        // Nothing is lost if the empty file stays.
        let _ = std::fs::remove_file(path);
    }
}

fn open(path: &Path, can_replace: bool) -> io::Result<File> {
    let file = claim(path, can_replace)?;
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

/// Empties the file of a recording.
///
/// # Errors
///
/// The file can't be written.
pub fn empty(mut file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(())
}

/// Opens the file of a recording and locks it, but leaves its content.
///
/// # Errors
///
/// The file can't be created, may not be replaced, or another process writes it.
pub fn claim(path: &Path, can_replace: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // `create_new` does not follow links.
    let mut file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(dangling(path, error)),
            opened => opened?,
        },
        created => created?,
    };
    if file.metadata()?.is_file() {
        lock(&file)?;
        let mut magic = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        let refused = |text| Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        match (magic.is_empty(), magic == MAGIC, can_replace) {
            (true, ..) | (_, true, true) => {}
            (_, true, false) => return refused("the file holds a recording"),
            (_, false, _) => return refused("the file exists and is not a recording"),
        }
    }
    Ok(file)
}

/// Locks a file that a recording is written to, until it is closed.
///
/// # Errors
///
/// Another process writes the file.
pub(super) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another xdscope is writing the file"))
        }
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Returns whether a process writes this recording.
pub fn is_in_use(path: &Path) -> bool {
    let locked = File::open(path).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

/// Refuses a link whose target does not exist.
///
/// # Errors
///
/// The path is such a link.
pub fn check_link(path: &Path) -> io::Result<()> {
    match path.is_symlink() && !path.exists() {
        true => Err(dangling(path, io::Error::from(io::ErrorKind::NotFound))),
        false => Ok(()),
    }
}

/// The error of a link whose target does not exist.
fn dangling(path: &Path, error: io::Error) -> io::Error {
    let Ok(target) = path.read_link() else { return error };
    let text = format!("the path is a link to {}, which does not exist", target.display());
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// Writes the header of a recording to an empty file, or to a pipe.
///
/// # Errors
///
/// The file can't be written.
pub fn writer(file: File, header: Header) -> io::Result<Writer> {
    if file.metadata()?.is_file() { Writer::in_file(file, header) } else { Writer::new(file, header) }
}
