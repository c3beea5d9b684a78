//! A recording that takes time to open: screens of what was read so far, then those of the replay.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::error::SeekError;
use super::reading::Reading;
use super::{ReplayFeed, saved};
use xdscope_engine::store::{self, Store};
use xdscope_tui::Decoded;
use xdscope_tui::{Data, Feed, FeedError, HeldMessage, Info, Mode, Seek, StoreData};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Clock;
use xdscope_wire::text::{display_safe, size};

/// How often to look how much is read.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(33);

/// A source that another thread opens.
pub struct Opening<T, E> {
    /// The title, such as `replay session.xdsrec`.
    pub source: String,
    pub file: Option<PathBuf>,
    /// The size of the source in bytes; 0 if it is not a single file.
    pub bytes: u64,
    /// The progress, and the state so far.
    pub reading: Arc<Reading>,
    /// Receives the result from the reading thread.
    pub coming: Receiver<Result<T, E>>,
    /// Formats an error for the user.
    pub say: fn(&E) -> String,
}

/// The feed of a source that is being opened to the screens.
pub struct OpeningFeed<T, E, F> {
    opening: Opening<T, E>,
    /// Makes the feed of the opened source.
    begin: RefCell<Option<F>>,
    /// The empty store shown while reading.
    nothing: (Store, Decoded),
    stage: RefCell<Stage<E>>,
    /// The move of the cursor that waits until the source is open.
    pending: Cell<Option<Seek>>,
}

enum Stage<E> {
    Reading,
    Ready(Box<ReplayFeed>),
    Failed(E),
}

impl<T, E, F> OpeningFeed<T, E, F>
where
    F: FnOnce(T) -> Result<ReplayFeed, E>,
{
    pub fn new(opening: Opening<T, E>, bodies: Decoded, begin: F) -> Self {
        let clock = Clock { epoch: None, untimed: true };
        let store = Store::new(Catalog::in_memory(), clock, store::Options::default());
        OpeningFeed {
            opening,
            begin: RefCell::new(Some(begin)),
            nothing: (store, bodies),
            stage: RefCell::new(Stage::Reading),
            pending: Cell::new(None),
        }
    }

    /// Returns why the source could not be opened.
    pub fn failure(self) -> Option<E> {
        match self.stage.into_inner() {
            Stage::Failed(why) => Some(why),
            Stage::Reading | Stage::Ready(_) => None,
        }
    }

    /// Waits until the source is open, at most for a time.
    pub fn wait(&self, time: Duration) {
        if !matches!(*self.stage.borrow(), Stage::Reading) {
            return;
        }
        let opened = match self.opening.coming.recv_timeout(time) {
            Ok(opened) => opened,
            Err(RecvTimeoutError::Timeout) => return,
            // The reader has panicked, so there is nothing to show.
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the thread that reads the recording ended without a result")
            }
        };
        let Some(begin) = self.begin.take() else { return };
        *self.stage.borrow_mut() = match opened.and_then(begin) {
            Ok(feed) => {
                if let Some(seek) = self.pending.take() {
                    // Without such a position the cursor stays at the end.
                    let _ = feed.replay(None, seek);
                }
                Stage::Ready(Box::new(feed))
            }
            Err(why) => Stage::Failed(why),
        };
    }

    /// Returns whether the source is open, with the cursor at its end and not playing.
    pub fn is_at_end(&self) -> bool {
        self.with(ReplayFeed::is_at_end).unwrap_or(false)
    }

    /// Moves the cursor, as soon as the source is open.
    pub fn replay_when_open(&self, seek: Seek) -> Result<(), FeedError> {
        if matches!(*self.stage.borrow(), Stage::Reading) {
            self.pending.set(Some(seek));
            return Ok(());
        }
        self.replay(None, seek)
    }

    /// Returns the feed, unless the source could not be opened.
    ///
    /// # Errors
    /// Why the source could not be opened.
    pub fn check(self) -> Result<Self, E> {
        match self.stage.into_inner() {
            Stage::Failed(why) => Err(why),
            stage => Ok(OpeningFeed { stage: RefCell::new(stage), ..self }),
        }
    }

    /// Stops the reading thread.
    pub fn stop(&self) {
        self.opening.reading.stop();
    }

    /// Returns the percentage read.
    fn percent(&self) -> u64 {
        (self.opening.reading.bytes().saturating_mul(100) / self.opening.bytes.max(1)).min(100)
    }

    fn with<A>(&self, ready: impl FnOnce(&ReplayFeed) -> A) -> Option<A> {
        match &*self.stage.borrow() {
            Stage::Ready(feed) => Some(ready(feed)),
            Stage::Reading | Stage::Failed(_) => None,
        }
    }

    /// Returns the lines of the progress screen.
    fn lines(&self) -> Vec<String> {
        if let Stage::Failed(why) = &*self.stage.borrow() {
            let mut lines: Vec<String> =
                (self.opening.say)(why).lines().map(|line| display_safe(line).into_owned()).collect();
            lines.extend(["".into(), "q leaves".into()]);
            return lines;
        }
        let (percent, all) = (self.percent(), size(self.opening.bytes));
        let far = match percent {
            100 => format!("All {all} are read; looking for problems"),
            // The size or the progress is unknown.
            0 if self.opening.bytes == 0 => "Reading".into(),
            0 => format!("Reading {all}"),
            percent => format!("Reading: {percent}% of {all}"),
        };
        vec![
            far,
            "".into(),
            "The screens show a recording as soon as it is read, other sources at the end. q leaves".into(),
        ]
    }
}

