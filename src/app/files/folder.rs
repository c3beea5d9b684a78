//! Finds files that have changed, by polling.
//!
//! System notifications differ by platform, miss directories that are swapped behind a link, and do
//! not
//! work on some mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use xdscope_schema::MessageFormat;
use xdscope_schema::limits::MIN_TREE_LIMIT;
use xdscope_sources::limits::RESPONSE_MEMORY_PER_BYTE;
use xdscope_wire::text::size;

/// The largest file, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 512 << 20;

/// Files of a directory that are watched.
pub(crate) const MAX_FILES: usize = 10_000;

/// The new state of a changed file.
#[derive(Debug)]
pub(super) enum FileChange {
    Content(Vec<u8>),
    Gone,
    Failed(io::Error),
}

/// A file, or the files of a directory with the extensions of responses, links followed.
pub(super) struct Folder {
    path: PathBuf,
    /// The largest file to read, in bytes.
    max_bytes: u64,
    known: BTreeMap<PathBuf, WatchedFile>,
    has_scanned: bool,
}

/// The identity of a version of a file.
///
/// Two versions differ also after a rename over the file or a swapped directory link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn new(metadata: &Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The state of one file; `None`: the file does not exist.
#[derive(Default)]
struct WatchedFile {
    /// The stamp at the last check.
    seen: Option<Stamp>,
    /// The stamp when the file was last reported; `None`: never reported.
    reported: Option<Option<Stamp>>,
    /// The hash of the content that was last reported.
    content: Option<u64>,
}

impl Folder {
    /// Watches files of which each may take `memory` bytes.
    pub(super) fn new(path: PathBuf, memory: usize) -> Folder {
        let memory = memory.max(MIN_TREE_LIMIT) as u64;
        let max_bytes = MAX_FILE_BYTES.min(memory / RESPONSE_MEMORY_PER_BYTE);
        Folder { path, max_bytes, known: BTreeMap::new(), has_scanned: false }
    }

    /// Returns files that have changed and been stable since the last check, by name. Each is read
    /// when the iterator reaches it, since all of them may not fit into memory.
    ///
    /// The first call returns all files. A file that is written again with the same content has not
    /// changed.
    pub(super) fn look(&mut self) -> impl Iterator<Item = (String, FileChange)> {
        let first = !std::mem::replace(&mut self.has_scanned, true);
        let mut paths: BTreeSet<PathBuf> = self.known.keys().cloned().collect();
        paths.extend(listed(&self.path));
        let (known, max_bytes) = (&mut self.known, self.max_bytes);
        paths.into_iter().filter_map(move |path| {
            let seen = known.entry(path.clone()).or_default().look(&path, max_bytes, first)?;
            Some((path.display().to_string(), seen))
        })
    }
}

impl WatchedFile {
    fn look(&mut self, path: &Path, max_bytes: u64, first: bool) -> Option<FileChange> {
        let stamp = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Some(Stamp::new(&metadata)),
            _ => None,
        };
        let settled = std::mem::replace(&mut self.seen, stamp) == stamp || first;
        if !settled || self.reported == Some(stamp) {
            return None;
        }
        if stamp.is_none() {
            self.reported = Some(None);
            return Some(FileChange::Gone);
        }
        let was_gone = self.reported == Some(None);
        let (stamp, content) = match read(path, max_bytes) {
            Ok(read) => read,
            Err(error) => {
                self.reported = Some(stamp);
                return Some(FileChange::Failed(error));
            }
        };
        // The file changed while it was read, so the content may be incomplete.
        if Some(stamp) != self.seen {
            self.seen = Some(stamp);
            return None;
        }
        self.reported = Some(Some(stamp));
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let same = self.content.replace(hasher.finish()) == Some(hasher.finish());
        (!same || was_gone).then_some(FileChange::Content(content))
    }
}

