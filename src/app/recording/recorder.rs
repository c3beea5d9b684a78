//! The session file of a live run, and the files that follow it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::recording_file::{self, Rotation, SessionFile};
use xdscope_sources::record::{Header, Writer};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::Time;
use xdscope_wire::text::plural;

/// How often new frames reach the file: `kill -9` loses no more than this.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// How often a recording that a write error stopped is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How often the file is checked for removal.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Names that are tried for the next file of a session.
const MAX_NAMES: u32 = 1000;

/// Messages to the user that may wait.
const MAX_NEWS: usize = 16;

/// A recording that a write error stopped, for now.
#[derive(Debug, thiserror::Error)]
#[error("recording to {} stopped: {source}", .path.display())]
pub struct RecordingStopped {
    path: PathBuf,
    source: io::Error,
}

/// Writes frames to session files. A write error costs frames, not the run.
pub struct Recorder {
    files: SessionFiles,
    header: Header,
    writer: Writer,
    flushed: Instant,
    dirty: bool,
    stopped: Option<RecordingStopped>,
    /// When to try again after an error.
    retry: Instant,
    news: Vec<String>,
}

impl Recorder {
    /// Begins a recording in a file, in place of what the file holds.
    pub fn new(session: SessionFile, header: Header) -> io::Result<Recorder> {
        let SessionFile { path, file, rotation } = session;
        recording_file::empty(&file)?;
        let files = SessionFiles::new(path, &file, rotation)?;
        let writer = Writer::in_file(file, header.clone())?;
        let now = Instant::now();
        Ok(Recorder {
            files,
            header,
            writer,
            flushed: now,
            dirty: true,
            stopped: None,
            retry: now,
            news: Vec::new(),
        })
    }

    /// Returns the path of the current file.
    pub fn path(&self) -> &Path {
        &self.files.path
    }