impl<T, E, F> Feed for OpeningFeed<T, E, F>
where
    F: FnOnce(T) -> Result<ReplayFeed, E>,
{
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        if self.with(|feed| feed.read(with)).is_none() {
            let (store, bodies) = &self.nothing;
            let shown = self.opening.reading.show(|so_far| {
                with(&StoreData { store: so_far, findings: so_far.findings(), bodies, applied: None });
            });
            if !shown {
                with(&StoreData { store, findings: &[], bodies, applied: None });
            }
        }
    }

    fn revision(&self) -> u64 {
        self.wait(Duration::ZERO);
        match &*self.stage.borrow() {
            Stage::Reading => self.percent(),
            Stage::Failed(_) => u64::MAX,
            // Higher than any percentage.
            Stage::Ready(feed) => feed.revision() + 1000,
        }
    }

    fn poll_interval(&self) -> Option<Duration> {
        self.with(Feed::poll_interval).unwrap_or(Some(PROGRESS_INTERVAL))
    }

    fn info(&self) -> Info {
        self.with(Feed::info).unwrap_or_else(|| Info {
            source: match self.percent() {
                0 => format!("{} · reading", self.opening.source),
                percent => format!("{} · {percent}% read", self.opening.source),
            },
            mode: Mode::Replay,
            read_percent: Some(self.percent()).filter(|percent| *percent > 0),
            empty: self.lines(),
            ..Info::default()
        })
    }

    fn replay(&self, held: Option<HeldMessage>, seek: Seek) -> Result<(), FeedError> {
        self.with(|feed| feed.replay(held, seek)).unwrap_or_else(|| Err(SeekError::NotOpen.into()))
    }

    fn marks(&self) -> saved::Letters {
        self.opening.file.as_deref().map(saved::read).unwrap_or_default()
    }

    fn save_marks(&self, marks: &saved::Letters) -> io::Result<bool> {
        self.with(|feed| feed.save_marks(marks)).unwrap_or(Ok(false))
    }

    fn save_copy(&self, text: &str) -> io::Result<String> {
        self.with(|feed| feed.save_copy(text)).unwrap_or_else(|| Err(io::Error::other(SeekError::NotOpen)))
    }
}
