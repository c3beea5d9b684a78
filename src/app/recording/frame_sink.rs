//! The destinations of the frames of a live run: the session file and the journal.

use std::sync::Arc;
use std::time::Duration;

use xdscope_sources::record::JournalWriter;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent, next_drop};
use xdscope_wire::event::Time;

use super::journal::{Journal, JournalInput};
use super::recorder::Recorder;
use crate::app::live_state::LiveState;

/// Writes decoded frames to the session file and to the journal.
pub(crate) struct FrameSink {
    /// The contents and names of the frames.
    pub(crate) catalog: Catalog,
    /// `None` with `--no-record`.
    recorder: Option<Recorder>,
    journal: JournalWriter<JournalInput>,
    /// Learns about the session file.
    shared: Arc<LiveState>,
    /// Bytes that contents and names may take.
    budget: usize,
    /// Bytes from which contents and names are dropped.
    drop_at: usize,
}

impl FrameSink {
    /// `budget`: bytes that contents and names may take.
    pub(crate) fn new(
        catalog: Catalog,
        recorder: Option<Recorder>,
        journal: Arc<Journal>,
        shared: Arc<LiveState>,
        budget: usize,
    ) -> FrameSink {
        let journal = JournalWriter::new(JournalInput(journal));
        FrameSink { catalog, recorder, journal, shared, budget, drop_at: budget }
    }

    /// Does what the first message would otherwise wait for.
    pub(crate) fn warm(&self) {
        if let Some(redactor) = self.catalog.redactor() {
            redactor.warm();
        }
    }

    /// Returns the journal.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        &self.journal.sink().0
    }

    /// Writes a frame.
    pub(crate) fn write(&mut self, frame: &Frame) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write(frame, &self.catalog);
        }
        self.journal.write(frame, &self.catalog);
    }

    /// Drops contents and names, except for those of the newest responses and those that `mark`
    /// marks, once they take too much memory. A dropped content that comes again is written again.
    pub(crate) fn drop_old(&mut self, mark: impl FnOnce(&mut UsedContent)) {
        if self.catalog.memory() <= self.drop_at {
            return;
        }
        let mut used = UsedContent::default();
        mark(&mut used);
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

    /// Hands all frames on to the analysis.
    pub(crate) fn hand_on(&mut self) {
        self.journal.flush();
        if self.journal().should_begin_segment(self.journal.segment_bytes(), self.budget) {
            self.journal.begin_segment();
        }
    }

    /// Writes new frames to the session file if it is time.
    pub(crate) fn flush_file(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flush(now);
            self.shared.note_recorder(recorder);
        }
    }

    /// Returns when [`FrameSink::flush_file`] has something to do.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.recorder.as_ref().and_then(Recorder::due)
    }

    /// Completes the session file, and ends the journal. Returns the contents of the frames.
    pub(crate) fn finish(mut self, now: Time) -> Catalog {
        self.journal().begin_end();
        self.journal.flush();
        self.flush_file(now);
        if let Some(recorder) = self.recorder.take() {
            self.shared.finish_recording(recorder);
        }
        self.journal().end(now);
        self.catalog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::recording::journal::NextPart;
    use xdscope_engine::analysis::Analysis;
    use xdscope_engine::lint;
    use xdscope_engine::store::{Options, Store};
    use xdscope_sources::record::JournalReader;
    use xdscope_wire::event::{Clock, StreamId};
    use xdscope_wire::{FramePayload, Message, MessageShape};

    /// The number of messages that a frame stands for.
    fn messages(frame: &Frame) -> u64 {
        match &frame.what {
            FramePayload::Message(_) => 1,
            FramePayload::Gap { messages, .. } => *messages,
            _ => 0,
        }
    }

    #[test]
    fn losses_at_the_end_are_told() {
        let mut catalog = Catalog::in_memory();
        let message = Arc::new(Message::parse(MessageShape::SotwRequest, &[], &mut catalog));
        let journal = Arc::new(Journal::new(1, None));
        let store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
        let shared = Arc::new(LiveState::new(Analysis::new(store, lint::Options::default())));
        let mut sink = FrameSink::new(catalog, None, journal.clone(), shared, usize::MAX);
        let open = FramePayload::Open(Box::default());
        for (at, what) in (0..).zip([open].into_iter().chain(vec![FramePayload::Message(message); 10])) {
            sink.write(&Frame { at: Time(at), stream: StreamId(1), what });
            sink.hand_on();
        }
        sink.finish(Time(20));
        let (mut reader, mut catalog, mut frames) =
            (JournalReader::default(), Catalog::in_memory(), Vec::new());
        while let NextPart::Part { records, .. } = journal.next(Duration::ZERO) {
            reader.begin(records);
            while reader.next(&mut catalog, &mut frames) {}
        }
        assert_eq!(frames.iter().map(messages).sum::<u64>(), 10);
        assert!(frames.len() < 10, "most of the messages had no room");
    }
}
