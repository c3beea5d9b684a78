//! Recordings as files, and which files an output may replace.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use xdscope_sources::record::MAGIC;

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

/// The files that an output may replace. No output replaces a file that another xdscope writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// An empty file.
    Nothing,
    /// A recording.
    Recordings,
    /// A file that is not a recording.
    OtherFiles,
    /// Any file.
    AnyFile,
}

/// Whether a path stands for a folder with a file of each run: a folder, or a path that ends with
/// a slash.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Creates the file of a recording, readable by its owner only (0600), and locks it.
///
/// # Errors
///
/// The file can't be created, is not empty, or another process writes it.
pub fn create(path: &Path) -> io::Result<File> {
    open(path, Replaces::Nothing)
}

/// Creates the file of a recording, or opens it if it is one, and locks it. An old recording stays
/// until the new one begins.
///
/// # Errors
///
/// The file can't be created, is not a recording, or another process writes it.
pub fn replace(path: &Path) -> io::Result<File> {
    open(path, Replaces::Recordings)
}

/// Removes the file of a run that did not start, if nothing was written to it.
pub fn remove_empty(path: &Path) {
    if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
        // Nothing is lost if the empty file stays.
        let _ = std::fs::remove_file(path);
    }
}

fn open(path: &Path, replaces: Replaces) -> io::Result<File> {
    let file = claim(path, replaces)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Empties the file of a recording.
///
/// # Errors
///
/// The file can't be written.
pub fn empty(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}

/// Creates or opens a file that an output replaces and locks it, but leaves its content.
///
/// # Errors
///
/// The file can't be created, may not be replaced, or another process writes it.
pub fn claim(path: &Path, replaces: Replaces) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let text = "the path is a pipe or a device, not a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
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
    lock(&file)?;
    check_content(&mut file, replaces)?;
    check_target(path, &file)?;
    Ok(file)
}

/// Refuses to replace the content of a file in another folder, to which the path is a link: whoever
/// may create the link would choose what is lost.
fn check_target(path: &Path, file: &File) -> io::Result<()> {
    if !path.is_symlink() || file.metadata()?.len() == 0 {
        return Ok(());
    }
    let target = path.canonicalize()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if target.parent() == Some(&folder.canonicalize()?) {
        return Ok(());
    }
    let text = format!("the path is a link to {}, in another folder", target.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Refuses a file whose content may not be replaced.
fn check_content(file: &mut File, replaces: Replaces) -> io::Result<()> {
    let mut magic = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    let text = match (replaces, magic == MAGIC) {
        _ if magic.is_empty() => return Ok(()),
        (Replaces::AnyFile, _) | (Replaces::Recordings, true) | (Replaces::OtherFiles, false) => {
            return Ok(());
        }
        (_, true) => "the file holds a recording",
        (Replaces::Recordings, false) => "the file exists and is not a recording",
        (_, false) => "the file exists",
    };
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// Refuses a file that another xdscope writes, a recording, and a link without a target.
///
/// # Errors
///
/// The path is such a file, or can't be read.
pub fn check_not_recording(path: &Path) -> io::Result<()> {
    check_link(path)?;
    if !path.is_file() {
        return Ok(());
    }
    if is_in_use(path) {
        return Err(in_use());
    }
    check_content(&mut File::open(path)?, Replaces::OtherFiles)
}

/// Locks a file that a recording is written to, until it is closed.
///
/// # Errors
///
/// Another process writes the file.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(in_use()),
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another xdscope is writing the file")
}

/// Returns whether a process writes this recording.
pub fn is_in_use(path: &Path) -> bool {
    // A pipe must not be opened twice.
    if !path.is_file() {
        return false;
    }
    let locked = File::open(path).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

/// Returns the current Unix time in nanoseconds if a process writes a recording, or the newest of
/// the recordings that the path stands for.
pub fn written_at(path: &Path) -> Option<i128> {
    if !xdscope_sources::files_of(path).iter().any(|file| is_in_use(file)) {
        return None;
    }
    i128::try_from(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_sources::open_recording;
    use xdscope_sources::record::{Header, Writer};
    use xdscope_wire::event::Clock;

    #[test]
    fn paths_with_a_slash_at_the_end_are_folders() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("sessions");
        assert!(is_folder(dir.path()) && !is_folder(&absent));
        assert!(is_folder(Path::new(&format!("{}/", absent.display()))));
    }

    #[test]
    fn creates_private_files_and_overwrites_recordings_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.xdsrec");
        for create in [create, replace] {
            let file = create(&path).unwrap();
            empty(&file).unwrap();
            let header = Header {
                created: 0,
                seed: 42,
                keep_secrets: false,
                tool: "xdscope test".into(),
                source: "a test".into(),
                clock: Clock::default(),
            };
            let writer = Writer::in_file(file, header).unwrap();
            writer.finish().unwrap();
            assert_eq!(open_recording(&path).unwrap().notices, Vec::<String>::new());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(create(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        let other = dir.path().join("notes.txt");
        std::fs::write(&other, "important").unwrap();
        assert_eq!(replace(&other).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&other).unwrap(), b"important");
    }

    #[test]
    fn links_to_files_of_other_folders_replace_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (elsewhere, link) = (dir.path().join("elsewhere"), dir.path().join("link"));
        std::fs::create_dir(&elsewhere).unwrap();
        let target = elsewhere.join("a.xdsrec");
        std::fs::write(&target, MAGIC).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for replaces in [Replaces::Recordings, Replaces::AnyFile] {
            let refused = claim(&link, replaces).unwrap_err().to_string();
            let text = format!("a link to {}, in another folder", target.canonicalize().unwrap().display());
            assert!(refused.contains(&text), "{refused}");
        }
        std::fs::write(&target, "").unwrap();
        assert!(claim(&link, Replaces::Recordings).is_ok(), "an empty file loses nothing");
        std::fs::rename(&target, dir.path().join("a.xdsrec")).unwrap();
        std::fs::write(dir.path().join("a.xdsrec"), MAGIC).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("a.xdsrec", &link).unwrap();
        assert!(claim(&link, Replaces::Recordings).is_ok(), "a link beside its target");
    }
}
