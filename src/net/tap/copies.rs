use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::net::lock;
use xdscope_sources::observe::{ConnId, StreamEvent, TapCopy, TapEvent};
use xdscope_wire::Intervention;
use xdscope_wire::event::{Clock, Dir, Time};
use xdscope_wire::h2::Skimmer;

use super::lane::Lane;
use crate::net::clock::RunClock;

/// Bytes that skimmed copies of one direction collect before a new copy begins.
const MAX_SKIMMED_BYTES: usize = 64 << 10;

/// A queue that holds at most one part in this many of the limit is not drained early.
const MIN_QUEUE_DIVISOR: usize = 16;

/// How long to batch copies before waking the drainer.
///
/// Waking the drainer for each chunk would cost the traffic nearly as much as a second hop.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct BatchPolicy {
    pub(in crate::net) time: Duration,
    /// Bytes of copies that wake the drainer early.
    pub(in crate::net) bytes: usize,
}

/// The queue of copies between the relay and the decoder.
///
/// The limit applies to all copies in memory, from the relay to the end of their decoding.
#[derive(Debug)]
pub struct CopyQueue {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// The drainer sleeps until there is a first copy.
    idle: AtomicBool,
    /// Wakes the thread that waits until memory is nearly full.
    nearly_full: Condvar,
    /// A thread sleeps until memory is nearly full.
    awaits_nearly_full: AtomicBool,
    /// Bytes of copies in memory that were drained and are not decoded yet.
    held: AtomicUsize,
    /// Bytes of copies in the spool that are not decoded yet.
    spooled: AtomicU64,
    limit: usize,
    batching: BatchPolicy,
    clock: RunClock,
}

#[derive(Debug, Default)]
struct Queue {
    items: Vec<TapCopy>,
    /// Indexes of the items that count lost bytes and are the newest ones of their connection.
    losses: BTreeMap<(ConnId, Dir), usize>,
    bytes: usize,
    closed: bool,
    /// Another thread took copies since the last [`wait`](CopyQueue::wait).
    taken_by_other: bool,
}

impl CopyQueue {
    /// Returns a queue for `limit` bytes, batched as for a tap.
    pub fn new(limit: usize) -> Self {
        CopyQueue::with(limit, super::BATCH_POLICY)
    }

