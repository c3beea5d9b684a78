//! The recorder: a thread that takes copies from the tap, records their frames and hands the copies
//! over to the analysis.
//!
//! The recorder keeps the priority of the process, so that the recording does not lag on a busy
//! machine (docs/decisions/0015-record-first.md).

pub(super) mod handover;
pub(super) mod late;
pub(super) mod named_recording;
pub(super) mod pending;
pub(super) mod recorder;
pub mod recording_file;
pub(crate) mod search_limit;
pub mod session_dir;
pub mod spool;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use xdscope_sources::observe::{ConnId, Pipeline, TapCopy};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent, next_drop};
use xdscope_wire::event::Time;

use super::live::LiveState;
use handover::Handover;
use late::LateLosses;
use pending::PendingParts;
use recorder::Recorder;
use spool::SpoolReader;

/// The longest time without traffic before the recorder looks at its file.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes in the queue that are drained before the next part is recorded.
const MIN_DRAINED_BYTES: usize = 4 << 20;
/// The queue is drained earlier once it has one part in this many of its limit.
const DRAINED_DIVISOR: usize = 8;
/// Drains between two parts at most.
const MAX_DRAINS: usize = 8;

/// Bytes that are recorded after the deadline, of the connections with the fewest pending bytes: a
/// flood on one connection must not keep the others out of the recording.
const MAX_LATE_BYTES: u64 = 1 << 20;

/// Longest time after the deadline in which bytes are recorded.
const MAX_LATE_TIME: Duration = Duration::from_millis(200);

/// The session file of a tap, and the decoder of its frames.
///
/// The decoder is separate from that of the analysis, so that neither waits for the other.
pub struct Recording {
    recorder: Recorder,
    pipeline: Pipeline,
    catalog: Catalog,
    frames: Vec<Frame>,
    /// Bytes that contents and names may take.
    budget: usize,
    /// Bytes from which contents and names are dropped.
    drop_at: usize,
}

impl Recording {
    /// `budget`: bytes that contents and names may take.
    pub fn new(recorder: Recorder, pipeline: Pipeline, catalog: Catalog, budget: usize) -> Recording {
        Recording { recorder, pipeline, catalog, frames: Vec::new(), budget, drop_at: budget }
    }

    /// Drops contents and names, except for those of the newest responses, once they take too much
    /// memory. A dropped content that is sent again is written to the file again.
    fn drop_old(&mut self) {
        if self.catalog.memory() <= self.drop_at {
            return;
        }
        let mut used = UsedContent::default();
        self.pipeline.mark(&mut used);
        self.recorder.mark(&mut used);
        let used = self.catalog.retain(used);
        self.recorder.forget(&used);
        self.drop_at = next_drop(self.budget, self.catalog.memory());
    }

    /// Does what the first message would otherwise wait for.
    fn warm(&self) {
        self.catalog.redactor().iter().for_each(|redactor| redactor.warm());
    }

    fn take(&mut self, copies: Vec<TapCopy>) {
        for copy in copies {
            self.pipeline.handle(copy, &mut self.catalog, &mut self.frames);
            for frame in self.frames.drain(..) {
                self.recorder.write(&frame, &self.catalog);
            }
            self.drop_old();
        }
    }

    /// Writes new frames to the file if it is time.
    fn flush(&mut self, now: Time, shared: &LiveState) {
        self.recorder.flush(now);
        shared.note_recorder(&mut self.recorder);
    }

    fn finish(self, shared: &LiveState) {
        shared.finish_recording(self.recorder);
    }
}

/// The work of the recorder thread.
pub(super) struct RecorderWorker {
    pub(super) pending: Arc<PendingParts>,
    /// `None`: copies are only handed over.
    pub(super) recording: Option<Recording>,
    pub(super) spool: Option<SpoolReader>,
    pub(super) handover: Arc<Handover>,
    pub(super) shared: Arc<LiveState>,
    /// When to stop decoding: what remains then is recorded as lost, except for small connections.
    pub(super) deadline: Arc<OnceLock<Instant>>,
    /// The connections that are recorded after the deadline, and the losses of the others.
    pub(super) late: Option<(BTreeSet<ConnId>, LateLosses)>,
}

impl RecorderWorker {
    /// Runs until the queue has ended and everything is recorded and handed over.
    pub(super) fn run(mut self) {
        self.recording.iter().for_each(Recording::warm);
        let pending = self.pending.clone();
        let copies = &pending.copies;
        let mut is_open = true;
        while is_open || !pending.is_empty() {
            // Copies leave the queue between any two parts, before the queue is full.
            if pending.is_empty() {
                copies.wait(self.idle_interval());
            }
            is_open = pending.fill();
            for _ in 1..MAX_DRAINS {
                if copies.queued() < MIN_DRAINED_BYTES.min(copies.limit() / DRAINED_DIVISOR) {
                    break;
                }
                is_open = pending.fill();
            }
            self.step();
        }
        let now = copies.now();
        if let Some(mut recording) = self.recording.take() {
            recording.take(self.late.take().map_or_else(Vec::new, |(_, losses)| losses.finish()));
            recording.flush(now, &self.shared);
            recording.finish(&self.shared);
        }
        self.handover.end(now);
    }

    fn idle_interval(&self) -> Duration {
        let due = self.recording.as_ref().and_then(|recording| recording.recorder.due());
        due.map_or(IDLE_INTERVAL, |due| due.min(IDLE_INTERVAL))
    }

    /// Records the oldest pending part and hands it over.
    fn step(&mut self) {
        let late = self.deadline.get().and_then(|deadline| Instant::now().checked_duration_since(*deadline));
        if let Some(late) = late {
            let smallest = || self.pending.smallest_connections(MAX_LATE_BYTES);
            let (kept, _) = self.late.get_or_insert_with(|| (smallest(), LateLosses::default()));
            if late > MAX_LATE_TIME {
                kept.clear();
            }
        }
        if let Some(mut part) = self.pending.pop() {
            if let Some(recording) = &mut self.recording {
                let spool = self.spool.as_mut();
                recording.take(match &mut self.late {
                    Some((kept, losses)) => losses.add(part.losses(spool, kept)),
                    None => part.copies(spool),
                });
            }
            self.pending.spool_beyond(self.pending.copies.limit() / 2, &mut part);
            self.handover.push(part);
        }
        if let Some(recording) = &mut self.recording {
            recording.flush(self.pending.copies.now(), &self.shared);
        }
    }
}
