//! The decoder: a thread that takes copies from the tap, decodes each once, and writes the frames
//! to the session file and to the journal, which the analysis reads.
//!
//! The decoder keeps the priority of the process, so that the recording does not lag on a busy
//! machine (docs/decisions/0023-one-decoder.md).

pub(crate) mod journal;
pub(super) mod late;
pub(super) mod named_recording;
pub(super) mod part;
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
use xdscope_sources::record::JournalWriter;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent, next_drop};
use xdscope_wire::event::Time;

use super::live::LiveState;
use journal::{Journal, JournalInput};
use late::LateLosses;
use pending::PendingParts;
use recorder::Recorder;
use spool::SpoolReader;

/// The longest time without traffic before the decoder looks at the session file.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes in the queue that are drained before the next part is decoded.
const MIN_DRAINED_BYTES: usize = 4 << 20;
/// The queue is drained earlier once it has one part in this many of its limit.
const DRAINED_DIVISOR: usize = 8;
/// Drains between two parts at most.
const MAX_DRAINS: usize = 8;

/// Bytes that are decoded after the deadline, of the connections with the fewest pending bytes: a
/// flood on one connection must not keep the others out of the recording.
const MAX_LATE_BYTES: u64 = 1 << 20;

/// Longest time after the deadline in which bytes are decoded.
const MAX_LATE_TIME: Duration = Duration::from_millis(200);

/// Decodes copies, and writes their frames to the session file and the journal.
pub(super) struct Decoder {
    pipeline: Pipeline,
    catalog: Catalog,
    frames: Vec<Frame>,
    /// `None` with `--no-record`.
    recorder: Option<Recorder>,
    journal: JournalWriter<JournalInput>,
    /// Bytes that contents and names may take.
    budget: usize,
    /// Bytes from which contents and names are dropped.
    drop_at: usize,
}

impl Decoder {
    /// `budget`: bytes that contents and names may take.
    pub(super) fn new(
        pipeline: Pipeline,
        catalog: Catalog,
        recorder: Option<Recorder>,
        journal: Arc<Journal>,
        budget: usize,
    ) -> Decoder {
        let journal = JournalWriter::new(JournalInput(journal));
        Decoder { pipeline, catalog, frames: Vec::new(), recorder, journal, budget, drop_at: budget }
    }

    /// Drops contents and names, except for those of the newest responses, once they take too much
    /// memory. A dropped content that is sent again is written again.
    fn drop_old(&mut self) {
        if self.catalog.memory() <= self.drop_at {
            return;
        }
        let mut used = UsedContent::default();
        self.pipeline.mark(&mut used);
        self.journal.mark(&mut used);
        if let Some(recorder) = &self.recorder {
            recorder.mark(&mut used);
        }
        let used = self.catalog.retain(used);
        self.journal.forget(&used);
        if let Some(recorder) = &mut self.recorder {
            recorder.forget(&used);
        }
        self.drop_at = next_drop(self.budget, self.catalog.memory());
    }

    /// Does what the first message would otherwise wait for.
    fn warm(&self) {
        self.catalog.redactor().iter().for_each(|redactor| redactor.warm());
    }

    /// Decodes copies and hands their frames on.
    fn take(&mut self, copies: Vec<TapCopy>) {
        for copy in copies {
            self.pipeline.handle(copy, &mut self.catalog, &mut self.frames);
            for frame in self.frames.drain(..) {
                if let Some(recorder) = &mut self.recorder {
                    recorder.write(&frame, &self.catalog);
                }
                self.journal.write(&frame, &self.catalog);
            }
            self.drop_old();
        }
        self.journal.flush();
        if self.journal.sink().0.should_begin_segment(self.journal.segment_bytes(), self.budget) {
            self.journal.begin_segment();
        }
    }

    /// Writes new frames to the file if it is time.
    fn flush_file(&mut self, now: Time, shared: &LiveState) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flush(now);
            shared.note_recorder(recorder);
        }
    }

    /// Returns when [`Decoder::flush_file`] has something to do.
    fn due(&self) -> Option<Duration> {
        self.recorder.as_ref().and_then(Recorder::due)
    }

    /// Completes the session file.
    fn finish(self, shared: &LiveState) {
        if let Some(recorder) = self.recorder {
            shared.finish_recording(recorder);
        }
    }
}

/// The work of the decoder thread.
pub(super) struct DecoderWorker {
    pub(super) pending: Arc<PendingParts>,
    pub(super) decoder: Decoder,
    pub(super) spool: Option<SpoolReader>,
    pub(super) journal: Arc<Journal>,
    pub(super) shared: Arc<LiveState>,
    /// When to stop decoding: what remains then is recorded as lost, except for small connections.
    pub(super) deadline: Arc<OnceLock<Instant>>,
    /// The connections that are decoded after the deadline, and the losses of the others.
    pub(super) late: Option<(BTreeSet<ConnId>, LateLosses)>,
}

impl DecoderWorker {
    /// Runs until the queue has ended and everything is decoded.
    pub(super) fn run(mut self) {
        self.decoder.warm();
        let pending = self.pending.clone();
        let copies = &pending.copies;
        let mut is_open = true;
        while is_open || !pending.is_empty() {
            // Copies leave the queue between any two parts, before the queue is full.
            if pending.is_empty() {
                copies.wait(self.decoder.due().unwrap_or(IDLE_INTERVAL).min(IDLE_INTERVAL));
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
        let losses = self.late.take().map_or_else(Vec::new, |(_, losses)| losses.finish());
        self.decoder.take(losses);
        self.decoder.flush_file(now, &self.shared);
        self.decoder.finish(&self.shared);
        self.journal.end(now);
    }

    /// Decodes the oldest pending part.
    fn step(&mut self) {
        let late = self.deadline.get().and_then(|deadline| Instant::now().checked_duration_since(*deadline));
        if let Some(late) = late {
            let smallest = || self.pending.smallest_connections(MAX_LATE_BYTES);
            let (kept, _) = self.late.get_or_insert_with(|| (smallest(), LateLosses::default()));
            if late > MAX_LATE_TIME {
                kept.clear();
            }
        }
        if let Some(part) = self.pending.pop() {
            let (spool, copies) = (self.spool.as_mut(), &self.pending.copies);
            let copies = match &mut self.late {
                Some((kept, losses)) => losses.add(part.into_losses(spool, copies, kept)),
                None => part.into_copies(spool, copies),
            };
            self.decoder.take(copies);
        }
        self.decoder.flush_file(self.pending.copies.now(), &self.shared);
    }
}