/// Returns the content of a file of at most `max_bytes`, and its stamp after reading.
fn read(path: &Path, max_bytes: u64) -> io::Result<(Stamp, Vec<u8>)> {
    let file = File::open(path)?;
    let mut content = Vec::new();
    (&file).take(max_bytes + 1).read_to_end(&mut content)?;
    if content.len() as u64 > max_bytes {
        let text = format!(
            "it has more than {}; --memory of {RESPONSE_MEMORY_PER_BYTE} times its size is enough",
            size(max_bytes)
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok((Stamp::new(&file.metadata()?), content))
}

/// Returns the watched files that exist now.
fn listed(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    // A directory that is being swapped is back at the next check.
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let is_response = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
        !name.starts_with('.') && MessageFormat::from_file_name(name).is_some() && path.is_file()
    };
    entries.map(|entry| entry.path()).filter(is_response).take(MAX_FILES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Checks until changes have settled.
    fn seen(folder: &mut Folder) -> Vec<String> {
        let mut out: Vec<_> = folder.look().collect();
        out.extend(folder.look());
        let name = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let text = |seen| match seen {
            FileChange::Content(content) => String::from_utf8_lossy(&content).into_owned(),
            FileChange::Gone => "gone".into(),
            FileChange::Failed(error) => error.to_string(),
        };
        out.into_iter().map(|(path, seen)| format!("{} {}", name(&path), text(seen))).collect()
    }

    #[test]
    fn reports_a_file_when_its_content_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (path, new) = (dir.path().join("cds.yaml"), dir.path().join("new"));
        let mut folder = Folder::new(path.clone(), 0);
        assert_eq!(seen(&mut folder), ["cds.yaml gone"]);
        fs::write(&path, "one").unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml one"]);
        assert_eq!(seen(&mut folder), [""; 0]);
        fs::write(&new, "two").unwrap();
        fs::rename(&new, &path).unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml two"]);
        fs::write(&new, "two").unwrap();
        fs::rename(&new, &path).unwrap();
        assert_eq!(seen(&mut folder), [""; 0], "the same again");
        fs::remove_file(&path).unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml gone"]);
        fs::write(&path, "two").unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml two"], "it is back");
    }

    #[test]
    fn reads_one_file_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yaml"] {
            fs::write(dir.path().join(name), "early").unwrap();
        }
        let mut folder = Folder::new(dir.path().to_owned(), 0);
        let mut found = folder.look();
        assert!(found.next().is_some());
        fs::write(dir.path().join("b.yaml"), "late").unwrap();
        let Some((_, FileChange::Content(content))) = found.next() else { panic!("no content") };
        assert_eq!(content, b"late", "b was not read before");
    }

    #[test]
    fn files_that_need_too_much_memory_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cds.yaml");
        fs::write(&path, "one").unwrap();
        let mut folder = Folder { max_bytes: 2, ..Folder::new(path.clone(), 0) };
        assert_eq!(
            seen(&mut folder),
            ["cds.yaml it has more than 2 B; --memory of 10 times its size is enough"]
        );
        fs::write(&path, "2").unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml 2"]);
    }

    #[test]
    fn waits_for_files_that_are_being_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cds.yaml");
        fs::write(&path, "one").unwrap();
        let mut folder = Folder::new(path.clone(), 0);
        assert_eq!(folder.look().count(), 1, "at first all that is there");
        for part in ["part", "part and part", "part and part and"] {
            fs::write(&path, part).unwrap();
            assert_eq!(folder.look().count(), 0, "{part}");
        }
        fs::write(&path, "part and part and whole").unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml part and part and whole"]);
    }

    /// Kubernetes swaps a mounted ConfigMap by renaming the link `..data`.
    #[test]
    fn follows_a_swapped_directory_link() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (folder, cds) in [("..1", "one"), ("..2", "two")] {
            fs::create_dir(at(folder)).unwrap();
            fs::write(at(folder).join("cds.yaml"), cds).unwrap();
            fs::write(at(folder).join("lds.json"), "same").unwrap();
        }
        symlink("..1", at("..data")).unwrap();
        symlink("..data/cds.yaml", at("cds.yaml")).unwrap();
        symlink("..data/lds.json", at("lds.json")).unwrap();
        fs::write(at("README"), "no response").unwrap();
        let mut folder = Folder::new(dir.path().to_owned(), 0);
        assert_eq!(seen(&mut folder), ["cds.yaml one", "lds.json same"]);
        symlink("..2", at("..new")).unwrap();
        fs::rename(at("..new"), at("..data")).unwrap();
        assert_eq!(seen(&mut folder), ["cds.yaml two"], "only what changed");
        fs::write(at("eds.pb"), "new").unwrap();
        assert_eq!(seen(&mut folder), ["eds.pb new"]);
    }
}
