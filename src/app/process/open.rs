//! Opens and reads files that users name or editors leave, which may be anything.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use xdscope_wire::text::{has_utf16_mark, without_mark};

/// Most bytes of a bootstrap, or of a node.
const MAX_BOOTSTRAP_BYTES: u64 = 16 << 20;

/// Reads the text of a bootstrap, or of a node.
///
/// # Errors
/// As for [`read_text`], and if the file cannot be opened.
pub fn bootstrap(path: &Path) -> io::Result<String> {
    read_text(File::open(path)?, MAX_BOOTSTRAP_BYTES)
}

/// Reads a text without its byte order mark.
///
/// # Errors
/// The file cannot be read, is longer than `max` bytes, or is not in UTF-8.
pub fn read_text(file: File, max: u64) -> io::Result<String> {
    let mut content = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > max {
        let text = format!("the file is larger than {} MiB", max >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, text));
    }
    if has_utf16_mark(&content) {
        return Err(io::Error::new(ErrorKind::InvalidData, "the text is in UTF-16, and must be in UTF-8"));
    }
    let text = std::str::from_utf8(without_mark(&content));
    text.map(str::to_owned).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Opens a file to read. Refuses a named pipe, which would block until somebody writes to it.
///
/// # Errors
/// The file cannot be opened, or is a named pipe.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a named pipe, not a file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_texts_of_a_limited_size_in_utf8() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).expect("a file");
            let file = File::open(&path).expect("a file");
            read_text(file, 1 << 20).map_err(|error| error.to_string())
        };
        assert_eq!(read("\u{feff}text".as_bytes()).as_deref(), Ok("text"));
        let utf16 = read(b"\xff\xfet\0").expect_err("UTF-16");
        assert_eq!(utf16, "the text is in UTF-16, and must be in UTF-8");
        assert!(read(b"\xe4").is_err());
        let large = read(&vec![b' '; (1 << 20) + 1]).expect_err("too large");
        assert_eq!(large, "the file is larger than 1 MiB");
    }
}
