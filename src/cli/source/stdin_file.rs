//! Standard input in a file, so that it need not fit into memory.

use std::io::{self, Cursor, Read};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::app::recording::session_dir;
use xdscope_sources::SourceFormat;

use crate::cli::terminal::io::Io;

/// Bytes of the start that tell the format.
const HEAD_BYTES: u64 = 8 << 10;

/// Copies a long form of standard input, such as a recording, to a file without a name. Returns a
/// path to the file, which exists as long as this process.
///
/// Returns `None` for other forms, and on systems without `/proc/self/fd`: `io.stdin` still has all
/// of the input then.
pub(crate) fn keep(io: &mut Io<'_>) -> io::Result<Option<PathBuf>> {
    let mut input = std::mem::replace(&mut io.stdin, Box::new(io::empty()));
    let mut head = Vec::new();
    (&mut input).take(HEAD_BYTES).read_to_end(&mut head)?;
    let is_long = matches!(
        xdscope_sources::format_of_start(&head),
        SourceFormat::Recording | SourceFormat::Raw | SourceFormat::Capture
    );
    let mut input = Cursor::new(head).chain(input);
    // The shared temporary folder may be in memory.
    let folder = io.state_dir().filter(|dir| session_dir::create_private_dir(dir).is_ok());
    let mut file = tempfile::tempfile_in(folder.unwrap_or_else(std::env::temp_dir))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if !is_long || !path.exists() {
        io.stdin = Box::new(input);
        return Ok(None);
    }
    io::copy(&mut input, &mut file)?;
    // The open file is what the path leads to.
    io.stdin = Box::new(file);
    Ok(Some(path))
}
