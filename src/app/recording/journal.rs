//! The journal of a live run: what is decoded and recorded, and not analysed yet.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use xdscope_sources::record::{JournalPart, PartSink};
use xdscope_wire::event::Time;

use super::spool::Spool;

/// One part in this many of the limit of copies is for records that are not analysed yet.
pub(crate) const JOURNAL_DIVISOR: usize = 4;

/// The parts of a journal in order, in memory and beyond its limit in the spool.
pub(crate) struct Journal {
    /// Bytes of records in memory beyond which parts go to the spool. Without room there, memory
    /// takes twice as much, and further parts are refused.
    limit: usize,
    spool: Option<Arc<Spool>>,
    state: Mutex<JournalState>,
    wake: Condvar,
    /// A part was analysed.
    progress: Condvar,
}

#[derive(Default)]
struct JournalState {
    parts: VecDeque<QueuedPart>,
    /// Bytes of records in memory and in the spool.
    in_memory: usize,
    in_spool: u64,
    /// The reader wants to forget contents, which it may when a segment begins.
    wants_segment: bool,
    /// The parts that begin a segment.
    segments: usize,
    /// The time at which the source ended.
    end: Option<Time>,
    /// The rest is not analysed any more.
    is_abandoned: bool,
    /// A part is taken and not analysed yet.
    is_taken: bool,
    /// The writer waits for events, and all frames before are in the journal.
    is_writer_idle: bool,
}

struct QueuedPart {
    records: QueuedRecords,
    begins_segment: bool,
}

enum QueuedRecords {
    Memory(Vec<u8>),
    Spooled(Range<u64>),
}

/// The next work of the analysis.
pub(crate) enum NextPart {
    Part {
        records: Bytes,
        begins_segment: bool,
    },
    /// There was no part for a while.
    Nothing,
    /// The source ended at this time and all its parts are analysed.
    End(Time),
    /// The rest is not to be analysed.
    Abandoned,
}

impl Journal {
    /// Creates a journal with `limit` bytes of memory.
    pub(crate) fn new(limit: usize, spool: Option<Arc<Spool>>) -> Journal {
        Journal { limit, spool, state: Mutex::default(), wake: Condvar::new(), progress: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        // A panic elsewhere leaves the parts as usable as before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.progress.notify_all();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().is_abandoned
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().parts.is_empty()
    }

    /// Returns the bytes of records that are not analysed yet.
    pub(crate) fn backlog(&self) -> u64 {
        let state = self.lock();
        state.in_memory as u64 + state.in_spool
    }

    /// Asks for the beginning of a segment, unless one waits.
    pub(crate) fn want_segment(&self) {
        let mut state = self.lock();
        state.wants_segment = state.segments == 0;
    }

    /// Whether a segment should begin after one of `bytes`, of which the reader may keep `budget`.
    ///
    /// A reader that lags behind cannot ask in time.
    pub(crate) fn should_begin_segment(&self, bytes: u64, budget: usize) -> bool {
        let state = self.lock();
        state.wants_segment || (state.in_spool > 0 && bytes > budget as u64)
    }

    /// Gives the room of an empty spool back, in a pause of the traffic.
    pub(crate) fn trim_spool(&self) {
        self.spool.iter().for_each(|spool| spool.trim());
    }

    /// Waits for the next part, for `timeout` at most.
    pub(crate) fn next(&self, timeout: Duration) -> NextPart {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if state.is_abandoned {
                return NextPart::Abandoned;
            }
            if let Some(QueuedPart { records, begins_segment }) = state.parts.pop_front() {
                state.segments -= usize::from(begins_segment);
                state.is_taken = true;
                let records = match records {
                    QueuedRecords::Memory(records) => {
                        state.in_memory -= records.len();
                        records
                    }
                    QueuedRecords::Spooled(place) => {
                        state.in_spool -= place.end - place.start;
                        drop(state);
                        self.read(place)
                    }
                };
                return NextPart::Part { records: records.into(), begins_segment };
            }
            if let Some(at) = state.end {
                return NextPart::End(at);
            }
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return NextPart::Nothing;
            };
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Says that the part that was taken last is analysed.
    pub(crate) fn finish_part(&self) {
        self.lock().is_taken = false;
        self.progress.notify_all();
    }

    /// Waits until everything so far is analysed, for `timeout` at most. Returns whether it is.
    pub(crate) fn wait_until_analysed(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, |state| state.is_taken || !state.parts.is_empty())
    }

    /// Waits until records have room in memory again, for `timeout` at most. Returns whether they
    /// have.
    pub(crate) fn wait_for_room(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, |state| state.in_memory > self.limit)
    }

    /// Waits while the analysis works and `is_waiting`. Returns whether that has ended.
    fn wait_while(&self, timeout: Duration, is_waiting: impl Fn(&JournalState) -> bool) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        while is_waiting(&state) && !state.is_abandoned {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return false;
            };
            state = self.progress.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        !is_waiting(&state)
    }

    /// Says whether the writer waits for events, and all frames before are in the journal.
    pub(crate) fn set_writer_idle(&self, is_idle: bool) {
        self.lock().is_writer_idle = is_idle;
    }

    pub(crate) fn is_writer_idle(&self) -> bool {
        self.lock().is_writer_idle
    }

    /// Reads records from the spool, and releases their room.
    fn read(&self, place: Range<u64>) -> Vec<u8> {
        let Some(spool) = &self.spool else { return Vec::new() };
        spool.take_records(place).unwrap_or_else(|error| {
            tracing::warn!("the spool cannot be read, part of the view is missing: {error}");
            self.want_segment();
            Vec::new()
        })
    }

    /// Takes a part, or refuses it without room.
    fn push(&self, part: JournalPart) -> io::Result<()> {
        let JournalPart { records, begins_segment } = part;
        let len = records.len();
        let mut state = self.lock();
        if state.in_memory + len > self.limit && !state.parts.is_empty() {
            drop(state);
            let place = self.spool.as_ref().and_then(|spool| spool.put_records(&records));
            state = self.lock();
            if let Some(place) = place {
                state.in_spool += len as u64;
                let records = QueuedRecords::Spooled(place);
                state.add(QueuedPart { records, begins_segment });
                self.wake.notify_one();
                return Ok(());
            }
            if state.in_memory + len > 2 * self.limit && !state.parts.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        state.in_memory += len;
        state.add(QueuedPart { records: QueuedRecords::Memory(records), begins_segment });
        self.wake.notify_one();
        Ok(())
    }
}

impl JournalState {
    fn add(&mut self, part: QueuedPart) {
        self.wants_segment &= !part.begins_segment;
        self.segments += usize::from(part.begins_segment);
        self.parts.push_back(part);
    }
}

/// The end of a journal that the decoder writes.
pub(crate) struct JournalInput(pub(crate) Arc<Journal>);

impl PartSink for JournalInput {
    fn take(&mut self, part: JournalPart) -> io::Result<()> {
        self.0.push(part)
    }
}
