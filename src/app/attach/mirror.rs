//! Copies of a run's session files, which verbs and screens read like any growing recording.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::app::live_copy::CopyFolder;
use crate::app::recording::recording_file;
use crate::net::attach::{FileBytes, FilePart};

/// Disk space for the copies of a session, in bytes. Another machine decides what it sends.
pub const MAX_MIRROR_BYTES: u64 = 16 << 30;

/// Session files that a run may have.
const MAX_FILES: usize = 10_000;

/// The first copy, and those that follow it in its session.
pub(super) const FIRST_OF_SESSION: &str = "00001.xdsrec+";

/// The copies of a session, in a folder of their own that is removed at the end.
pub(super) struct Mirror {
    folder: CopyFolder,
    files: Vec<MirroredFile>,
    bytes: u64,
}

/// The copy of a file.
struct MirroredFile {
    /// The name that the run has for it.
    name: String,
    /// Locked while the run writes the file.
    file: File,
    len: u64,
    /// Bytes from the start on that the run has sent for good.
    settled: u64,
}

impl Mirror {
    /// Creates an empty mirror in a folder below `parent`.
    pub(super) fn create(parent: Option<&Path>) -> io::Result<Mirror> {
        Ok(Mirror { folder: CopyFolder::create(parent)?, files: Vec::new(), bytes: 0 })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what need not be sent again.
    pub(super) fn have(&self) -> Vec<FilePart> {
        let part = |file: &MirroredFile| FilePart { file: file.name.clone(), bytes: file.settled };
        self.files.iter().map(part).collect()
    }

    /// Whether nothing was written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes what a run sent.
    ///
    /// # Errors
    /// The disk is full, the session is too large, or bytes are missing in front of these.
    pub(super) fn write(&mut self, content: &FileBytes) -> io::Result<()> {
        let index = match self.files.iter().position(|file| file.name == content.file) {
            Some(index) => index,
            None => self.add(&content.file)?,
        };
        let file = &mut self.files[index];
        if content.offset > file.len {
            return Err(io::Error::other("the run left out a part of a file"));
        }
        let end = content.offset + content.bytes.len() as u64;
        self.bytes = self.bytes - file.len + end;
        if self.bytes > MAX_MIRROR_BYTES {
            let gigabytes = MAX_MIRROR_BYTES >> 30;
            return Err(io::Error::other(format!("the session is larger than {gigabytes} GiB")));
        }
        // A reader sees old bytes behind the new ones for a moment, and never a shorter file.
        file.file.write_all_at(&content.bytes, content.offset)?;
        file.file.set_len(end)?;
        file.len = end;
        file.settled = if content.is_final { end } else { file.settled.min(content.offset) };
        Ok(())
    }

    /// Creates the copy of a file. Names from other machines are not used as paths.
    fn add(&mut self, name: &str) -> io::Result<usize> {
        if self.files.len() == MAX_FILES {
            return Err(io::Error::other(format!("the session has more than {MAX_FILES} files")));
        }
        let path = self.folder.path().join(format!("{:05}.xdsrec", self.files.len() + 1));
        let file = recording_file::create(&path)?;
        self.files.push(MirroredFile { name: name.to_owned(), file, len: 0, settled: 0 });
        Ok(self.files.len() - 1)
    }

    /// Says that the run has ended: nobody writes the files any more.
    pub(super) fn release(&self) {
        for file in &self.files {
            // The lock ends with the process at the latest.
            let _ = file.file.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn content(file: &str, offset: u64, bytes: &[u8], is_final: bool) -> FileBytes {
        FileBytes { file: file.into(), offset, bytes: bytes.to_vec(), is_final }
    }

    #[test]
    fn later_bytes_replace_the_end_of_a_file() {
        let parent = tempfile::tempdir().unwrap();
        let mut mirror = Mirror::create(Some(parent.path())).unwrap();
        for (offset, bytes, is_final) in [
            (0, &b"head"[..], true),
            (4, b"loose", false),
            (9, b"more", false),
            (4, b"packed", true),
            (10, b"x", false),
        ] {
            mirror.write(&content("../../etc/a", offset, bytes, is_final)).unwrap();
        }
        let path = mirror.folder().join("00001.xdsrec");
        assert_eq!(fs::read(&path).unwrap(), b"headpackedx");
        assert_eq!(mirror.have(), [FilePart { file: "../../etc/a".into(), bytes: 10 }]);
        assert!(mirror.write(&content("../../etc/a", 100, b"gap", true)).is_err());
        assert!(recording_file::written_at(&path).is_some(), "a run writes it");
        mirror.release();
        assert!(recording_file::written_at(&path).is_none());
    }
}
