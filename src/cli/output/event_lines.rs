//! The event lines of a live run on stdout, which must not hold up the run.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use xdscope_tui::{OutputQueue, Pushed};
use xdscope_wire::text::plural;

use crate::cli::terminal::diagnostics;

/// The shortest time between two messages about events that were not printed.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(10);

/// Prints lines while stdout accepts them. Otherwise lines are dropped and counted.
pub(crate) struct EventLines {
    queue: OutputQueue,
    /// Dropped lines that were not reported yet, and why the last ones were.
    dropped: u64,
    reason: Option<io::ErrorKind>,
    reported: Option<Instant>,
}

impl EventLines {
    /// Starts the thread that writes to stdout.
    pub(crate) fn start() -> io::Result<EventLines> {
        let queue = OutputQueue::start("stdout", io::stdout().as_fd())?;
        Ok(EventLines { queue, dropped: 0, reason: None, reported: None })
    }

    /// Checks whether somebody reads the lines.
    ///
    /// # Errors
    /// The reader of stdout is gone.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.queue.state() {
            Pushed::Closed => Err(io::ErrorKind::BrokenPipe.into()),
            Pushed::Queued | Pushed::Full => Ok(()),
        }
    }

    /// Prints a line, which is formatted only if there is room.
    ///
    /// # Errors
    /// The reader of stdout is gone.
    pub(crate) fn put(&mut self, line: impl FnOnce() -> String) -> io::Result<()> {
        let pushed = match self.queue.state() {
            Pushed::Queued => self.queue.push([line().trim_end(), "\n"].concat().as_bytes()),
            no => no,
        };
        match pushed {
            Pushed::Queued => self.report_after_drops(),
            Pushed::Full => {
                self.dropped += 1;
                self.reason = None;
            }
            Pushed::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        Ok(())
    }

    /// Counts lines that were lost to an error. Returns false if the reader is gone: the next line
    /// finds the queue closed.
    fn count_lost(&mut self) -> bool {
        if self.queue.state() == Pushed::Closed {
            return false;
        }
        if let Some((lost, error)) = self.queue.take_lost() {
            self.dropped += lost;
            self.reason = Some(error);
        }
        true
    }

    /// Reports dropped lines once stdout accepts lines again, and lines lost to an error at once.
    fn report_after_drops(&mut self) {
        if !self.count_lost() {
            return;
        }
        if self.dropped > 0 && self.reported.is_none_or(|at| at.elapsed() >= MESSAGE_INTERVAL) {
            self.report();
        }
    }

    fn report(&mut self) {
        let events = plural(std::mem::take(&mut self.dropped), "event");
        self.reported = Some(Instant::now());
        let reason = match self.reason {
            None => "stdout was blocked".to_owned(),
            Some(error) => format!("stdout: {error}"),
        };
        diagnostics::say(&format!("{events} not printed: {reason}"));
    }
}

impl Drop for EventLines {
    fn drop(&mut self) {
        self.dropped += self.queue.drain();
        if self.count_lost() && self.dropped > 0 {
            self.report();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn gone_reader_loses_no_events() {
        let (out, reader) = UnixStream::pair().expect("a pair of sockets");
        let queue = OutputQueue::start("test", out.as_fd()).expect("a thread");
        let mut lines = EventLines { queue, dropped: 0, reason: None, reported: None };
        drop(reader);
        while lines.put(|| "event".to_owned()).is_ok() {
            std::thread::yield_now();
        }
        assert!(!lines.count_lost());
        assert!(!lines.count_lost(), "the answer stays the same once it was asked for");
    }
}
