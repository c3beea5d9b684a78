//! The event lines of a live run on stdout, which must not hold up the run.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use xdscope_tui::{OutputQueue, Pushed};
use xdscope_wire::text::plural;

use crate::cli::terminal::diagnostics;

/// The shortest time between two messages about events that were not printed.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(10);

/// Prints lines while stdout accepts them. Otherwise lines are dropped and counted.
pub(crate) struct EventLines {
    queue: OutputQueue,
    drops: SharedDrops,
}

type SharedDrops = Arc<Mutex<DroppedLines>>;

/// Lines that stdout has not accepted.
#[derive(Default)]
struct DroppedLines {
    /// Dropped lines that were not reported yet, and why the last ones were.
    count: u64,
    reason: Option<io::ErrorKind>,
    reported: Option<Instant>,
    /// The rest is reported.
    is_over: bool,
}

/// The lines that stdout has not accepted when a run ends. The thread that prints them may be late
/// by then.
pub(crate) struct UnprintedLines {
    queue: OutputQueue,
    drops: SharedDrops,
}

impl EventLines {
    /// Starts the thread that writes to stdout.
    pub(crate) fn start() -> io::Result<EventLines> {
        Ok(EventLines::over(OutputQueue::start("stdout", io::stdout().as_fd())?))
    }

    fn over(queue: OutputQueue) -> EventLines {
        EventLines { queue, drops: SharedDrops::default() }
    }

    /// Returns the handle that reports lines which are not printed in time.
    pub(crate) fn unprinted(&self) -> UnprintedLines {
        UnprintedLines { queue: self.queue.clone(), drops: self.drops.clone() }
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
            Pushed::Queued => lock(&self.drops).report_after_drops(&self.queue),
            Pushed::Full => {
                let mut drops = lock(&self.drops);
                drops.count += 1;
                drops.reason = None;
            }
            Pushed::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        Ok(())
    }
}

impl Drop for EventLines {
    fn drop(&mut self) {
        self.queue.drain();
        lock(&self.drops).report_rest(&self.queue);
    }
}

impl UnprintedLines {
    /// Reports the lines that are not printed by now, unless they were reported.
    pub(crate) fn report(&self) {
        lock(&self.drops).report_rest(&self.queue);
    }
}

impl DroppedLines {
    /// Counts lines that were lost to an error. Returns false if the reader is gone: the next line
    /// finds the queue closed.
    fn count_lost(&mut self, queue: &OutputQueue) -> bool {
        if queue.state() == Pushed::Closed {
            return false;
        }
        if let Some((lost, error)) = queue.take_lost() {
            self.count += lost;
            self.reason = Some(error);
        }
        true
    }

    /// Reports dropped lines once stdout accepts lines again, and lines lost to an error at once.
    fn report_after_drops(&mut self, queue: &OutputQueue) {
        if !self.count_lost(queue) {
            return;
        }
        if self.count > 0 && self.reported.is_none_or(|at| at.elapsed() >= MESSAGE_INTERVAL) {
            self.report();
        }
    }

    /// Reports dropped lines and those that wait, once.
    fn report_rest(&mut self, queue: &OutputQueue) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.count += queue.waiting();
        if self.count_lost(queue) && self.count > 0 {
            self.report();
        }
    }

    fn report(&mut self) {
        let events = plural(std::mem::take(&mut self.count), "event");
        self.reported = Some(Instant::now());
        let reason = match self.reason {
            None => "stdout was blocked".to_owned(),
            Some(error) => format!("stdout: {error}"),
        };
        diagnostics::say(&format!("{events} not printed: {reason}"));
    }
}

fn lock(drops: &SharedDrops) -> MutexGuard<'_, DroppedLines> {
    drops.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn gone_reader_loses_no_events() {
        let (out, reader) = UnixStream::pair().expect("a pair of sockets");
        let queue = OutputQueue::start("test", out.as_fd()).expect("a thread");
        let mut lines = EventLines::over(queue);
        drop(reader);
        while lines.put(|| "event".to_owned()).is_ok() {
            std::thread::yield_now();
        }
        let mut drops = lock(&lines.drops);
        assert!(!drops.count_lost(&lines.queue));
        assert!(!drops.count_lost(&lines.queue), "the answer stays the same once it was asked for");
    }

    /// The run ends while the thread that prints waits for a reader.
    #[test]
    fn lines_that_wait_are_reported_once() {
        let (out, reader) = UnixStream::pair().expect("a pair of sockets");
        let mut lines = EventLines::over(OutputQueue::start("test", out.as_fd()).expect("a thread"));
        let line = "x".repeat(1 << 20);
        for _ in 0..5 {
            lines.put(|| line.clone()).expect("a reader");
        }
        let (unprinted, drops) = (lines.unprinted(), lines.drops.clone());
        let waits = || unprinted.queue.waiting();
        assert!(waits() >= 4, "the socket has no room for most of them");
        unprinted.report();
        assert!(lock(&drops).is_over && lock(&drops).reported.is_some());
        lock(&drops).reported = None;
        drop((lines, reader));
        assert!(lock(&drops).reported.is_none(), "once");
    }
}
