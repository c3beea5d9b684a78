//! Output that never blocks its caller: a bounded queue of bytes, and a thread that writes them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::wake::Waker;

/// Bytes that may wait for a reader.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// Bytes of one write, so that progress is visible while a reader is slow.
const BYTES_PER_WRITE: usize = 64 << 10;

/// The longest time to wait for a reader at the end.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(2);

/// The longest time without progress at the end, after which the reader counts as blocked.
const MAX_STALL_TIME: Duration = Duration::from_millis(300);

/// The fate of lines that are pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    Queued,
    /// The reader is too slow. Nothing is queued until half of the queue is written.
    Full,
    /// The reader is gone.
    Closed,
}

/// A bounded queue of whole lines in front of an output that may block.
///
/// Clones share the queue. The thread that writes ends with the process.
#[derive(Clone)]
pub struct OutputQueue(Arc<Shared>);

struct Shared {
    state: Mutex<QueueState>,
    changed: Condvar,
    limit: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: Vec<u8>,
    /// The part of `waiting` that counts towards the limit.
    counted: usize,
    /// Bytes that the thread has taken and not written yet.
    in_flight: usize,
    /// The part of the taken bytes that counts towards the limit.
    counted_in_flight: usize,
    /// Lines that end in those bytes.
    lines_in_flight: u64,
    is_full: bool,
    is_closed: bool,
    /// Lines are dropped until the queue is opened again.
    is_shut: bool,
    /// Lines that were lost to write errors, such as a full disk.
    lost: u64,
    /// The last write error.
    error: Option<io::ErrorKind>,
    /// Woken once everything is written.
    waker: Option<Waker>,
}

impl QueueState {
    fn is_idle(&self) -> bool {
        self.waiting.len() + self.in_flight == 0
    }

    /// Returns the bytes that count towards the limit.
    fn queued(&self) -> usize {
        self.counted + self.in_flight.min(self.counted_in_flight)
    }

    /// Queues lines, all or none.
    fn push(&mut self, lines: &[u8], limit: usize) -> Pushed {
        if self.is_closed {
            return Pushed::Closed;
        }
        if self.is_shut {
            return Pushed::Queued;
        }
        let counted = lines.len().min(limit / 2);
        self.is_full |= self.queued() + counted > limit;
        if self.is_full {
            return Pushed::Full;
        }
        self.counted += counted;
        self.waiting.extend_from_slice(lines);
        Pushed::Queued
    }
}

impl OutputQueue {
    /// Starts a queue in front of a file, a pipe or a terminal.
    ///
    /// # Errors
    /// The descriptor or the thread cannot be created.
    pub fn start(name: &str, out: BorrowedFd<'_>) -> io::Result<OutputQueue> {
        OutputQueue::over(name, File::from(out.try_clone_to_owned()?), MAX_QUEUED_BYTES)
    }

    /// Returns a writer of whole screens, which are queued when it is flushed.
    pub(crate) fn writer(&self) -> QueueWriter {
        QueueWriter { queue: self.clone(), bytes: Vec::new() }
    }

    fn over(name: &str, out: impl Write + AsFd + Send + 'static, limit: usize) -> io::Result<OutputQueue> {
        let shared =
            Arc::new(Shared { state: Mutex::new(QueueState::default()), changed: Condvar::new(), limit });
        let queue = OutputQueue(shared.clone());
        std::thread::Builder::new().name(name.into()).spawn(move || shared.write_to(out))?;
        Ok(queue)
    }

    /// Returns what would become of a line now, so that callers need not format lines in vain.
    pub fn state(&self) -> Pushed {
        let state = self.0.lock();
        match (state.is_closed, state.is_full) {
            (true, _) => Pushed::Closed,
            (false, true) => Pushed::Full,
            (false, false) => Pushed::Queued,
        }
    }

    /// Queues lines, all or none.
    ///
    /// They count as half of the queue at most: a line that is longer than the queue leaves room
    /// for those behind it.
    pub fn push(&self, lines: &[u8]) -> Pushed {
        let pushed = self.0.lock().push(lines, self.0.limit);
        self.0.changed.notify_all();
        pushed
    }

    /// Queues the last bytes of an output that others use next, and drops what is pushed behind
    /// them.
    pub(crate) fn push_last(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        state.push(bytes, self.0.limit);
        state.is_shut = true;
        drop(state);
        self.0.changed.notify_all();
    }

    /// Takes bytes again after [`OutputQueue::push_last`].
    pub(crate) fn open(&self) {
        self.0.lock().is_shut = false;
    }