    /// Returns the paths of all files of the session that are kept, in order.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.ended.iter().chain([&self.files.path]).cloned().collect()
    }

    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) {
        self.dirty = true;
        if self.is_waiting() {
            return self.writer.skip(frame);
        }
        if self.files.is_removed || self.files.are_full(self.writer.bytes_written()) {
            let result = self.begin_next(catalog);
            if result.is_err() && self.files.is_removed {
                self.note(result);
                return self.writer.skip(frame);
            }
            self.note(result);
        }
        let result = self.writer.write(frame, catalog);
        self.note(result);
    }

    /// Marks the contents of the newest responses as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.writer.mark(used);
    }

    /// Forgets contents that the catalog has dropped.
    pub fn forget(&mut self, used: &UsedContent) {
        self.writer.forget(used);
    }

    /// Writes new frames to the file, if it is time.
    pub fn flush(&mut self, now: Time) {
        self.writer.advance(now);
        match self.files.check() {
            Some(FileChange::Removed) => {
                self.tell(format!("{} was removed, with the session so far", self.files.path.display()));
            }
            Some(FileChange::Moved(to)) => self.tell(format!(
                "{} was moved or replaced: recording goes on in {}",
                self.files.path.display(),
                to.map_or("the moved file".to_owned(), |to| to.display().to_string())
            )),
            None => {}
        }
        // A removed file keeps nothing, and the next frame begins another one.
        self.dirty &= !self.files.is_removed;
        if self.is_waiting() || !self.dirty || self.flushed.elapsed() < FLUSH_INTERVAL {
            return;
        }
        let result = self.writer.flush();
        self.flushed = Instant::now();
        match result {
            Ok(()) => {
                self.dirty = false;
                if self.stopped.take().is_some() {
                    let (path, missing) =
                        (self.files.path.display(), plural(self.writer.take_missing(), "message"));
                    self.tell(format!("recording to {path} goes on: {missing} missing"));
                }
            }
            failed => self.note(failed),
        }
    }

    /// Returns when [`flush`](Recorder::flush) has something to do; `None`: not before the next
    /// frame.
    pub fn due(&self) -> Option<Duration> {
        let flush = FLUSH_INTERVAL.saturating_sub(self.flushed.elapsed());
        let retry = self.retry.saturating_duration_since(Instant::now());
        self.dirty.then(|| if self.stopped.is_some() { flush.max(retry) } else { flush })
    }

    /// Whether an error was so recent that another attempt is too early.
    fn is_waiting(&self) -> bool {
        self.stopped.is_some() && Instant::now() < self.retry
    }

    fn note(&mut self, result: io::Result<()>) {
        let Err(source) = result else { return };
        self.retry = Instant::now() + RETRY_INTERVAL;
        let stopped = RecordingStopped { path: self.files.path.clone(), source };
        if self.stopped.is_none() {
            self.tell(format!("{stopped}; xdscope tries again every second"));
        }
        self.stopped = Some(stopped);
    }

    fn tell(&mut self, text: String) {
        if self.news.len() < MAX_NEWS {
            self.news.push(text);
        }
    }

    /// Takes messages to the user about files.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Goes on in the next file, or in a new one in place of one that was removed.
    fn begin_next(&mut self, catalog: &Catalog) -> io::Result<()> {
        let ended = self.writer.bytes_written();
        let (path, file) = self.files.create_next()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let created = now.and_then(|now| u64::try_from(now.as_nanos()).ok());
        let header = Header { created: created.unwrap_or(self.header.created), ..self.header.clone() };
        let handle = file.try_clone()?;
        self.writer.rotate(file, &header, catalog)?;
        if self.files.is_removed {
            self.tell(format!("recording goes on in {}", path.display()));
        }
        if let Err(error) = self.files.take_next(path, handle, ended) {
            self.tell(error);
        }
        Ok(())
    }

    /// Returns the size of all files of the session.
    pub fn bytes(&self) -> u64 {
        self.files.ended_bytes + self.writer.bytes_written()
    }

    /// Returns the error that stops the recording at present.
    pub fn error(&self) -> Option<&RecordingStopped> {
        self.stopped.as_ref()
    }

    /// Completes the file, and finds its path.
    pub fn finish(mut self) -> FinishedRecording {
        let flushed = self.writer.flush();
        let missing = self.writer.take_missing();
        let Recorder { files, writer, mut news, .. } = self;
        let path = files.path.clone();
        let result = flushed.and_then(|()| writer.finish());
        let place = files.place();
        match place {
            FilePlace::Removed => news.push(format!("{} was removed: nothing of it is kept", path.display())),
            _ if missing > 0 => {
                news.push(format!("{} missing at the end of {}", plural(missing, "message"), path.display()));
            }
            _ => {}
        }
        let (mut paths, mut bytes) = (Vec::from(files.ended), files.ended_bytes);
        let current = match place {
            FilePlace::AsNamed => Some(path.clone()),
            FilePlace::Moved(to) => to,
            FilePlace::Removed => None,
        };
        if let Some(current) = current {
            paths.push(current);
            bytes += files.handle.metadata().map_or(0, |file| file.len());
        }
        let error = result.err().map(|source| RecordingStopped { path, source });
        FinishedRecording { paths, bytes, news, error }
    }
}

/// The files that remain of a recording that has ended.
pub struct FinishedRecording {
    /// The files of the session that are kept, in order.
    pub paths: Vec<PathBuf>,
    /// The size of these files.
    pub bytes: u64,
    /// Messages to the user about files.
    pub news: Vec<String>,
    /// Why the last file is not complete.
    pub error: Option<RecordingStopped>,
}

/// A change of the file that its writer did not make.
enum FileChange {
    Removed,
    /// The new path, if it is known.
    Moved(Option<PathBuf>),
}

/// The place of the current file.
enum FilePlace {
    AsNamed,
    /// The new path, if it is known.
    Moved(Option<PathBuf>),
    Removed,
}

/// The files of a session: the current one, and those that are complete.
struct SessionFiles {
    path: PathBuf,
    /// A second handle on the current file.
    handle: File,
    /// The path of the first file, after which the others are named.
    first: PathBuf,
    /// The number of the current file.
    number: u32,
    begun: Instant,
    rotation: Rotation,
    ended: VecDeque<PathBuf>,
    ended_bytes: u64,
    checked: Instant,
    is_removed: bool,
    is_moved: bool,
}

