//! File access: the only part of opening a source that touches the file system.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::sources::pcap;
use crate::sources::record::{self, FileFormat, Loaded, RecordReadError, RecordingReader};
use crate::wire::content::Catalog;

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

/// Reads a file, or its first `limit` bytes.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

/// Size of a file in bytes; 0 if it cannot be read.
pub(in crate::sources) fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// A packet capture, and a second handle that tells how far it was read.
pub(in crate::sources) struct CaptureFile {
    pub(in crate::sources) file: File,
    position: Option<File>,
}

impl CaptureFile {
    /// Splits off the handle that tells the position, in bytes.
    pub(in crate::sources) fn into_parts(self) -> (File, impl Fn() -> u64) {
        let position = self.position;
        (self.file, move || position.as_ref().and_then(|mut file| file.stream_position().ok()).unwrap_or(0))
    }
}

/// Opens a file if it is a packet capture.
pub(in crate::sources) fn capture_file(path: &Path) -> Option<CaptureFile> {
    let mut file = File::open(path).ok().filter(|_| path.is_file())?;
    let mut head = [0; 16];
    file.read_exact(&mut head).ok()?;
    file.rewind().ok()?;
    // Both handles share one position.
    pcap::is_capture(&head).then(|| CaptureFile { position: file.try_clone().ok(), file })
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
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return record::read(file);
    }
    record::open(file, File::open(path)?)
}

/// Starts reading a recording frame by frame.
///
/// Returns `None` if the file is not a recording, or not a regular file.
///
/// # Errors
///
/// The file can't be read, or its header is damaged.
pub fn start_recording(
    path: &Path,
) -> Result<Option<(Catalog, RecordingReader<impl Read>)>, RecordReadError> {
    let mut input = BufReader::new(File::open(path)?);
    let is_file = input.get_ref().metadata()?.is_file();
    if is_file && record::detect(input.fill_buf()?) == FileFormat::Recording {
        return RecordingReader::new(input, File::open(path)?).map(Some);
    }
    Ok(None)
}

/// Lists the files below `dir` that `is_wanted` accepts, sorted by path. Hidden files and folders
/// are left out.
///
/// # Errors
/// A folder cannot be read.
pub fn list_files(dir: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, SourceError> {
    let mut files = Vec::new();
    list_below(dir, MAX_FOLDER_DEPTH, is_wanted, &mut files)?;
    Ok(files)
}

fn list_below(
    dir: &Path,
    depth: usize,
    is_wanted: &dyn Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    let failed = |source: io::Error| SourceError::Io { name: dir.display().to_string(), source };
    let entries: Result<Vec<_>, _> = fs::read_dir(dir).map_err(failed)?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        if path.is_dir() && depth > 0 {
            list_below(&path, depth - 1, is_wanted, files)?;
        } else if path.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}