    /// Returns whether everything is written. Otherwise wakes `waker` once it is.
    pub(crate) fn is_idle_or_wakes(&self, waker: &Waker) -> bool {
        let mut state = self.0.lock();
        let is_idle = state.is_idle();
        if !is_idle {
            state.waker = Some(waker.clone());
        }
        is_idle
    }

    /// Takes the number of lines that were lost to write errors, and the last error.
    pub fn take_lost(&self) -> Option<(u64, io::ErrorKind)> {
        let mut state = self.0.lock();
        let error = state.error.take()?;
        Some((std::mem::take(&mut state.lost), error))
    }

    /// Returns the number of lines that are not written yet.
    pub fn waiting(&self) -> u64 {
        let state = self.0.lock();
        state.lines_in_flight + lines_in(&state.waiting)
    }

    /// Waits until everything is written, for a limited time.
    pub fn drain(&self) {
        let end = Instant::now() + MAX_DRAIN_TIME;
        let mut state = self.0.lock();
        while !state.is_closed && !state.is_idle() {
            let before = state.in_flight;
            let limit = MAX_STALL_TIME.min(end.saturating_duration_since(Instant::now()));
            let (next, waited) =
                self.0.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() && state.in_flight == before || Instant::now() >= end {
                break;
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is queued, until the reader is gone.
    fn write_to(&self, mut out: impl Write + AsFd) {
        let (mut taken, mut is_cut) = (Vec::new(), false);
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::swap(&mut taken, &mut state.waiting);
            state.in_flight = taken.len();
            state.counted_in_flight = std::mem::take(&mut state.counted);
            state.lines_in_flight = lines_in(&taken);
            drop(state);
            let mut rest = &taken[..];
            // After a write error, the next line begins on a line of its own.
            let mut result = if is_cut { write_some(&mut out, b"\n").map(|_| ()) } else { Ok(()) };
            while result.is_ok() && !rest.is_empty() {
                result = write_some(&mut out, rest.get(..BYTES_PER_WRITE).unwrap_or(rest)).map(|written| {
                    let (done, left) = rest.split_at(written.min(rest.len()));
                    rest = left;
                    let mut state = self.lock();
                    state.in_flight = rest.len();
                    state.lines_in_flight -= lines_in(done);
                    state.is_full &= state.queued() > self.limit / 2;
                    drop(state);
                    self.changed.notify_all();
                });
            }
            is_cut = match result {
                Ok(()) => false,
                Err(_) if rest.len() == taken.len() => is_cut,
                Err(_) => taken.get(taken.len() - rest.len() - 1) != Some(&b'\n'),
            };
            let mut state = self.lock();
            (state.in_flight, state.lines_in_flight) = (0, 0);
            state.is_full &= state.queued() > self.limit / 2;
            if let Err(error) = result {
                state.lost += lines_in(rest);
                state.error = Some(error.kind());
                state.is_closed = error.kind() == io::ErrorKind::BrokenPipe;
            }
            let is_closed = state.is_closed;
            let waker = if state.is_idle() { state.waker.take() } else { None };
            drop(state);
            // A burst must not keep its memory.
            taken.clear();
            taken.shrink_to(BYTES_PER_WRITE);
            self.changed.notify_all();
            if let Some(waker) = waker {
                waker.wake();
            }
            if is_closed {
                return;
            }
        }
    }
}

/// A writer that gathers bytes until a flush queues them.
pub(crate) struct QueueWriter {
    queue: OutputQueue,
    bytes: Vec<u8>,
}

impl Write for QueueWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let pushed = self.queue.push(&self.bytes);
        self.bytes.clear();
        match pushed {
            Pushed::Queued => Ok(()),
            Pushed::Full => Err(io::Error::other("nobody reads the terminal")),
            Pushed::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Writes part of `bytes`, and waits where a non-blocking output has no room.
fn write_some(out: &mut (impl Write + AsFd), bytes: &[u8]) -> io::Result<usize> {
    loop {
        match out.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                use rustix::event::{PollFd, PollFlags, poll};
                poll(&mut [PollFd::new(out, PollFlags::OUT)], None)?;
            }
            result => return result,
        }
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A queue of 100,000 bytes in front of a socket, and its reader.
    fn queue() -> (OutputQueue, UnixStream) {
        let (out, reader) = UnixStream::pair().expect("a pair of sockets");
        (OutputQueue::over("test", out, 100_000).expect("a thread"), reader)
    }

    /// A socket that takes nothing while a gate is locked.
    struct Gated {
        gate: Arc<Mutex<()>>,
        out: UnixStream,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.gate.lock().expect("the gate"));
            self.out.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.out.flush()
        }
    }

