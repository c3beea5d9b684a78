//! File access: the only part of opening a source that touches the file system.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::sources::pcap;
use crate::sources::record::{
    self, FileFormat, Header, Loaded, RecordReadError, RecordingPart, RecordingReader,
};
use crate::wire::content::Catalog;

use super::{HEAD_BYTES, SourceError};

/// Levels of folders that are searched for files.
const MAX_FOLDER_DEPTH: usize = 8;

/// Sessions that an error names.
const MAX_NAMED_SESSIONS: usize = 5;

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

/// Size of a file, or of the recordings in a folder, in bytes; 0 if it cannot be read.
pub(in crate::sources) fn size_of(path: &Path) -> u64 {
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    if !path.is_dir() {
        return size(path);
    }
    recordings_in(path).unwrap_or_default().iter().map(|path| size(path)).sum()
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

/// Lists the files of the session in a folder, in order of time.
fn session_in(dir: &Path) -> Result<VecDeque<PathBuf>, RecordReadError> {
    let mut files = Vec::new();
    for path in recordings_in(dir)? {
        // A file without a header has no content.
        if let Ok((header, _)) = Header::read(&mut File::open(&path)?) {
            files.push((header.created, path, header.seed));
        }
    }
    files.sort();
    let mut seeds = HashSet::new();
    let firsts: Vec<&Path> =
        files.iter().filter(|(.., seed)| seeds.insert(*seed)).map(|(_, path, _)| path.as_path()).collect();
    if firsts.len() > 1 {
        let names = firsts.iter().take(MAX_NAMED_SESSIONS).map(|path| path.display().to_string());
        let files = names.collect::<Vec<_>>().join(", ");
        return Err(RecordReadError::ManySessions { sessions: firsts.len(), files });
    }
    Ok(files.into_iter().map(|(_, path, _)| path).collect())
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
    if path.is_dir() {
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
/// A folder stands for the files of one session. Returns `None` if the file is not a recording, or
/// not a regular file, and for a folder without recordings.
///
/// # Errors
///
/// The file can't be read, or its header is damaged.
pub fn start_recording(
    path: &Path,
) -> Result<Option<(Catalog, RecordingReader<impl Read>)>, RecordReadError> {
    start_session(match path.is_dir() {
        true => session_in(path)?,
        false => VecDeque::from([path.to_owned()]),
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

fn start_session(
    mut files: VecDeque<PathBuf>,
) -> Result<Option<(Catalog, RecordingReader<impl Read>)>, RecordReadError> {
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
