//! Copies on their way from the recorder to the analysis.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::net::tap::CopyQueue;
use xdscope_sources::observe::{ConnId, StreamEvent, TapCopy, TapEvent};
use xdscope_wire::event::Time;

use super::spool::{Spool, SpoolReader, SpooledCopies};

/// Bytes of copies that are recorded and handed over together, unless one copy has more.
const MAX_PART_BYTES: usize = 256 << 10;

/// Consecutive copies.
pub(crate) struct Part {
    content: PartContent,
    /// Memory of the copies, in bytes.
    pub(crate) bytes: usize,
}

enum PartContent {
    Memory(Vec<TapCopy>),
    Spooled(SpooledCopies),
}

impl Part {
    /// Splits drained copies into parts.
    pub(crate) fn split(copies: &mut Vec<TapCopy>, mut take: impl FnMut(Part)) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for copy in copies.drain(..) {
            bytes += copy.event.memory();
            part.push(copy);
            if bytes >= MAX_PART_BYTES {
                take(Part { content: PartContent::Memory(std::mem::take(&mut part)), bytes });
                bytes = 0;
            }
        }
        if !part.is_empty() {
            take(Part { content: PartContent::Memory(part), bytes });
        }
    }

    /// Moves the copies to the spool, if there is room.
    pub(crate) fn spool(&mut self, spool: &Spool, copies: &CopyQueue) {
        let PartContent::Memory(content) = &mut self.content else { return };
        match spool.put(std::mem::take(content)) {
            Ok(spooled) => {
                copies.moved_to_spool(self.bytes - spooled.memory());
                self.content = PartContent::Spooled(spooled);
            }
            Err(back) => *content = back,
        }
    }

    /// Returns the memory that the spool has saved, in bytes; `None` if the copies are in memory.
    pub(crate) fn spooled(&self) -> Option<usize> {
        match &self.content {
            PartContent::Memory(_) => None,
            PartContent::Spooled(spooled) => Some(self.bytes - spooled.memory()),
        }
    }

    /// Returns the copies, which stay in the part.
    pub(crate) fn copies(&self, spool: Option<&mut SpoolReader>) -> Vec<TapCopy> {
        match (&self.content, spool) {
            (PartContent::Memory(copies), _) => copies.clone(),
            (PartContent::Spooled(spooled), Some(spool)) => spool.read(spooled),
            (PartContent::Spooled(_), None) => Vec::new(),
        }
    }

    /// Adds the bytes of each connection to `sizes`.
    pub(crate) fn add_sizes(&self, sizes: &mut BTreeMap<ConnId, u64>) {
        match &self.content {
            PartContent::Memory(copies) => {
                for copy in copies {
                    *sizes.entry(copy.conn).or_default() += copy.event.size() as u64;
                }
            }
            PartContent::Spooled(spooled) => {
                for (conn, bytes) in spooled.connections().into_iter().flatten() {
                    *sizes.entry(conn).or_default() += bytes;
                }
            }
        }
    }

    /// Returns the copies with their bytes counted as lost, except for those of `kept` connections.
    /// The copies stay in the part.
    pub(crate) fn losses(&self, spool: Option<&mut SpoolReader>, kept: &BTreeSet<ConnId>) -> Vec<TapCopy> {
        if let PartContent::Spooled(spooled) = &self.content
            && let Some(mut connections) = spooled.connections()
            && !connections.any(|(conn, _)| kept.contains(&conn))
        {
            return spooled.losses();
        }
        let loss = |TapCopy { conn, at, event }| {
            if kept.contains(&conn) {
                return TapCopy { conn, at, event };
            }
            let event = match (event.forwarded(), event) {
                (_, event @ TapEvent::Lost { .. }) => event,
                (Some((dir, bytes)), _) => TapEvent::Lost { dir, bytes, chunks: 1 },
                (None, TapEvent::Stream { stream, event: StreamEvent::Message { pieces, .. } }) => {
                    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
                    TapEvent::Stream { stream, event: StreamEvent::Lost { bytes } }
                }
                (None, event) => event,
            };
            TapCopy { conn, at, event }
        };
        self.copies(spool).into_iter().map(loss).collect()
    }

    /// Returns the copies and releases their room in the spool.
    pub(crate) fn into_copies(self, spool: Option<&mut SpoolReader>) -> Vec<TapCopy> {
        match (self.content, spool) {
            (PartContent::Memory(copies), _) => copies,
            (PartContent::Spooled(spooled), Some(spool)) => {
                let copies = spool.read(&spooled);
                spool.spool.release(spooled);
                copies
            }
            (PartContent::Spooled(_), None) => Vec::new(),
        }
    }
}

/// The parts that are recorded and not analysed yet, oldest first.
#[derive(Default)]
pub(crate) struct Handover {
    state: Mutex<HandoverState>,
    wake: Condvar,
}

#[derive(Default)]
struct HandoverState {
    parts: VecDeque<Part>,
    /// The time at which the source ended.
    end: Option<Time>,
    /// The rest is not analysed any more.
    is_abandoned: bool,
}

/// The next work of the analysis.
pub(crate) enum Handed {
    Part(Part),
    /// There was no part for a while.
    Nothing,
    /// The source ended at this time and all its parts are analysed.
    End(Time),
    /// The rest is not to be analysed.
    Abandoned,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, HandoverState> {
        // A panic elsewhere leaves the parts as usable as before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, part: Part) {
        self.lock().parts.push_back(part);
        self.wake.notify_one();
    }

    /// Ends the source: no parts follow.
    pub(crate) fn end(&self, at: Time) {
        self.lock().end = Some(at);
        self.wake.notify_one();
    }

    /// Leaves the rest unanalysed.
    pub(crate) fn abandon(&self) {
        self.lock().is_abandoned = true;
        self.wake.notify_one();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().is_abandoned
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().parts.is_empty()
    }

    /// Waits for the next part, for `timeout` at most.
    pub(crate) fn next(&self, timeout: Duration) -> Handed {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if state.is_abandoned {
                return Handed::Abandoned;
            }
            if let Some(part) = state.parts.pop_front() {
                return Handed::Part(part);
            }
            if let Some(at) = state.end {
                return Handed::End(at);
            }
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return Handed::Nothing;
            };
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
