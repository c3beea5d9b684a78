//! The directory of session files (`$XDG_STATE_HOME/xdscope`): creating, finding and removing
//! sessions.
//!
//! Only files with the names of sessions are ever removed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use jiff::civil::DateTime;

use super::recording_file;

/// Number of sessions to keep.
pub const MAX_SESSIONS: usize = 20;
/// Total size of the sessions to keep, in bytes.
pub const MAX_SESSION_BYTES: u64 = 2_000_000_000;

/// Number of entries of the directory that are listed.
const MAX_LISTED: usize = 10_000;

const PREFIX: &str = "session-";
const SUFFIX: &str = ".xdsrec";

/// Returns the name of a session file. Names sort by time: `session-20260302-140208.xdsrec`.
pub fn session_name(begun: DateTime) -> String {
    format!("{PREFIX}{}{SUFFIX}", begun.strftime("%Y%m%d-%H%M%S"))
}

/// Creates the file of a session that begins at this local time, readable by its owner only.
///
/// Creates the directory if needed. Another session of the same second gets a number
/// (`…-2.xdsrec`).
///
/// # Errors
///
/// The directory or the file can't be created.
pub fn create_session(dir: &Path, begun: DateTime) -> io::Result<(PathBuf, File)> {
    create_private(dir, session_name(begun).trim_end_matches(SUFFIX), SUFFIX)
}

