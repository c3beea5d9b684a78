//! Wakes the event loop from other threads.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes an event loop that waits on the other end.
#[derive(Clone, Debug)]
pub struct Waker(Arc<WakerState>);

#[derive(Debug)]
struct WakerState {
    pipe: PipeWriter,
    /// The pipe has a byte, so no further one is written: a write never blocks.
    is_set: AtomicBool,
}

/// The end of a [`Waker`] on which the event loop waits.
#[derive(Debug)]
pub struct WakeReader {
    pipe: PipeReader,
    state: Arc<WakerState>,
}

/// Returns a waker and the end to wait on.
///
/// # Errors
/// The process has no file descriptor left.
pub fn wake_pair() -> io::Result<(Waker, WakeReader)> {
    let (reader, writer) = io::pipe()?;
    let state = Arc::new(WakerState { pipe: writer, is_set: AtomicBool::new(false) });
    Ok((Waker(Arc::clone(&state)), WakeReader { pipe: reader, state }))
}

impl Waker {
    /// Makes the next or the current wait of the event loop end.
    pub fn wake(&self) {
        if !self.0.is_set.swap(true, Ordering::AcqRel) {
            // The reader keeps the pipe open.
            let _ = (&self.0.pipe).write_all(&[0]);
        }
    }
}

impl WakeReader {
    /// Returns another waker of this end.
    pub(crate) fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.state))
    }

    /// Resets the waker after a wait that it ended. Changes made before the wake are visible then.
    pub(crate) fn reset(&self) {
        // The byte is there, or about to be written.
        if self.state.is_set.load(Ordering::Acquire) && (&self.pipe).read_exact(&mut [0]).is_ok() {
            // After a plain store, reads of the facts could come too early and miss a wake.
            self.state.is_set.swap(false, Ordering::AcqRel);
        }
    }
}

impl AsFd for WakeReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_readable(reader: &WakeReader) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(reader, PollFlags::IN)], Some(&now)).expect("polls") > 0
    }

    #[test]
    fn wakes_once_until_it_is_reset() {
        let (waker, reader) = wake_pair().expect("a pipe");
        assert!(!is_readable(&reader));
        (0..100_000).for_each(|_| waker.clone().wake());
        assert!(is_readable(&reader));
        reader.reset();
        assert!(!is_readable(&reader));
        reader.reset();
        waker.wake();
        assert!(is_readable(&reader), "can be woken again");
    }
}