impl SessionFiles {
    fn new(path: PathBuf, file: &File, rotation: Rotation) -> io::Result<SessionFiles> {
        let handle = file.try_clone()?;
        let now = Instant::now();
        Ok(SessionFiles {
            first: path.clone(),
            path,
            handle,
            number: 1,
            begun: now,
            rotation,
            ended: VecDeque::new(),
            ended_bytes: 0,
            checked: now,
            is_removed: false,
            is_moved: false,
        })
    }

    fn are_full(&self, bytes: u64) -> bool {
        self.rotation.max_bytes.is_some_and(|max| bytes >= max)
            || self.rotation.max_age.is_some_and(|max| self.begun.elapsed() >= max)
    }

    /// Checks from time to time whether the file is still at its path. Returns a change once.
    fn check(&mut self) -> Option<FileChange> {
        if self.checked.elapsed() < CHECK_INTERVAL || self.is_removed {
            return None;
        }
        self.checked = Instant::now();
        match self.place() {
            FilePlace::Removed => {
                self.is_removed = true;
                Some(FileChange::Removed)
            }
            FilePlace::Moved(to) if !std::mem::replace(&mut self.is_moved, true) => {
                Some(FileChange::Moved(to))
            }
            FilePlace::Moved(_) | FilePlace::AsNamed => None,
        }
    }

    /// Finds the path of the current file.
    fn place(&self) -> FilePlace {
        #[cfg(unix)]
        if let Ok(own) = self.handle.metadata() {
            use std::os::fd::AsRawFd;
            use std::os::unix::fs::MetadataExt;
            if own.nlink() == 0 {
                return FilePlace::Removed;
            }
            let is_own = |path: &Path| {
                let there = std::fs::metadata(path);
                there.is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
            };
            if !is_own(&self.path) {
                // Linux knows the path of an open file.
                let link = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
                return FilePlace::Moved(std::fs::read_link(link).ok().filter(|path| is_own(path)));
            }
        }
        FilePlace::AsNamed
    }

    /// Creates the file after the current one: `session-2.xdsrec` after `session.xdsrec`.
    fn create_next(&mut self) -> io::Result<(PathBuf, File)> {
        let path = self.path.clone();
        if self.is_removed {
            match recording_file::create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|file| (path, file)),
            }
        }
        for number in self.number + 1..=self.number + MAX_NAMES {
            let path = numbered(&self.first, number);
            match recording_file::create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    self.number = number;
                    return created.map(|file| (path, file));
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "the names of the next files are taken"))
    }

    /// Makes a file the current one, and removes the oldest files.
    fn take_next(&mut self, path: PathBuf, handle: File, ended_bytes: u64) -> Result<(), String> {
        let before = std::mem::replace(&mut self.path, path);
        if !std::mem::take(&mut self.is_removed) {
            self.ended.push_back(before);
            self.ended_bytes += ended_bytes;
        }
        (self.handle, self.begun, self.is_moved) = (handle, Instant::now(), false);
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        while self.ended.len() + 1 > keep.max(1) {
            let Some(oldest) = self.ended.pop_front() else { break };
            let len = std::fs::metadata(&oldest).map_or(0, |file| file.len());
            match std::fs::remove_file(&oldest) {
                Ok(()) => self.ended_bytes = self.ended_bytes.saturating_sub(len),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot remove {}: {error}", oldest.display())),
            }
        }
        Ok(())
    }
}

/// Returns the name of a later file of a session.
fn numbered(first: &Path, number: u32) -> PathBuf {
    let mut name = first.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = first.extension() {
        name.push(".");
        name.push(extension);
    }
    first.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_files_before_the_extension() {
        assert_eq!(numbered(Path::new("a/session.xdsrec"), 2), Path::new("a/session-2.xdsrec"));
        assert_eq!(numbered(Path::new("session"), 12), Path::new("session-12"));
    }
}
