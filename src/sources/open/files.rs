//! File access: the only part of opening a source that touches the file system.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::pcap;
use crate::record::{
    self, FileFormat, FolderSession, Header, Loaded, RecordReadError, RecordingPart, RecordingReader,
};
use xdscope_wire::content::Catalog;

use super::{HEAD_BYTES, SourceError};

/// Levels of folders that are searched for files.
const MAX_FOLDER_DEPTH: usize = 8;

/// The start of a file, and its size in bytes.
pub(super) struct FileHead {
    pub(super) bytes: Vec<u8>,
    pub(super) size: u64,
}

pub(super) fn head(path: &Path) -> io::Result<FileHead> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(FileHead { bytes, size })
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Size of a file, or of the recordings that a path stands for, in bytes; 0 if it cannot be read.
pub fn size_of(path: &Path) -> u64 {
    files_of(path).iter().map(|path| fs::metadata(path).map_or(0, |file| file.len())).sum()
}

/// Returns the file, or the recordings that a path stands for.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    match first_of_session(path) {
        Some(first) => session_from(&first).unwrap_or_default().into(),
        None if path.is_dir() => recordings_in(path).unwrap_or_default(),
        None => vec![path.to_owned()],
    }
}

/// The end of a path that stands for a file and those that follow it in its session.
const AND_FOLLOWING: char = '+';

/// Returns the first file of a path such as `today.xdsrec+`, which stands for a file and those that
/// follow it in its session.
pub fn first_of_session(path: &Path) -> Option<PathBuf> {
    let first = PathBuf::from(path.to_str()?.strip_suffix(AND_FOLLOWING)?);
    (!path.exists() && first.is_file()).then_some(first)
}

/// Lists the recordings in a folder.
fn recordings_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = fs::read_dir(dir)?.collect();
    let paths = entries?.into_iter().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|end| end == "xdsrec") && path.is_file()).collect())
}

/// Whether a folder has recordings.
pub(super) fn has_recordings(dir: &Path) -> bool {
    recordings_in(dir).is_ok_and(|paths| !paths.is_empty())
}

/// A file of a session.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SessionPart {
    created: u64,
    path: PathBuf,
    seed: u64,
}

/// Lists the files of all sessions in a folder, in order of time.
fn parts_in(dir: &Path) -> io::Result<Vec<SessionPart>> {
    let mut parts = Vec::new();
    for path in recordings_in(dir)? {
        // A file without a header has no content.
        if let Ok((header, _)) = Header::read(&mut File::open(&path)?) {
            parts.push(SessionPart { created: header.created, path, seed: header.seed });
        }
    }
    parts.sort();
    Ok(parts)
}

/// Lists the files of the session in a folder, in order of time.
fn session_in(dir: &Path) -> Result<VecDeque<PathBuf>, RecordReadError> {
    let parts = parts_in(dir)?;
    let mut sessions: Vec<(u64, FolderSession)> = Vec::new();
    for SessionPart { path, seed, .. } in &parts {
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        match sessions.iter_mut().find(|(known, _)| known == seed) {
            Some((_, session)) => {
                session.files += 1;
                session.bytes += bytes;
            }
            None => sessions.push((*seed, FolderSession { first: path.clone(), files: 1, bytes })),
        }
    }
    if sessions.len() > 1 {
        let sessions = sessions.into_iter().map(|(_, session)| session).collect();
        return Err(RecordReadError::ManySessions { sessions });
    }
    Ok(parts.into_iter().map(|part| part.path).collect())
}

/// Lists a file and those that follow it in its session, in order of time.
fn session_from(first: &Path) -> Result<VecDeque<PathBuf>, RecordReadError> {
    let dir = first.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (header, _) = Header::read(&mut File::open(first)?)?;
    let name = first.file_name();
    let is_later = |part: &SessionPart| {
        part.seed == header.seed && part.created >= header.created && part.path.file_name() != name
    };
    let later = parts_in(dir)?.into_iter().filter(is_later).map(|part| part.path);
    Ok([first.to_owned()].into_iter().chain(later).collect())
}

/// A packet capture, and a second handle that tells how far it was read.
pub(crate) struct CaptureFile {
    pub(crate) file: File,
    position: Option<File>,
}

impl CaptureFile {
    /// Splits off the handle that tells the position, in bytes.
    pub(crate) fn into_parts(self) -> (File, impl Fn() -> u64) {
        let position = self.position;
        (self.file, move || position.as_ref().and_then(|mut file| file.stream_position().ok()).unwrap_or(0))
    }
}

/// Opens a file, unless it is a pipe or another special file.
fn open_regular(path: &Path) -> Option<File> {
    if path.is_file() { File::open(path).ok() } else { None }
}

/// Opens a file if it is a packet capture.
pub(crate) fn capture_file(path: &Path) -> Option<CaptureFile> {
    let mut file = open_regular(path)?;
    let mut head = [0; 16];
    file.read_exact(&mut head).ok()?;
    file.rewind().ok()?;
    // Both handles share one position.
    pcap::is_capture(&head).then(|| CaptureFile { position: file.try_clone().ok(), file })
}

