//! A file that a verb writes: complete, or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::app::recording::recording_file;
use crate::app::recording::recording_file::Replaces;

use crate::cli::args::ExportTo;
use crate::cli::error::CliError;
use crate::cli::source::offline;
use crate::cli::terminal::io::Io;

/// The argument of `--output` that stands for stdout.
const STDOUT: &str = "-";

/// Returns the file that `--output` names; `None` for stdout.
pub(crate) fn named(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| *path != Path::new(STDOUT))
}

/// The suffix of a file that is not complete.
const PART_SUFFIX: &str = ".part";

/// A file that is written. It appears under its name when it is complete.
pub(crate) struct OutputFile {
    path: PathBuf,
    replaces: Replaces,
    out: BufWriter<Destination>,
}

enum Destination {
    /// A file beside the target, which takes its place.
    Part {
        part: NamedTempFile,
        target: PathBuf,
        /// The file at the target that is replaced, locked.
        replaced: Option<File>,
    },
    /// A pipe or a device.
    Direct(File),
}

impl OutputFile {
    /// Creates a file that only its owner can read, since a session may hold secrets. Refuses to
    /// overwrite the source, which would be lost.
    pub(crate) fn create(
        path: &Path,
        to: ExportTo,
        source: &str,
        force: bool,
        io: &Io<'_>,
    ) -> Result<OutputFile, CliError> {
        if is_source(path, source, io) {
            let error = CliError::usage(format!("{} is the source: it would be overwritten", path.display()));
            return Err(error.next("--output OTHER-FILE"));
        }
        OutputFile::begin(path, replaced_by(to, force))
    }

    fn begin(path: &Path, replaces: Replaces) -> Result<OutputFile, CliError> {
        let out = Destination::open(path, replaces).map_err(|error| unwritable(path, replaces, error))?;
        Ok(OutputFile { path: path.to_owned(), replaces, out: BufWriter::new(out) })
    }

    /// Writes what is buffered, and gives the file its name.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let OutputFile { path, replaces, out } = self;
        let finished = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(Destination::finish);
        finished.map_err(|error| unwritable(&path, replaces, error))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Destination {
    fn open(path: &Path, replaces: Replaces) -> io::Result<Destination> {
        let found = std::fs::metadata(path);
        let (target, replaced) = match found {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                return OpenOptions::new().write(true).open(path).map(Destination::Direct);
            }
            Ok(_) => (path.canonicalize()?, Some(recording_file::claim(path, replaces)?)),
            Err(_) => {
                // Fails for a link without a target.
                recording_file::check_link(path)?;
                (path.to_owned(), None)
            }
        };
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::metadata(folder)?;
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".");
        // The crate creates files that only their owner can read.
        let part = tempfile::Builder::new().prefix(&name).suffix(PART_SUFFIX).tempfile_in(folder)?;
        Ok(Destination::Part { part, target, replaced })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Destination::Part { part, target, replaced: Some(_) } => part.persist(target)?,
            Destination::Part { part, target, replaced: None } => part.persist_noclobber(target)?,
            Destination::Direct(file) => file,
        };
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Destination::Part { part, .. } => part.write(bytes),
            Destination::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a file. Refuses to overwrite the source, which would be lost.
pub(crate) fn to_file<T>(
    path: &Path,
    to: ExportTo,
    source: &str,
    force: bool,
    io: &Io<'_>,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let mut file = OutputFile::create(path, to, source, force, io)?;
    let written = write(&mut file)?;
    file.finish()?;
    Ok(written)
}

/// Writes a text about a source. Refuses to overwrite the source, or any file without `force`.
pub(crate) fn save(path: &Path, force: bool, source: &str, text: &str, io: &Io<'_>) -> Result<(), CliError> {
    to_file(path, ExportTo::Md, source, force, io, |out| Ok(out.write_all(text.as_bytes())?))
}

/// Writes a file that has no source.
pub(crate) fn write(path: &Path, replaces: Replaces, content: &[u8]) -> Result<(), CliError> {
    let mut file = OutputFile::begin(path, replaces)?;
    file.write_all(content)?;
    file.finish()
}

/// Returns what an output of a format may replace.
fn replaced_by(to: ExportTo, force: bool) -> Replaces {
    match (force, to) {
        (false, _) => Replaces::Nothing,
        (true, ExportTo::Xdsrec) => Replaces::Recordings,
        (true, _) => Replaces::AnyFile,
    }
}

/// Creates or empties a file that only its owner can read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Describes why a file cannot be written.
fn unwritable(path: &Path, replaces: Replaces, error: io::Error) -> CliError {
    let exists = error.kind() == io::ErrorKind::AlreadyExists;
    let is_refused_link = error.kind() == io::ErrorKind::InvalidInput && path.is_symlink();
    let failed = CliError::unreadable(format!("cannot write {}", path.display())).because(error);
    match replaces {
        Replaces::Nothing if exists => failed.next("--output OTHER-FILE, or --force"),
        Replaces::Recordings if exists => failed.next("--output OTHER-FILE"),
        _ if is_refused_link => failed.next("--output with the file itself"),
        _ => failed,
    }
}

/// Whether a path names the source.
fn is_source(path: &Path, source: &str, io: &Io<'_>) -> bool {
    offline::find(source, io).is_ok_and(|read| is_same(&read, path))
}

/// Whether two paths name one file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn write(path: &Path, can_replace: bool, text: &[u8]) -> io::Result<Destination> {
        let replaces = if can_replace { Replaces::AnyFile } else { Replaces::Nothing };
        let mut out = Destination::open(path, replaces)?;
        out.write_all(text).map(|()| out)
    }

    #[test]
    fn appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.jsonl"), folder.path().join("link"));
        let entries = || std::fs::read_dir(folder.path()).unwrap().count();
        drop(write(&path, false, b"half of it").unwrap());
        assert_eq!(entries(), 0, "nothing is left of a failure");
        write(&path, false, b"one").unwrap().finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(write(&path, false, b"").err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        drop(write(&path, true, b"half of it").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"one", "a failure replaces nothing");
        symlink(&path, &link).unwrap();
        write(&link, true, b"two").unwrap().finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!((std::fs::read(&path).unwrap(), entries()), (b"two".to_vec(), 2));
    }

    #[test]
    fn is_refused_where_it_would_appear_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink(folder.path().join("nowhere"), &link).unwrap();
        assert!(write(&link, true, b"").err().unwrap().to_string().contains("nowhere"));
        assert!(write(folder.path(), true, b"").is_err());
        assert!(write(&folder.path().join("missing/a"), true, b"").is_err());
        let later = folder.path().join("later");
        let out = write(&later, false, b"ours").unwrap();
        std::fs::write(&later, "theirs").unwrap();
        assert!(out.finish().is_err(), "the file was created meanwhile");
        assert_eq!(std::fs::read(&later).unwrap(), b"theirs");
    }
}
