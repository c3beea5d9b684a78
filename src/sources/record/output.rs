//! Where a writer's bytes go.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// An output that grows, and perhaps can be written over at its end.
pub(super) trait Output: Send {
    /// Writes at `at`: the end, unless it [`rewrites`](Output::rewrites).
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Hands on what is held back.
    fn flush(&mut self) -> io::Result<()>;

    /// Its length, where that can be told.
    fn end(&mut self) -> Option<u64>;

    /// Whether what was written can be replaced.
    fn rewrites(&self) -> bool;

    /// Cuts off what is behind `len`. Only where it rewrites.
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

/// A regular file; nothing is held back.
impl Output for File {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Option<u64> {
        self.seek(SeekFrom::End(0)).ok()
    }

    fn rewrites(&self) -> bool {
        true
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}
