//! The decoder: a thread that takes copies from the tap, decodes each once, and writes the frames
//! to the session file and to the journal, which the analysis reads.
//!
//! The decoder keeps the priority of the process, so that the recording does not lag on a busy
//! machine (docs/decisions/0023-one-decoder.md).

pub(crate) mod frame_sink;
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
use xdscope_wire::Frame;

use frame_sink::FrameSink;
use late::LateLosses;
use pending::PendingParts;
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

/// The work of the decoder thread.
pub(super) struct DecoderWorker {
    pending: Arc<PendingParts>,
    pipeline: Pipeline,
    /// Frames that are decoded and not written.
    decoded: Vec<Frame>,
    frames: FrameSink,
    spool: Option<SpoolReader>,
    /// When to stop decoding: what remains then is recorded as lost, except for small connections.
    deadline: Arc<OnceLock<Instant>>,
    /// The connections that are decoded after the deadline, and the losses of the others.
    late: Option<(BTreeSet<ConnId>, LateLosses)>,
}

impl DecoderWorker {
    pub(super) fn new(
        pending: Arc<PendingParts>,
        pipeline: Pipeline,
        frames: FrameSink,
        spool: Option<SpoolReader>,
        deadline: Arc<OnceLock<Instant>>,
    ) -> DecoderWorker {
        DecoderWorker { pending, pipeline, decoded: Vec::new(), frames, spool, deadline, late: None }
    }

    /// Runs until the queue has ended and everything is decoded.
    pub(super) fn run(mut self) {
        self.frames.warm();
        let pending = self.pending.clone();
        let copies = &pending.copies;
        let mut is_open = true;
        while is_open || !pending.is_empty() {
            // Copies leave the queue between any two parts, before the queue is full.
            if pending.is_empty() {
                copies.wait(self.frames.due().unwrap_or(IDLE_INTERVAL).min(IDLE_INTERVAL));
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
        self.take(losses);
        self.frames.finish(now);
    }

    /// Decodes copies and hands their frames on.
    fn take(&mut self, copies: Vec<TapCopy>) {
        let DecoderWorker { pipeline, decoded, frames, .. } = self;
        for copy in copies {
            pipeline.handle(copy, &mut frames.catalog, decoded);
            for frame in decoded.drain(..) {
                frames.write(&frame);
            }
            frames.drop_old(|used| pipeline.mark(used));
        }
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
            self.take(copies);
        }
        self.frames.hand_on();
        self.frames.flush_file(self.pending.copies.now());
    }
}
