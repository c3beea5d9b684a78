//! The state that the analysis of a live run shares with screens and printers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use super::recording::recorder::{FinishedRecording, Recorder};
use crate::net::lock;
use xdscope_engine::analysis::Analysis;
use xdscope_tui::Waker;

/// The state that the analysis shares with screens and printers.
pub struct LiveState {
    store: Mutex<Analysis>,
    /// Ticket lock: held while waiting for the store, so that waiters take turns.
    next: Mutex<()>,
    revision: AtomicU64,
    /// Wakes the screens when the revision changes.
    waker: OnceLock<Waker>,
    recorded: AtomicU64,
    /// The error that stops the recording at present.
    failed: Mutex<Option<String>>,
    /// Messages about the session files that nobody has read yet.
    news: Mutex<Vec<String>>,
    /// The session files in order; the last one is written at present.
    recordings: Mutex<Vec<PathBuf>>,
    /// The error that keeps the source from its server at present.
    trouble: Mutex<Option<String>>,
    /// The reader of the sink is gone.
    unread: AtomicBool,
    /// Events that were not analysed when the run ended.
    unanalysed: AtomicU64,
}

impl LiveState {
    pub(super) fn new(store: Analysis) -> LiveState {
        LiveState {
            store: Mutex::new(store),
            next: Mutex::new(()),
            revision: AtomicU64::new(0),
            waker: OnceLock::new(),
            recorded: AtomicU64::new(0),
            failed: Mutex::new(None),
            news: Mutex::new(Vec::new()),
            recordings: Mutex::new(Vec::new()),
            trouble: Mutex::new(None),
            unread: AtomicBool::new(false),
            unanalysed: AtomicU64::new(0),
        }
    }

    /// Locks the store. Traffic goes on meanwhile.
    pub fn store(&self) -> MutexGuard<'_, Analysis> {
        // Without the ticket, a thread that locks again at once would starve the others.
        let _next = lock(&self.next);
        lock(&self.store)
    }

    /// Returns whether a thread waits for the store.
    pub(super) fn is_wanted(&self) -> bool {
        matches!(self.next.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Returns a number that changes whenever the store may have.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Sets the waker to call whenever the store may have changed. Only the first one counts.
    pub(super) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Returns the size of the session file in bytes.
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Takes messages to the user about the session files.
    pub fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.news))
    }

    /// Returns the session files in order; none before the first frame.
    pub fn recordings(&self) -> Vec<PathBuf> {
        lock(&self.recordings).clone()
    }

    /// Publishes size, path, errors and messages of the recorder.
    pub(super) fn note_recorder(&self, recorder: &mut Recorder) {
        self.recorded.store(recorder.bytes(), Ordering::Relaxed);
        *lock(&self.failed) = recorder.error().map(ToString::to_string);
        let mut recordings = lock(&self.recordings);
        if recordings.last().map(PathBuf::as_path) != Some(recorder.path()) {
            *recordings = recorder.paths();
        }
        drop(recordings);
        lock(&self.news).extend(recorder.take_news());
    }

    /// Completes the recording, and publishes what remains of it.
    pub(super) fn finish_recording(&self, recorder: Recorder) {
        let FinishedRecording { paths, bytes, news, error } = recorder.finish();
        self.recorded.store(bytes, Ordering::Relaxed);
        *lock(&self.failed) = error.map(|error| error.to_string());
        *lock(&self.recordings) = paths;
        lock(&self.news).extend(news);
    }

    /// Returns the last file of the session and the size of all of them; `None` without a
    /// recording, or if the files were removed.
    pub(super) fn kept(&self) -> Option<(PathBuf, u64)> {
        Some((self.recordings().pop()?, self.recorded()))
    }

    /// Returns the error that stops the recording at present.
    pub fn recording_error(&self) -> Option<String> {
        lock(&self.failed).clone()
    }

    /// Returns the error that keeps the source from its server: step, attempt, back-off.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        let mut current = lock(&self.trouble);
        if *current != trouble {
            *current = trouble;
            drop(current);
            self.note_change();
        }
    }

    /// Says that the store may have changed.
    pub(super) fn note_change(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    /// Says that the reader of the event lines is gone.
    pub(super) fn note_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Notes the number of events that were not analysed when the run ended.
    pub(super) fn note_unanalysed(&self, events: u64) {
        self.unanalysed.store(events, Ordering::Relaxed);
    }

    /// Returns the number of events that were not analysed when the run ended.
    pub fn unanalysed(&self) -> u64 {
        self.unanalysed.load(Ordering::Relaxed)
    }

    /// Returns whether the reader of the event lines is gone.
    pub fn unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use xdscope_engine::lint;
    use xdscope_engine::store::{Options, Store};
    use xdscope_wire::content::Catalog;
    use xdscope_wire::event::Clock;

    #[test]
    fn knows_of_waiters_until_they_have_the_store() {
        let store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
        let shared = Arc::new(LiveState::new(Analysis::new(store, lint::Options::default())));
        let held = shared.store();
        assert!(!shared.is_wanted());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| drop(shared.store()));
            while !shared.is_wanted() {
                std::thread::yield_now();
            }
            drop(held);
            waits.join().expect("the other thread gets the store");
        });
        assert!(!shared.is_wanted());
    }
}
