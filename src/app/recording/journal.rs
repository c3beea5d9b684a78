//! The journal of a live run: what is decoded and recorded, and not analysed yet.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::net::lock;
use xdscope_sources::record::{JournalPart, PartSink};
use xdscope_wire::event::Time;

use super::spool::Spool;

/// One part in this many of the limit of copies is for records that are not analysed yet.
pub(crate) const JOURNAL_DIVISOR: usize = 4;

/// How long a writer waits for room.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The parts of a journal in order, in memory and beyond its limit in the spool.
pub(crate) struct Journal {
    /// Bytes of records in memory beyond which parts go to the spool.
    limit: usize,
    spool: Option<Arc<Spool>>,
    /// The writer waits for room. Otherwise, parts beyond [`JOURNAL_DIVISOR`] times the limit are
    /// refused if the spool has no room.
    has_patient_writer: bool,
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
    /// Events of the part that is taken, as far as they are not analysed.
    taken_events: u64,
    /// The source ends: what comes now is the last, and has room.
    is_ending: bool,
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
    events: u64,
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
    /// Creates the journal of a tap, with `limit` bytes of memory. Its writer never waits.
    pub(crate) fn new(limit: usize, spool: Option<Arc<Spool>>) -> Journal {
        let (state, wake, progress) = (Mutex::default(), Condvar::new(), Condvar::new());
        Journal { limit, spool, has_patient_writer: false, state, wake, progress }
    }

    /// Creates a journal with `limit` bytes of memory, whose writer waits for room.
    pub(crate) fn with_patient_writer(limit: usize) -> Journal {
        Journal { has_patient_writer: true, ..Journal::new(limit, None) }
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        lock(&self.state)
    }