    pub(in crate::net) fn with(limit: usize, batching: BatchPolicy) -> Self {
        CopyQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            idle: AtomicBool::new(false),
            nearly_full: Condvar::new(),
            awaits_nearly_full: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            spooled: AtomicU64::new(0),
            limit,
            batching,
            clock: RunClock::start(),
        }
    }

    /// Returns the meaning of the copies' times.
    pub fn clock(&self) -> Clock {
        self.clock.meaning()
    }

    /// Returns the time on the clock of the copies.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Adds a copy. Bytes beyond the limit are counted as lost.
    pub fn push(&self, conn: ConnId, at: Time, what: TapEvent) {
        let mut queue = self.lock();
        let (size, memory) = (what.size(), what.memory());
        let used = queue.bytes + self.held();
        match what {
            // A message that exceeds the limit alone is kept: its sender holds the memory anyway.
            TapEvent::Stream { stream, .. } if used > 0 && size > 0 && used + memory > self.limit => {
                let event = StreamEvent::Lost { bytes: size as u64 };
                queue.add(conn, at, TapEvent::Stream { stream, event });
            }
            TapEvent::Intercepted { stream, what } if used + memory > self.limit => {
                // The fact is small, its messages may not be.
                let what = Intervention { original: None, sent: None, ..Intervention::clone(&what) };
                queue.add(conn, at, TapEvent::Intercepted { stream, what: Arc::new(what) });
            }
            TapEvent::Bytes { dir, bytes } if used + memory > self.limit => {
                queue.lost(conn, at, dir, bytes.len() as u64);
            }
            what => queue.add(conn, at, what),
        }
        self.pushed(queue, memory);
    }

    /// Adds a copy of relayed bytes. Beyond the limit the bodies of messages are left out; far
    /// beyond, all bytes. Slow directions have room of their own, so that fast ones do not take
    /// them out of the recording.
    pub fn push_bytes(&self, lane: &mut Lane, at: Time, bytes: Bytes) {
        let is_slow = lane.is_slow(at, &bytes);
        let Lane { conn, dir, ref mut skimmer, .. } = *lane;
        let mut queue = self.lock();
        let (before, used) = (queue.bytes, queue.bytes + self.held());
        let reserve = self.limit / 8;
        let room = match dir {
            _ if is_slow => self.limit + 3 * reserve,
            // Requests are small and say what became of the responses.
            Dir::Req => self.limit + reserve,
            Dir::Resp => self.limit,
        };
        if used + bytes.len() <= room {
            skimmer.pass(&bytes);
            queue.add(conn, at, TapEvent::Bytes { dir, bytes });
        } else if used > room + reserve {
            skimmer.pass(&bytes);
            queue.lost(conn, at, dir, bytes.len() as u64);
        } else if !queue.skim(conn, at, dir, &bytes, skimmer) {
            queue.lost(conn, at, dir, bytes.len() as u64);
        }
        let size = queue.bytes.saturating_sub(before);
        self.pushed(queue, size);
    }

    /// Wakes the drainer for `size` new bytes if it sleeps, or if they complete a batch.
    fn pushed(&self, queue: MutexGuard<'_, Queue>, size: usize) {
        let plenty =
            queue.bytes >= self.batching.bytes && queue.bytes.saturating_sub(size) < self.batching.bytes;
        let is_nearly_full = self.is_nearly_full(&queue);
        drop(queue);
        if is_nearly_full && self.awaits_nearly_full.swap(false, Ordering::AcqRel) {
            self.nearly_full.notify_one();
        }
        if plenty || self.idle.swap(false, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// Whether copies take nearly all memory, and draining the queue would help.
    fn is_nearly_full(&self, queue: &Queue) -> bool {
        queue.bytes > self.limit / MIN_QUEUE_DIVISOR && queue.bytes + self.held() > self.spool_above()
    }

    /// Returns the bytes of copies in memory above which the copies belong in the spool.
    pub fn spool_above(&self) -> usize {
        self.limit / 8 * 5
    }

    /// Waits until copies take nearly all memory. Returns false when the queue has ended.
    pub fn wait_until_nearly_full(&self) -> bool {
        let mut queue = self.lock();
        while !queue.closed && !self.is_nearly_full(&queue) {
            self.awaits_nearly_full.store(true, Ordering::Release);
            queue = self.nearly_full.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        !queue.closed
    }

    /// Returns the bytes of copies that are not drained yet.
    pub fn queued(&self) -> usize {
        self.lock().bytes
    }

    /// Returns the bytes of copies in memory that were drained and are not decoded yet.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns the limit of copies in memory, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Counts drained copies of this size in memory as decoded.
    pub fn decoded(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts drained copies of this size as moved from memory to the spool.
    pub fn moved_to_spool(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.spooled.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts copies of this size in the spool as decoded.
    pub fn decoded_from_spool(&self, bytes: usize) {
        self.spooled.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the bytes of copies that are not decoded yet.
    pub fn backlog(&self) -> u64 {
        (self.lock().bytes + self.held()) as u64 + self.spooled.load(Ordering::Relaxed)
    }

    /// Returns whether the drainer has processed all copies and waits for the next one.
    pub fn is_idle(&self) -> bool {
        let queue = self.lock();
        queue.items.is_empty() && self.idle.load(Ordering::Acquire)
    }

    /// Ends the queue: no copies follow.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
        self.nearly_full.notify_all();
    }

    /// Waits for copies and moves all of them, in order, to `into`.
    ///
    /// Gives up after `timeout` without copies. Returns false when the queue has ended and is
    /// empty.
    pub fn drain(&self, into: &mut Vec<TapCopy>, timeout: Duration) -> bool {
        self.wait(timeout);
        self.drain_ready(into)
    }

    /// Waits for copies, or until another thread has taken some. Gives up after `timeout`.
    ///
    /// Waits a moment more for others after the first copy.
    pub fn wait(&self, timeout: Duration) {
        let end = Instant::now() + timeout;
        let mut queue = self.lock();
        while queue.items.is_empty() && !queue.closed {
            if std::mem::take(&mut queue.taken_by_other) {
                self.idle.store(false, Ordering::Release);
                return;
            }
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return;
            };
            self.idle.store(true, Ordering::Release);
            queue = self.wake.wait_timeout(queue, left).map_or_else(|p| p.into_inner().0, |(queue, _)| queue);
        }
        self.idle.store(false, Ordering::Release);
        let ready = Instant::now() + self.batching.time;
        while !queue.closed && queue.bytes < self.batching.bytes {
            let Some(left) = ready.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                break;
            };
            queue = self.wake.wait_timeout(queue, left).map_or_else(|p| p.into_inner().0, |(queue, _)| queue);
        }
    }

    /// Moves all copies, in order, to `into`, without waiting.
    ///
    /// Returns false when the queue has ended and is empty.
    pub fn drain_ready(&self, into: &mut Vec<TapCopy>) -> bool {
        self.take(&mut self.lock(), into)
    }

    /// Moves all copies, in order, to `into`, and wakes the drainer.
    pub fn take_for_drainer(&self, into: &mut Vec<TapCopy>) {
        let mut queue = self.lock();
        queue.taken_by_other = true;
        self.take(&mut queue, into);
        drop(queue);
        self.wake.notify_one();
    }

    fn take(&self, queue: &mut Queue, into: &mut Vec<TapCopy>) -> bool {
        self.held.fetch_add(std::mem::take(&mut queue.bytes), Ordering::Relaxed);
        let more = !queue.closed || !queue.items.is_empty();
        std::mem::swap(&mut queue.items, into);
        queue.losses.clear();
        more
    }
}

impl Queue {
    /// Adds what of the bytes is needed to follow the connection, together with the copy before if
    /// that was skimmed too. Returns false if the connection is not HTTP/2.
    fn skim(&mut self, conn: ConnId, at: Time, dir: Dir, bytes: &[u8], skimmer: &mut Skimmer) -> bool {
        if let Some(TapCopy { conn: last, event: event @ TapEvent::Skimmed { .. }, .. }) =
            self.items.last_mut()
            && *last == conn
        {
            let before = event.memory();
            if let TapEvent::Skimmed { dir: same, kept, parts } = event
                && *same == dir
                && kept.len() < MAX_SKIMMED_BYTES
            {
                let is_http2 = skimmer.skim(bytes, kept, parts);
                self.bytes += event.memory() - before;
                return is_http2;
            }
        }
        let (mut kept, mut parts) = (Vec::new(), Vec::new());
        let is_http2 = skimmer.skim(bytes, &mut kept, &mut parts);
        if is_http2 {
            self.add(conn, at, TapEvent::Skimmed { dir, kept, parts });
        }
        is_http2
    }

    fn add(&mut self, conn: ConnId, at: Time, event: TapEvent) {
        if !self.losses.is_empty() {
            self.losses.remove(&(conn, Dir::Req));
            self.losses.remove(&(conn, Dir::Resp));
        }
        self.bytes += event.memory();
        self.items.push(TapCopy { conn, at, event });
    }

    /// Counts a lost chunk, together with the loss before it if the connection had no other event
    /// since: while the queue is full, each chunk of several connections is lost.
    fn lost(&mut self, conn: ConnId, at: Time, dir: Dir, size: u64) {
        if let Some(&index) = self.losses.get(&(conn, dir))
            && let Some(TapCopy { event: TapEvent::Lost { bytes, chunks, .. }, .. }) =
                self.items.get_mut(index)
        {
            *bytes += size;
            *chunks += 1;
            return;
        }
        let event = TapEvent::Lost { dir, bytes: size, chunks: 1 };
        self.losses.insert((conn, dir), self.items.len());
        self.bytes += event.memory();
        self.items.push(TapCopy { conn, at, event });
    }
}