    impl AsFd for Gated {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.out.as_fd()
        }
    }

    #[test]
    fn blocked_reader_fills_the_queue_and_later_gets_whole_lines() {
        let (out, reader) = UnixStream::pair().expect("a pair of sockets");
        let gate: Arc<Mutex<()>> = Arc::default();
        let held = gate.lock().expect("the gate");
        let out = Gated { gate: gate.clone(), out };
        let queue = OutputQueue::over("test", out, 100_000).expect("a thread");
        let line = [&[b'x'; 9_999][..], b"\n"].concat();
        let mut pushed = 0;
        while queue.push(&line) == Pushed::Queued {
            pushed += 1;
        }
        assert_eq!((pushed, queue.state()), (10, Pushed::Full));
        queue.drain();
        assert_eq!(queue.waiting(), pushed, "nothing is written");
        drop(held);
        let reading = std::thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).take_while(|line| line != "end").fold(
                0,
                |lines, line| {
                    assert_eq!(line.len(), 9_999);
                    lines + 1
                },
            )
        });
        while queue.push(b"end\n") != Pushed::Queued {
            std::thread::yield_now();
        }
        assert_eq!(reading.join().expect("a reader"), pushed);
    }

    #[test]
    fn long_line_leaves_room_for_those_behind() {
        let (queue, reader) = queue();
        let long = [&[b'x'; 1_000_000][..], b"\n"].concat();
        let mut pushed = vec![queue.push(&long)];
        pushed.extend((0..1000).map(|n| queue.push(format!("{n}\n").as_bytes())));
        assert!(pushed.iter().all(|pushed| *pushed == Pushed::Queued));
        assert_eq!(queue.push(&long), Pushed::Full);
        let lines = BufReader::new(reader).lines().take(1001).map(|line| line.expect("a line"));
        let lines: Vec<String> = lines.collect();
        assert_eq!((lines[0].len(), lines[1].as_str(), lines[1000].as_str()), (1_000_000, "0", "999"));
    }

    #[test]
    fn queue_wakes_once_everything_is_written() {
        let (queue, mut reader) = queue();
        let (waker, wake) = crate::shell::run::wake::wake_pair().expect("a pipe");
        assert!(queue.is_idle_or_wakes(&waker));
        let mut writer = queue.writer();
        // Each is more than the socket holds.
        for _ in 0..2 {
            writer.write_all(&vec![b'x'; 4 << 20]).expect("memory");
            writer.flush().expect("a queue that is half empty takes any frame");
        }
        assert!(!queue.is_idle_or_wakes(&waker));
        writer.write_all(b"more").expect("memory");
        assert!(writer.flush().is_err(), "the queue is full");
        io::copy(&mut io::Read::take(&mut reader, 8 << 20), &mut io::sink()).expect("bytes");
        let woken = &mut [rustix::event::PollFd::new(&wake, rustix::event::PollFlags::IN)];
        rustix::event::poll(woken, None).expect("a wake");
        assert!(queue.is_idle_or_wakes(&waker));
    }

    #[test]
    fn nothing_follows_the_last_bytes_until_the_queue_is_opened() {
        let (queue, mut reader) = queue();
        queue.push(b"frame ");
        queue.push_last(b"last ");
        assert_eq!(queue.push(b"late frame "), Pushed::Queued);
        queue.drain();
        queue.open();
        queue.push(b"again");
        let mut written = [0; 16];
        io::Read::read_exact(&mut reader, &mut written).expect("bytes");
        assert_eq!(String::from_utf8_lossy(&written), "frame last again");
    }

    #[test]
    fn gone_reader_closes_the_queue() {
        let (queue, reader) = queue();
        drop(reader);
        while queue.push(b"line\n") != Pushed::Closed {
            std::thread::yield_now();
        }
        assert_eq!(queue.state(), Pushed::Closed);
        assert_eq!(queue.take_lost().map(|(_, error)| error), Some(io::ErrorKind::BrokenPipe));
    }

    #[test]
    fn full_disk_loses_counted_lines_only() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let queue = OutputQueue::over("test", full, 1000).expect("a thread");
        assert_eq!(queue.push(b"one\ntwo\n"), Pushed::Queued);
        queue.drain();
        assert_eq!(queue.take_lost(), Some((2, io::ErrorKind::StorageFull)));
        assert_eq!(queue.push(b"three\n"), Pushed::Queued);
    }
}
