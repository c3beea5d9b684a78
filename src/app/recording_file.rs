//! Recordings as files: creating and writing them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::sources::record::{Header, MAGIC, RewritableFile, Writer};

impl RewritableFile for File {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }
}

/// Creates the file of a recording, readable by its owner only (0600).
///
/// # Errors
///
/// The file can't be created, or exists and is neither empty nor a recording.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    if file.metadata()?.is_file() {
        let mut magic = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if !magic.is_empty() && magic != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the file exists and is not a recording",
            ));
        }
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(file)
}

/// Writes the header of a recording to an empty file, or to a pipe.
///
/// # Errors
///
/// The file can't be written.
pub fn writer(file: File, header: Header) -> io::Result<Writer> {
    if file.metadata()?.is_file() { Writer::in_file(file, header) } else { Writer::new(file, header) }
}
