use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::sources::observe::{ConnId, FrameEffect, TapCopy, TapEvent};
use crate::wire::event::{Clock, Dir, Time};

/// How long copies wait for company before the drainer is let at them. Waking it for each chunk would cost the traffic
/// nearly as much as a second hop.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct Company {
    pub(in crate::net) time: Duration,
    /// Copies that wake it before its time.
    pub(in crate::net) bytes: usize,
}

/// The queue between the relay and whoever looks at the copies.
#[derive(Debug)]
pub struct CopyQueue {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// The drainer sleeps until there is something at all.
    idle: AtomicBool,
    limit: usize,
    company: Company,
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
    /// A queue for so many bytes, as a tap has it.
    pub fn new(limit: usize) -> Self {
        CopyQueue::with(limit, super::COMPANY)
    }

    pub(in crate::net) fn with(limit: usize, company: Company) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let epoch = since.ok().and_then(|since| i128::try_from(since.as_nanos()).ok());
        CopyQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            idle: AtomicBool::new(false),
            limit,
            company,
            start: Instant::now(),
            clock: Clock { epoch, untimed: false },
        }
    }

    /// What the copies' times mean.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time on that clock, in whole microseconds: what recordings keep, so that a replay has the very times of
    /// the run.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_mul(1000))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic elsewhere leaves the queue as usable as it was.
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a copy; bytes that do not fit are counted as lost.
    pub fn push(&self, conn: ConnId, at: Time, what: TapEvent) {
        let mut queue = self.lock();
        let size = what.size();
        match what {
            // One that is too large alone is kept: whoever sends it has it too.
            TapEvent::Spoken { stream, .. }
                if queue.bytes > 0 && size > 0 && queue.bytes + size > self.limit =>
            {
                let what = TapEvent::Spoken { stream, what: FrameEffect::Lost { bytes: size as u64 } };
                queue.items.push(TapCopy { conn, at, what });
            }
            TapEvent::Bytes { dir, bytes } if queue.bytes + size > self.limit => {
                queue.lost(conn, at, dir, bytes.len() as u64);
            }
            what => {
                queue.bytes += size;
                queue.items.push(TapCopy { conn, at, what });
            }
        }
        let plenty =
            queue.bytes >= self.company.bytes && queue.bytes.saturating_sub(size) < self.company.bytes;
        drop(queue);
        if plenty || self.idle.swap(false, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// Nothing more comes.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits until there are copies and gives them to `into`, in order, all that there are. Gives up after
    /// `patience` with nothing. False: the tap has stopped and everything was drained.
    pub fn drain(&self, into: &mut Vec<TapCopy>, patience: Duration) -> bool {
        let end = Instant::now() + patience;
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
        queue.bytes = 0;
        let more = !queue.closed || !queue.items.is_empty();
        std::mem::swap(&mut queue.items, into);
        more
    }
}

impl Queue {
    /// Counts a lost chunk, together with the one before it where that is the same direction's.
    fn lost(&mut self, conn: ConnId, at: Time, dir: Dir, size: u64) {
        if let Some(TapCopy { conn: last, what: TapEvent::Lost { dir: same, bytes, chunks }, .. }) =
            self.items.last_mut()
            && *last == conn
            && *same == dir
        {
            *bytes += size;
            *chunks += 1;
            return;
        }
        self.items.push(TapCopy { conn, at, what: TapEvent::Lost { dir, bytes: size, chunks: 1 } });
    }
}