    /// Says that the source ends: there is room for the rest, because nothing tells of its loss.
    pub(crate) fn begin_end(&self) {
        self.lock().is_ending = true;
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

    /// Returns the spool of the run, if there is one.
    pub(crate) fn spool(&self) -> Option<Arc<Spool>> {
        self.spool.clone()
    }

    /// Returns the bytes of records that are not analysed yet.
    pub(crate) fn backlog(&self) -> u64 {
        let state = self.lock();
        state.in_memory as u64 + state.in_spool
    }

    /// Returns the number of events that are not analysed yet.
    pub(crate) fn waiting_events(&self) -> u64 {
        let state = self.lock();
        state.taken_events + state.parts.iter().map(|part| part.events).sum::<u64>()
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
            if let Some(QueuedPart { records, events, begins_segment }) = state.parts.pop_front() {
                state.segments -= usize::from(begins_segment);
                (state.is_taken, state.taken_events) = (true, events);
                let records = match records {
                    QueuedRecords::Memory(records) => {
                        state.in_memory -= records.len();
                        self.progress.notify_all();
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

    /// Says that events of the part that was taken last are analysed.
    pub(crate) fn finish_events(&self, events: u64) {
        let mut state = self.lock();
        state.taken_events = state.taken_events.saturating_sub(events);
    }

    /// Says that the part that was taken last is analysed.
    pub(crate) fn finish_part(&self) {
        let mut state = self.lock();
        (state.is_taken, state.taken_events) = (false, 0);
        drop(state);
        self.progress.notify_all();
    }

    /// Waits until everything so far is analysed, for `timeout` at most. Returns whether it is.
    pub(crate) fn wait_until_analysed(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, |state| state.is_taken || !state.parts.is_empty())
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
        let JournalPart { records, events, begins_segment } = part;
        let len = records.len();
        if self.has_patient_writer {
            self.wait_while(MAX_WAIT, |state| state.in_memory > self.limit);
        }
        let mut state = self.lock();
        if state.is_abandoned {
            return Ok(());
        }
        if state.in_memory + len > self.limit && !state.parts.is_empty() {
            drop(state);
            let place = self.spool.as_ref().and_then(|spool| spool.put_records(&records));
            state = self.lock();
            if let Some(place) = place {
                state.in_spool += len as u64;
                let records = QueuedRecords::Spooled(place);
                state.add(QueuedPart { records, events, begins_segment });
                self.wake.notify_one();
                return Ok(());
            }
            let max = self.limit.saturating_mul(JOURNAL_DIVISOR);
            if state.in_memory + len > max && !state.parts.is_empty() && !state.is_ending {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        state.in_memory += len;
        state.add(QueuedPart { records: QueuedRecords::Memory(records), events, begins_segment });
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1000;
    /// Bytes of a part.
    const BYTES: usize = 400;

    fn part(n: u8, begins_segment: bool) -> JournalPart {
        JournalPart { records: vec![n; BYTES], events: 10, begins_segment }
    }

    /// Takes the next part. Returns its first byte, and whether it begins a segment.
    fn next(journal: &Journal) -> Option<(u8, bool)> {
        match journal.next(Duration::ZERO) {
            NextPart::Part { records, begins_segment } => {
                assert!(records.len() == BYTES && records.iter().all(|byte| *byte == records[0]));
                Some((records[0], begins_segment))
            }
            _ => None,
        }
    }

    #[test]
    fn parts_pass_the_spool_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 1 << 20).unwrap());
        let journal = Journal::new(LIMIT, Some(spool));
        for round in 0..3 {
            (0..20).for_each(|n| journal.push(part(n, n == 0 && round == 0)).unwrap());
            assert_eq!(journal.backlog(), 20 * BYTES as u64);
            let taken: Vec<_> = std::iter::from_fn(|| next(&journal)).collect();
            assert_eq!(taken, (0..20).map(|n| (n, n == 0 && round == 0)).collect::<Vec<_>>());
            assert_eq!((journal.backlog(), journal.is_empty()), (0, true));
        }
    }

    #[test]
    fn parts_beyond_memory_and_spool_are_refused() {
        let journal = Journal::new(LIMIT, None);
        let refused = (0..20).filter(|n| journal.push(part(*n, false)).is_err()).count();
        assert_eq!(refused, 20 - JOURNAL_DIVISOR * LIMIT / BYTES);
        assert_eq!(next(&journal), Some((0, false)));
        assert!(journal.push(part(20, true)).is_ok(), "there is room again");
        assert!(journal.push(part(20, false)).is_err());
        journal.begin_end();
        assert!(journal.push(part(20, false)).is_ok(), "the rest has room");
        journal.abandon();
        assert!(journal.push(part(21, false)).is_ok(), "nobody reads on");
        assert!(journal.backlog() < 5000);
    }

    #[test]
    fn events_wait_until_they_are_analysed() {
        let journal = Journal::new(LIMIT, None);
        (0..3).for_each(|n| journal.push(part(n, false)).unwrap());
        assert_eq!(journal.waiting_events(), 30);
        assert_eq!(next(&journal), Some((0, false)));
        journal.finish_events(7);
        assert_eq!(journal.waiting_events(), 23);
        journal.finish_part();
        assert_eq!(journal.waiting_events(), 20);
        next(&journal);
        journal.abandon();
        assert_eq!(journal.waiting_events(), 20);
    }

    #[test]
    fn segments_begin_when_the_reader_wants_one_or_lags() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 1 << 20).unwrap());
        let journal = Journal::new(LIMIT, Some(spool));
        assert!(!journal.should_begin_segment(5000, 1000), "the reader keeps pace");
        journal.want_segment();
        assert!(journal.should_begin_segment(0, 1000));
        journal.push(part(0, true)).unwrap();
        assert!(!journal.should_begin_segment(0, 1000));
        journal.want_segment();
        assert!(!journal.should_begin_segment(0, 1000), "a segment waits");
        (1..10).for_each(|n| journal.push(part(n, false)).unwrap());
        assert!(journal.should_begin_segment(5000, 1000), "the reader lags");
        assert!(!journal.should_begin_segment(500, 1000));
    }

    #[test]
    fn patient_writers_wait_for_room() {
        let journal = Journal::with_patient_writer(LIMIT);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..50).for_each(|n| journal.push(part(n, false)).unwrap()));
            for n in 0..50 {
                let NextPart::Part { records, .. } = journal.next(Duration::from_secs(60)) else {
                    panic!("no part {n}");
                };
                assert!(records[0] == n && journal.backlog() <= (LIMIT + BYTES) as u64);
                journal.finish_part();
            }
        });
        assert!(journal.wait_until_analysed(Duration::ZERO));
    }
}