/// Opens a file if it is raw JSONL.
pub(crate) fn raw_file(path: &Path) -> Option<BufReader<File>> {
    let mut input = BufReader::with_capacity(HEAD_BYTES.max(64 << 10), open_regular(path)?);
    // A capture is no JSON, so that its first bytes need no look.
    (record::detect(input.fill_buf().ok()?) == FileFormat::Raw).then_some(input)
}

/// Opens a recording or raw JSONL, whichever the file's content says.
///
/// The bodies of a recording stay in the file and are read on demand, for as long as the catalog is
/// in use. A pipe or another special file is read to its end.
///
/// # Errors
///
/// The file can't be read, or is neither a recording nor raw JSONL.
pub fn open_recording(path: &Path) -> Result<Loaded, RecordReadError> {
    if path.is_dir() || first_of_session(path).is_some() {
        let (catalog, reading) = start_recording(path)?.ok_or(RecordReadError::Unknown)?;
        return reading.read_all(catalog);
    }
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return record::read(file);
    }
    record::open(file, File::open(path)?)
}

/// Starts reading a recording frame by frame.
///
/// A folder stands for the files of one session, and `FILE+` for a file and those that follow it.
/// Returns `None` if the file is not a recording, or
/// not a regular file, and for a folder without recordings.
///
/// # Errors
///
/// The file can't be read, or its header is damaged.
pub fn start_recording(
    path: &Path,
) -> Result<Option<(Catalog, RecordingReader<impl Read + use<>>)>, RecordReadError> {
    start_session(match first_of_session(path) {
        Some(first) => session_from(&first)?,
        None if path.is_dir() => session_in(path)?,
        None => VecDeque::from([path.to_owned()]),
    })
}

/// Opens the files of one session, in order.
///
/// # Errors
///
/// The first file can't be read, or is not a recording.
pub fn open_session(files: &[PathBuf]) -> Result<Loaded, RecordReadError> {
    match files {
        [file] => open_recording(file),
        files => {
            let started = start_session(files.iter().cloned().collect())?;
            let (catalog, reading) = started.ok_or(RecordReadError::Unknown)?;
            reading.read_all(catalog)
        }
    }
}

/// Opens the first file of a session; `None` if it is not a recording.
pub(crate) fn start_session(
    mut files: VecDeque<PathBuf>,
) -> Result<Option<(Catalog, RecordingReader<impl Read + use<>>)>, RecordReadError> {
    let Some(first) = files.pop_front() else { return Ok(None) };
    let mut input = BufReader::new(File::open(&first)?);
    let is_file = input.get_ref().metadata()?.is_file();
    if !is_file || record::detect(input.fill_buf()?) != FileFormat::Recording {
        return Ok(None);
    }
    let (catalog, reading) = RecordingReader::new(input, File::open(&first)?)?;
    if files.is_empty() {
        return Ok(Some((catalog, reading)));
    }
    let next = move || {
        let path = files.pop_front()?;
        let name = name_of(&path);
        let opened = File::open(&path).and_then(|input| Ok((BufReader::new(input), File::open(&path)?)));
        Some(match opened {
            Ok((input, source)) => Ok(RecordingPart::new(name, input, source)),
            Err(error) => Err((name, error)),
        })
    };
    Ok(Some((catalog, reading.followed_by(name_of(&first), next))))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Lists the files below `dir` that `is_wanted` accepts, sorted by path. Hidden files and folders
/// are left out.
///
/// # Errors
/// A folder cannot be read.
pub fn list_files(dir: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, SourceError> {
    list_first_files(dir, usize::MAX, is_wanted).map(|(files, _)| files)
}

/// Lists files like [`list_files`] among the first `most` files and folders below `dir`. Returns
/// whether there are more.
///
/// # Errors
/// A folder cannot be read.
pub(super) fn list_first_files(
    dir: &Path,
    most: usize,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<(Vec<PathBuf>, bool), SourceError> {
    let mut list = FileList { is_wanted, left: most, has_more: false, files: Vec::new() };
    list.add_below(dir, MAX_FOLDER_DEPTH)?;
    Ok((list.files, list.has_more))
}

/// The files below a folder, while they are listed.
struct FileList<'a> {
    is_wanted: &'a dyn Fn(&Path) -> bool,
    /// Files and folders to look at.
    left: usize,
    has_more: bool,
    files: Vec<PathBuf>,
}

impl FileList<'_> {
    /// Adds the files of a folder and of the folders in it, up to a depth.
    fn add_below(&mut self, dir: &Path, depth: usize) -> Result<(), SourceError> {
        let failed = |source: io::Error| SourceError::Io { name: dir.display().to_string(), source };
        let mut entries = fs::read_dir(dir).map_err(failed)?;
        let first: Result<Vec<_>, _> = entries.by_ref().take(self.left).collect();
        self.has_more |= entries.next().is_some();
        let mut paths: Vec<PathBuf> = first.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
        self.left -= paths.len();
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            if path.is_dir() && depth > 0 {
                self.add_below(&path, depth - 1)?;
            } else if path.is_file() && (self.is_wanted)(&path) {
                self.files.push(path);
            }
        }
        Ok(())
    }
}
