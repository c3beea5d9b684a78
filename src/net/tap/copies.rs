use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::event::{Clock, Dir, Side, Time};
use crate::wire::h2::Head;
use crate::wire::{End, Secured};

use super::Address;

/// A connection through the tap, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One thing that happened on one connection.
#[derive(Clone, Debug)]
pub struct Copied {
    pub conn: ConnId,
    pub at: Time,
    pub what: Happened,
}

#[derive(Clone, Debug)]
pub enum Happened {
    /// A client connected; its upstream is being dialled.
    Opened { peer: String, upstream: Address },
    /// There are no two legs: the step that failed, and why. The client's connection is closed.
    Failed { step: Step, error: String },
    /// A leg under TLS: what its handshake showed, also one that failed. `side`: the other end of the leg.
    Secured { side: Side, facts: Arc<Secured> },
    /// Bytes that were passed on.
    Bytes { dir: Dir, bytes: Bytes },
    /// On a stream of a connection that ends here, told by whoever speaks on it: nothing is to be read out of bytes.
    Spoken { stream: u32, what: Spoken },
    /// Bytes that were passed on and whose copy did not fit.
    Lost { dir: Dir, bytes: u64, chunks: u64 },
    /// One end will send no more; the other was told.
    Finished { dir: Dir },
    /// Both directions are over. `by`: the side whose connection broke, if it did.
    Closed { by: Option<Side>, error: Option<String> },
}

/// What was said on a stream.
#[derive(Clone, Debug)]
pub enum Spoken {
    Open(Head),
    /// A whole message: its bytes in pieces, which are shared with whoever sends them.
    Message {
        dir: Dir,
        pieces: Vec<Bytes>,
    },
    /// A message that is not kept: its copy did not fit, or it can't be decompressed.
    Lost {
        bytes: u64,
    },
    End(End),
}

impl Spoken {
    /// Bytes that wait with it.
    fn size(&self) -> usize {
        match self {
            Spoken::Message { pieces, .. } => pieces.iter().map(Bytes::len).sum(),
            _ => 0,
        }
    }
}

/// The steps to two connected legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Resolve,
    Connect,
    /// The TLS handshake with the upstream.
    Tls,
    /// The TLS handshake with the client.
    Accept,
}

impl Step {
    pub fn word(self) -> &'static str {
        match self {
            Step::Resolve => "resolve",
            Step::Connect => "connect",
            Step::Tls => "TLS to",
            Step::Accept => "TLS with the client",
        }
    }
}

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
pub struct Copies {
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
    items: Vec<Copied>,
    bytes: usize,
    closed: bool,
}

impl Copies {
    pub(super) fn new(limit: usize, company: Company) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let epoch = since.ok().and_then(|since| i128::try_from(since.as_nanos()).ok());
        Copies {
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

    pub(super) fn push(&self, conn: ConnId, at: Time, what: Happened) {
        let mut queue = self.lock();
        let size = match &what {
            Happened::Bytes { bytes, .. } => bytes.len(),
            Happened::Spoken { what, .. } => what.size(),
            _ => 0,
        };
        match what {
            // One that is too large alone is kept: whoever sends it has it too.
            Happened::Spoken { stream, .. }
                if queue.bytes > 0 && size > 0 && queue.bytes + size > self.limit =>
            {
                let what = Happened::Spoken { stream, what: Spoken::Lost { bytes: size as u64 } };
                queue.items.push(Copied { conn, at, what });
            }
            Happened::Bytes { dir, bytes } if queue.bytes + size > self.limit => {
                queue.lost(conn, at, dir, bytes.len() as u64);
            }
            what => {
                queue.bytes += size;
                queue.items.push(Copied { conn, at, what });
            }
        }
        let plenty =
            queue.bytes >= self.company.bytes && queue.bytes.saturating_sub(size) < self.company.bytes;
        drop(queue);
        if plenty || self.idle.swap(false, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits until there are copies and gives them to `into`, in order, all that there are. Gives up after
    /// `patience` with nothing. False: the tap has stopped and everything was drained.
    pub fn drain(&self, into: &mut Vec<Copied>, patience: Duration) -> bool {
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
        if let Some(Copied { conn: last, what: Happened::Lost { dir: same, bytes, chunks }, .. }) =
            self.items.last_mut()
            && *last == conn
            && *same == dir
        {
            *bytes += size;
            *chunks += 1;
            return;
        }
        self.items.push(Copied { conn, at, what: Happened::Lost { dir, bytes: size, chunks: 1 } });
    }
}
