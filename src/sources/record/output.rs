//! The destinations of a recording.

use std::io::{self, Seek, SeekFrom, Write};

/// A growing output whose end can perhaps be overwritten.
pub(super) trait Output: Send {
    /// Writes at `at`, which is the end unless the output [`rewrites`](Output::rewrites).
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes out buffered bytes.
    fn flush(&mut self) -> io::Result<()>;

    /// Returns the length, if known.
    fn end(&mut self) -> Option<u64>;

    /// Returns whether written bytes can be replaced.
    fn rewrites(&self) -> bool;

    /// Cuts off everything behind `len`. Supported only if the output rewrites.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

/// An output that only grows: a pipe, a buffer.
pub(super) struct Growing<W>(pub W);

impl<W: Write + Send> Output for Growing<W> {
    fn write_at(&mut self, _: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn end(&mut self) -> Option<u64> {
        None
    }

    fn rewrites(&self) -> bool {
        false
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A regular file: its end can be written over and cut off.
pub trait RewritableFile: Seek + Write + Send {
    /// Cuts the file off behind `len` bytes.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    fn set_len(&mut self, len: u64) -> io::Result<()>;
}

#[allow(clippy::disallowed_types)]
impl RewritableFile for std::fs::File {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        std::fs::File::set_len(self, len)
    }
}

/// A regular file. Writes are not buffered.
pub(super) struct Rewritable<F>(pub F);

impl<F: RewritableFile> Output for Rewritable<F> {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(at))?;
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Option<u64> {
        self.0.seek(SeekFrom::End(0)).ok()
    }

    fn rewrites(&self) -> bool {
        true
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}
