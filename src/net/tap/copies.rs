use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::sources::observe::{ConnId, StreamEvent, TapCopy, TapEvent};
use crate::wire::event::{Clock, Dir, Time};

/// How long to batch copies before waking the drainer.
///
/// Waking the drainer for each chunk would cost the traffic nearly as much as a second hop.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct BatchPolicy {
    pub(in crate::net) time: Duration,
    /// Bytes of copies that wake the drainer early.
    pub(in crate::net) bytes: usize,
}

/// The queue of copies between the relay and the analysis.
#[derive(Debug)]
pub struct CopyQueue {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// The drainer sleeps until there is a first copy.
    idle: AtomicBool,
    /// Bytes of copies that were drained and are not analysed yet.
    in_analysis: AtomicUsize,
    limit: usize,
    company: BatchPolicy,
    start: Instant,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Queue {
    items: Vec<TapCopy>,
    bytes: usize,
    closed: bool,
}

impl CopyQueue {
    /// Returns a queue for `limit` bytes, batched as for a tap.
    pub fn new(limit: usize) -> Self {
        CopyQueue::with(limit, super::BATCH_POLICY)
    }

    pub(in crate::net) fn with(limit: usize, company: BatchPolicy) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let epoch = since.ok().and_then(|since| i128::try_from(since.as_nanos()).ok());
        CopyQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            idle: AtomicBool::new(false),
            in_analysis: AtomicUsize::new(0),
            limit,
            company,
            start: Instant::now(),
            clock: Clock { epoch, untimed: false },
        }
    }

    /// The clock of the copies' times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time on that clock, in whole microseconds.
    ///
    /// Recordings keep microseconds, and a replay must have the times of the run.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_mul(1000))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic elsewhere leaves the queue as usable as before.
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a copy. Bytes beyond the limit are counted as lost.
    pub fn push(&self, conn: ConnId, at: Time, what: TapEvent) {
        let mut queue = self.lock();
        let size = what.size();
        match what {
            // A message that exceeds the limit alone is kept: its sender holds the memory anyway.
            TapEvent::Stream { stream, .. }
                if queue.bytes > 0 && size > 0 && queue.bytes + size > self.limit =>
            {
                let what = TapEvent::Stream { stream, event: StreamEvent::Lost { bytes: size as u64 } };
                queue.items.push(TapCopy { conn, at, event: what });
            }
            TapEvent::Bytes { dir, bytes } if queue.bytes + size > self.limit => {
                queue.lost(conn, at, dir, bytes.len() as u64);
            }
            what => {
                queue.bytes += size;
                queue.items.push(TapCopy { conn, at, event: what });
            }
        }
        let plenty =
            queue.bytes >= self.company.bytes && queue.bytes.saturating_sub(size) < self.company.bytes;
        drop(queue);
        if plenty || self.idle.swap(false, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// Counts drained copies of this size as analysed.
    pub fn analysed(&self, bytes: usize) {
        let left = self.in_analysis.load(Ordering::Relaxed).saturating_sub(bytes);
        // Only the drainer writes, so nothing is lost between load and store.
        self.in_analysis.store(left, Ordering::Relaxed);
    }

    /// Returns the bytes of copies that are not analysed yet.
    pub fn backlog(&self) -> usize {
        self.lock().bytes + self.in_analysis.load(Ordering::Relaxed)
    }

    /// Ends the queue: no copies follow.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits for copies and moves all of them, in order, to `into`.
    ///
    /// Gives up after `timeout` without copies. Returns false when the queue has ended and is
    /// empty.
    pub fn drain(&self, into: &mut Vec<TapCopy>, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        let mut queue = self.lock();
        while queue.items.is_empty() && !queue.closed {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return true;
            };
            self.idle.store(true, Ordering::Release);
            queue = self.wake.wait_timeout(queue, left).map_or_else(|p| p.into_inner().0, |(queue, _)| queue);
        }
        self.idle.store(false, Ordering::Release);
        let ready = Instant::now() + self.company.time;
        while !queue.closed && queue.bytes < self.company.bytes {
            let Some(left) = ready.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                break;
            };
            queue = self.wake.wait_timeout(queue, left).map_or_else(|p| p.into_inner().0, |(queue, _)| queue);
        }
        self.in_analysis.store(std::mem::take(&mut queue.bytes), Ordering::Relaxed);
        let more = !queue.closed || !queue.items.is_empty();
        std::mem::swap(&mut queue.items, into);
        more
    }
}

impl Queue {
    /// Counts a lost chunk, together with the loss before it if that has the same direction.
    fn lost(&mut self, conn: ConnId, at: Time, dir: Dir, size: u64) {
        if let Some(TapCopy { conn: last, event: TapEvent::Lost { dir: same, bytes, chunks }, .. }) =
            self.items.last_mut()
            && *last == conn
            && *same == dir
        {
            *bytes += size;
            *chunks += 1;
            return;
        }
        self.items.push(TapCopy { conn, at, event: TapEvent::Lost { dir, bytes: size, chunks: 1 } });
    }
}
