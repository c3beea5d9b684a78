//! The files of a session, read for one viewer.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use twox_hash::XxHash3_64;

use super::MAX_CONTENT_BYTES;
use super::messages::{FileBytes, FilePart, Session};
use xdscope_sources::record::{Header, settled_end};

/// Bytes of a file to search at once for the end of what its writer leaves as it is.
const SEARCH_BYTES: u64 = 16 << 20;

/// Two writes within this time may leave a file with the same time of change.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// The files of a session, and how far a viewer has each of them.
#[derive(Default)]
pub(super) struct SessionCursor {
    files: Vec<SentFile>,
    /// The file to look at next.
    at: usize,
    /// The parts that the viewer says it has, of files that were not opened yet.
    have: Vec<FilePart>,
}

impl SessionCursor {
    /// Begins with what a viewer has.
    pub(super) fn new(have: Vec<FilePart>) -> SessionCursor {
        SessionCursor { have, ..SessionCursor::default() }
    }

    /// Reads the next bytes that the viewer lacks. Returns `None` if it has all that is written.
    ///
    /// `paths` are the files of the session in order. A file that is gone is left out.
    pub(super) fn next(&mut self, paths: &[PathBuf]) -> Option<FileBytes> {
        while let Some(path) = paths.get(self.at) {
            let known = self.files.iter().position(|file| file.path == *path);
            let index = match known {
                Some(index) => index,
                None => {
                    let name = name_of(path);
                    let part = self.have.iter().find(|part| part.file == name);
                    self.files.push(SentFile::new(path, part.map_or(0, |part| part.bytes)));
                    self.files.len() - 1
                }
            };
            // A file that cannot be read now may be readable at the next look.
            if let Ok(Some(content)) = self.files[index].next() {
                return Some(content);
            }
            self.at += 1;
        }
        // The newest file goes on, and a viewer may lack the end of the one before it.
        self.at = paths.len().saturating_sub(2);
        self.files.retain(|file| paths.contains(&file.path));
        None
    }
}

/// Returns the identity of the session that a file belongs to, once its header is written.
pub(super) fn session_of(path: &Path) -> Option<Session> {
    let (header, _) = Header::read(&mut File::open(path).ok()?).ok()?;
    Some(Session { session: header.seed, tool: header.tool })
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A file, and how far a viewer has it.
struct SentFile {
    path: PathBuf,
    /// Bytes that the viewer has for good.
    settled: u64,
    /// Bytes behind them that do not change any more.
    sendable: u64,
    /// The bytes behind both that the viewer has, which are written again.
    tail: SentTail,
    /// The file when all of it was sent; `None`: it may have changed since.
    seen: Option<FileStamp>,
}

/// The end of a file as it was sent.
#[derive(Default)]
struct SentTail {
    len: usize,
    hash: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    len: u64,
    changed: SystemTime,
}

impl FileStamp {
    /// Returns `None` for a file that was changed just now: another change might look the same.
    fn new(metadata: &Metadata) -> Option<FileStamp> {
        let changed = metadata.modified().ok()?;
        let is_old = SystemTime::now().duration_since(changed).is_ok_and(|age| age > CLOCK_STEP);
        is_old.then_some(FileStamp { len: metadata.len(), changed })
    }
}

impl SentFile {
    fn new(path: &Path, settled: u64) -> SentFile {
        let tail = SentTail::default();
        SentFile { path: path.to_owned(), settled, sendable: settled, tail, seen: None }
    }

    /// Reads the next bytes to send, if there are any.
    fn next(&mut self) -> io::Result<Option<FileBytes>> {
        let mut file = File::open(&self.path)?;
        let metadata = file.metadata()?;
        let stamp = FileStamp::new(&metadata);
        if stamp.is_some() && stamp == self.seen {
            return Ok(None);
        }
        self.seen = None;
        if metadata.len() < self.settled {
            // The file was written anew.
            *self = SentFile::new(&self.path, 0);
        }
        if self.settled == self.sendable {
            self.sendable = self.search(&mut file)?;
        }
        if self.settled < self.sendable {
            let len = (self.sendable - self.settled).min(MAX_CONTENT_BYTES as u64);
            let content = self.content(self.settled, read(&mut file, self.settled, len)?, true);
            self.settled += content.bytes.len() as u64;
            self.tail = SentTail::default();
            return Ok((!content.bytes.is_empty()).then_some(content));
        }
        let tail = read(&mut file, self.settled, SEARCH_BYTES)?;
        let Some(from) = self.tail.end_in(&tail) else {
            self.seen = stamp;
            return Ok(None);
        };
        let to = tail.len().min(from + MAX_CONTENT_BYTES);
        self.tail = SentTail { len: to, hash: XxHash3_64::oneshot(&tail[..to]) };
        Ok(Some(self.content(self.settled + from as u64, tail[from..to].to_vec(), false)))
    }

    /// Returns the offset of the end of what does not change any more.
    fn search(&self, file: &mut File) -> io::Result<u64> {
        file.seek(SeekFrom::Start(self.settled))?;
        let part = BufReader::new(&*file).take(SEARCH_BYTES);
        let end = settled_end(part, self.settled).map_err(|error| io::Error::other(error.to_string()))?;
        let searched = self.settled + SEARCH_BYTES;
        // More than a writer ever writes again.
        let is_damaged = end == self.settled && file.metadata()?.len() > searched;
        Ok(if is_damaged { searched } else { end })
    }

    fn content(&self, offset: u64, bytes: Vec<u8>, is_final: bool) -> FileBytes {
        FileBytes { file: name_of(&self.path), offset, bytes, is_final }
    }
}

impl SentTail {
    /// Returns where the bytes begin that the viewer lacks; `None`: it has these and no others.
    fn end_in(&self, tail: &[u8]) -> Option<usize> {
        if tail.is_empty() && self.len == 0 {
            return None;
        }
        let goes_on = tail.get(..self.len).is_some_and(|sent| XxHash3_64::oneshot(sent) == self.hash);
        let from = if goes_on { self.len } else { 0 };
        (from < tail.len() || from < self.len).then_some(from)
    }
}

fn read(file: &mut File, from: u64, len: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}