/// Creates a file that only its owner can read, and its directory if needed.
///
/// If there is a file of this name, the new one gets a number (`…-2.txt`).
///
/// # Errors
///
/// The directory or the file can't be created.
pub fn create_private(dir: &Path, stem: &str, suffix: &str) -> io::Result<(PathBuf, File)> {
    create_private_dir(dir)?;
    for n in 1..1000 {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let path = dir.join(format!("{stem}{number}{suffix}"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => return recording_file::lock(&file).map(|()| (path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many files of one name"))
}

/// Creates a directory that only its owner can read, unless it exists.
///
/// # Errors
///
/// The directory can't be created.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Finds the file that a user means: the path itself, or a bare name in the directory, with or
/// without its extension.
pub fn find(dir: &Path, name: &Path) -> Option<PathBuf> {
    if name.exists() {
        return Some(name.to_owned());
    }
    let mut parts = name.components();
    let (Some(Component::Normal(bare)), None) = (parts.next(), parts.next()) else { return None };
    let mut longer = bare.to_owned();
    longer.push(SUFFIX);
    [dir.join(bare), dir.join(longer)].into_iter().find(|path| path.is_file())
}

/// A recording of the directory.
#[derive(Clone, Debug)]
pub struct KeptSession {
    /// The name without its extension, as users type it.
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

impl KeptSession {
    /// Whether a process writes the session.
    pub fn is_in_use(&self) -> bool {
        recording_file::is_in_use(&self.path)
    }

    /// Whether a user has named the session, so that [`clean`] never removes it.
    pub fn is_named(&self) -> bool {
        !self.name.starts_with(PREFIX)
    }
}

/// Lists the recordings of the directory, the one that was written last first. A missing directory
/// is empty.
///
/// # Errors
///
/// The directory can't be read.
pub fn list(dir: &Path) -> io::Result<Vec<KeptSession>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut sessions = Vec::new();
    for entry in entries.take(MAX_LISTED) {
        let entry = entry?;
        // The entry's own metadata: a symbolic link is not a session.
        let Ok(metadata) = entry.metadata() else { continue };
        let file = entry.file_name();
        let Some(name) = file.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
        if metadata.is_file() {
            let (path, bytes, modified) = (entry.path(), metadata.len(), metadata.modified().ok());
            sessions.push(KeptSession { name: name.to_owned(), path, bytes, modified });
        }
    }
    sessions.sort_by(|a, b| (b.modified, &b.name).cmp(&(a.modified, &a.name)));
    Ok(sessions)
}

/// Returns the names of the recordings of the directory, the one that was written last first. An
/// unreadable directory has none.
pub fn names(dir: &Path) -> Vec<String> {
    list(dir).unwrap_or_default().into_iter().map(|session| session.name).collect()
}

/// Gives a session another name, which must be free. Its marks go with it.
///
/// # Errors
///
/// There is a session of this name, or the file can't be renamed.
pub fn rename(session: &KeptSession, name: &str) -> io::Result<PathBuf> {
    let path = session.path.with_file_name(format!("{name}{SUFFIX}"));
    if path.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a session of this name"));
    }
    fs::rename(&session.path, &path)?;
    // Ignore errors: most sessions have no marks.
    let _ = fs::rename(marks_of(&session.path), marks_of(&path));
    Ok(path)
}

/// Removes a session and its marks.
///
/// # Errors
///
/// The file can't be removed.
pub fn remove(session: &KeptSession) -> io::Result<()> {
    fs::remove_file(&session.path)?;
    // Ignore errors: most sessions have no marks.
    let _ = fs::remove_file(marks_of(&session.path));
    Ok(())
}

/// Returns the file with the marks of a session.
fn marks_of(path: &Path) -> PathBuf {
    let mut marks = path.to_owned().into_os_string();
    marks.push(".marks");
    marks.into()
}

/// Removes the oldest sessions, down to `files` files of `bytes` bytes in total.
///
/// The newest session, `current`, and sessions that are being written stay. Returns the removed
/// files.
///
/// # Errors
///
/// The directory can't be read, or a file can't be removed.
pub fn clean(dir: &Path, current: Option<&Path>, files: usize, bytes: u64) -> io::Result<Vec<PathBuf>> {
    let mut sessions = list(dir)?;
    sessions.retain(|session| !session.is_named());
    sessions.sort_by(|a, b| b.path.cmp(&a.path));
    let (mut kept, mut held, mut removed) = (0, 0u64, Vec::new());
    for session in sessions {
        held = held.saturating_add(session.bytes);
        let is_current = Some(session.path.as_path()) == current;
        if kept == 0 || is_current || (kept < files && held <= bytes) || session.is_in_use() {
            kept += 1;
            continue;
        }
        match remove(&session) {
            Ok(()) => removed.push(session.path),
            // Another xdscope removed the file first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i8) -> DateTime {
        jiff::civil::date(2026, 3, 2).at(14, 2, second, 0)
    }

    #[test]
    fn names_sessions_by_time_and_keeps_them_private() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state/xdscope");
        let (first, file) = create_session(&state, at(8)).unwrap();
        let (second, _) = create_session(&state, at(8)).unwrap();
        assert!(first.ends_with("session-20260302-140208.xdsrec"));
        assert!(second.ends_with("session-20260302-140208-2.xdsrec"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn finds_sessions_by_bare_name_only() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = create_session(dir.path(), at(8)).unwrap();
        for name in ["session-20260302-140208.xdsrec", "session-20260302-140208"] {
            assert_eq!(find(dir.path(), Path::new(name)), Some(path.clone()), "{name}");
        }
        assert_eq!(find(dir.path(), &path), Some(path.clone()), "a path that is there");
        assert_eq!(find(dir.path(), Path::new("./x/../session-20260302-140208.xdsrec")), None);
        assert_eq!(find(&dir.path().join("sub"), Path::new("../session-20260302-140208")), None);
    }

    #[test]
    fn lists_names_and_removes_recordings_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(list(&dir.path().join("missing")).unwrap().is_empty());
        let (old, _) = create_session(dir.path(), at(8)).unwrap();
        let (new, locked) = create_session(dir.path(), at(9)).unwrap();
        let earlier = SystemTime::now() - std::time::Duration::from_secs(60);
        File::options().append(true).open(&old).unwrap().set_modified(earlier).unwrap();
        fs::write(dir.path().join("notes.txt"), "x").unwrap();
        fs::write(marks_of(&old), "x").unwrap();
        let sessions = list(dir.path()).unwrap();
        let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["session-20260302-140209", "session-20260302-140208"]);
        assert_eq!(sessions.iter().map(KeptSession::is_in_use).collect::<Vec<_>>(), [true, false]);
        assert!(
            rename(&sessions[1], "session-20260302-140209").is_err() && old.exists(),
            "the name is taken"
        );
        let named = rename(&sessions[1], "before-upgrade").unwrap();
        assert!(named.exists() && marks_of(&named).exists() && !old.exists() && !marks_of(&old).exists());
        drop(locked);
        assert_eq!(clean(dir.path(), None, 0, 0).unwrap(), Vec::<PathBuf>::new(), "the newest stays");
        for session in list(dir.path()).unwrap() {
            assert_eq!(session.is_named(), session.path == named);
            remove(&session).unwrap();
        }
        assert!(!new.exists() && !named.exists() && !marks_of(&named).exists());
    }

    #[test]
    fn removes_old_sessions_only() {
        let dir = tempfile::tempdir().unwrap();
        let sessions: Vec<_> = (0..6).map(|s| create_session(dir.path(), at(s)).unwrap().0).collect();
        for path in &sessions {
            fs::write(path, [0; 100]).unwrap();
        }
        for other in ["session-notes.txt", "mine.xdsrec"] {
            fs::write(dir.path().join(other), [0; 1000]).unwrap();
        }
        let removed = clean(dir.path(), Some(&sessions[0]), 4, 1 << 30).unwrap();
        assert_eq!(removed, [sessions[1].clone()], "the current one stays, however old");
        let removed = clean(dir.path(), None, 4, 250).unwrap();
        assert_eq!(removed, [sessions[3].clone(), sessions[2].clone(), sessions[0].clone()]);
        assert!(
            clean(dir.path(), None, 0, 0).unwrap().len() == 1 && sessions[5].exists(),
            "the newest stays"
        );
        assert!(dir.path().join("session-notes.txt").exists() && dir.path().join("mine.xdsrec").exists());
    }
}
