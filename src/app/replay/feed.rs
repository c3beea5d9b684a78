//! The feed of a replay to the screens.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use xdscope_engine::lint;
use xdscope_engine::session::SharedSemantics;
use xdscope_engine::store;
use xdscope_sources::record::Loaded;
use xdscope_tui::{
    Data, Feed, FeedError, HeldMessage, Info, Mode, ReachedProblem, ReplayBar, Seek, Speed, StoreData,
};
use xdscope_wire::event::Seq;
use xdscope_wire::text::{self, display_safe};

use super::cursor::{Cursor, Position};
use super::error::SeekError;
use super::marks::{Direction, Marks, OverdueSampler, ProblemFilter};
use super::reading::Reading;
use super::saved;
use crate::app::applied::AppliedFile;
use crate::app::live_copy::Trouble;
use crate::app::process::saved_copy::save_copy;
use crate::app::recording::session_dir;
use crate::app::tap::growing_bytes;
use xdscope_tui::Decoded;

/// How often to look whether a growing source was read again.
const RELOAD_INTERVAL: Duration = Duration::from_millis(100);

/// The source of a replay and its settings.
#[derive(Clone)]
pub struct Options {
    pub store: store::Options,
    pub meaning: SharedSemantics,
    pub rules: lint::Options,
    /// The longest pause that is played.
    pub idle: Duration,
    pub speed: Speed,
    /// The title of the replay, such as `replay session.xdsrec`.
    pub source: String,
    /// The SOURCE that prints the same facts on the command line.
    pub rerun: String,
    /// Notices about the source: damage, a truncated tail.
    pub notices: Vec<String>,
    /// The folder for copies that are too large for the clipboard.
    pub copies: PathBuf,
    /// The file beside which marks are saved; `None` for stdin.
    pub file: Option<PathBuf>,
    /// The source is a live run, held.
    pub rewound: bool,
    /// The error that keeps a source elsewhere from growing at present.
    pub trouble: Option<Trouble>,
}

impl Options {
    /// Returns the state of a file before its first message. Its facts and checkpoints take what
    /// `--memory` leaves beside what does not grow with them.
    pub fn reading(&self) -> Reading {
        let store = store::Options { history: growing_bytes(self.store.history), ..self.store };
        Reading::new(store, self.meaning.clone(), self.rules.clone())
    }

    /// Opens a source that is in memory.
    pub fn open(&self, loaded: Loaded) -> Opened {
        Opened::new(Cursor::new(loaded, self.store, self.meaning.clone(), self.rules.clone()))
    }
}

/// A source that was read to its end, and what was found on the way.
pub struct Opened {
    pub cursor: Cursor,
    marks: Marks,
}

impl Opened {
    pub fn new((cursor, looks): (Cursor, OverdueSampler)) -> Opened {
        let marks = Marks::find(&cursor, looks);
        Opened { cursor, marks }
    }
}

/// The source read again, each time it has grown.
pub type Reload = Receiver<Opened>;

/// The feed of a replay to the screens.
pub struct ReplayFeed {
    options: Options,
    bodies: Decoded,
    state: RefCell<State>,
    pub(super) reload: Option<Reload>,
    applied: Option<Rc<AppliedFile>>,
    revision: Cell<u64>,
    /// Names of the recordings that are kept beside the source.
    sessions: Vec<String>,
}

struct State {
    cursor: Cursor,
    marks: Marks,
    speed: Speed,
    /// While playing: the time when the cursor was last moved.
    playing: Option<Instant>,
    /// The error of the source that was shown last.
    trouble: Option<String>,
    /// The problem that the cursor was moved to last.
    reached: Option<ReachedProblem>,
    turn: u64,
}

impl ReplayFeed {
    /// Returns a feed with the cursor at the end of the source.
    pub fn new(opened: Opened, options: Options, bodies: Decoded, reload: Option<Reload>) -> ReplayFeed {
        let Opened { cursor, marks } = opened;
        let speed = options.speed;
        let state = State { cursor, marks, speed, playing: None, trouble: None, reached: None, turn: 0 };
        ReplayFeed {
            sessions: session_dir::names(&options.copies),
            options,
            bodies,
            state: RefCell::new(state),
            reload,
            applied: None,
            revision: Cell::new(0),
        }
    }

    /// Adds a dump of what the client has applied.
    pub fn beside(self, applied: Option<Rc<AppliedFile>>) -> ReplayFeed {
        ReplayFeed { applied, ..self }
    }

    fn changed(&self) {
        self.revision.set(self.revision.get() + 1);
    }

    /// Moves the cursor with the time, and takes in new frames of a growing file.
    fn tick(&self) {
        let mut state = self.state.borrow_mut();
        if let Some(trouble) = &self.options.trouble {
            let now = trouble();
            if now != state.trouble {
                state.trouble = now;
                self.changed();
            }
        }
        if let Some(opened) = self.reload.as_ref().and_then(|reload| reload.try_iter().last()) {
            state.grown(opened);
            self.changed();
        }
        if let Some(since) = state.playing {
            let passed = since.elapsed();
            let goes_on = state.play(passed, self.options.idle);
            state.playing = goes_on.then(Instant::now);
            self.changed();
        }
    }

    /// Returns whether the cursor is at the end and not playing.
    pub fn is_at_end(&self) -> bool {
        let state = self.state.borrow();
        state.cursor.is_at_end() && state.playing.is_none()
    }
}

impl State {
    fn play(&mut self, passed: Duration, idle: Duration) -> bool {
        self.cursor.play(passed.mul_f64(self.speed.times()), idle)
    }

    /// Replaces the source with a longer version. A cursor at the end moves to the new end.
    fn grown(&mut self, Opened { cursor, marks }: Opened) {
        let (was, at_end) = (self.cursor.position(), self.cursor.is_at_end());
        (self.cursor, self.marks) = (cursor, marks);
        if !at_end {
            self.cursor.seek(was);
        }
        self.turn += 1;
    }

    /// Returns why the cursor cannot go to message `n`.
    fn missing(&self, n: Seq) -> SeekError {
        let before = self.cursor.before();
        if (1..=before).contains(&n.0) {
            SeekError::BeyondMemory { n: n.0, first: before + 1 }
        } else {
            SeekError::NoMessage { n: n.0, last: self.cursor.messages() }
        }
    }

    /// Returns the position that `seek` leads to.
    fn target(&self, seek: Seek) -> Result<Position, SeekError> {
        let cursor = &self.cursor;
        let current = cursor.position();
        match seek {
            Seek::Back => cursor.previous_message().ok_or(SeekError::AtStart),
            Seek::On => cursor.next_message().ok_or(SeekError::AtEnd),
            Seek::Start => Ok(cursor.start()),
            Seek::End | Seek::Live => Ok(cursor.end()),
            Seek::FirstNack => {
                let first = self.marks.problem(cursor.start(), Direction::Forward, ProblemFilter::Nacks);
                first.ok_or(SeekError::NoNack)
            }
            Seek::Message(n) if n.0 == 0 => Err(self.missing(n)),
            Seek::Message(n) => cursor.of_message(n).ok_or_else(|| self.missing(n)),
            Seek::Time(at) => Ok(cursor.of_time(at)),
            Seek::Marked(marked) => {
                let position = cursor.of_message(marked.n).ok_or_else(|| self.missing(marked.n))?;
                Ok(Position { now: position.now.max(marked.at), ..position })
            }
            Seek::Problem { on, all } => {
                let filter = if all { ProblemFilter::All } else { ProblemFilter::Nacks };
                let problem = filter.word();
                if on {
                    let next = self.marks.problem(current, Direction::Forward, filter);
                    next.ok_or(SeekError::NoProblemAfter { problem })
                } else {
                    let previous = self.marks.problem(current, Direction::Back, filter);
                    previous.ok_or(SeekError::NoProblemBefore { problem })
                }
            }
            Seek::Toggle | Seek::Slower | Seek::Faster => Ok(current),
        }
    }

    fn seek(&mut self, seek: Seek) -> Result<(), SeekError> {
        let was = self.cursor.position();
        match seek {
            Seek::Toggle if self.playing.is_some() => self.playing = None,
            Seek::Toggle if was >= self.cursor.end() => {
                return Err(SeekError::NothingToPlay);
            }
            Seek::Toggle => self.playing = Some(Instant::now()),
            Seek::Slower => self.speed = self.speed.slower(),
            Seek::Faster => self.speed = self.speed.faster(),
            _ => {
                let to = self.target(seek)?;
                match seek {
                    Seek::Start if to == was => return Err(SeekError::AtStart),
                    Seek::End | Seek::Live if to == was => return Err(SeekError::AtEnd),
                    _ => {}
                }
                self.cursor.seek(to);
                self.reached = match seek {
                    Seek::Problem { .. } => self.marks.at(&self.cursor),
                    _ => None,
                };
                self.turn += u64::from(to < was);
                self.playing = self.playing.map(|_| Instant::now());
            }
        }
        Ok(())
    }

    /// Returns a notice about lost data, and what to do.
    fn notice(&self, options: &Options, following: bool) -> Option<String> {
        let mut notices: Vec<String> =
            self.trouble.iter().map(|text| display_safe(text).into_owned()).collect();
        if following {
            let what =
                if options.trouble.is_some() { "run: what it records" } else { "file: what it grows by" };
            notices.push(format!("following the {what} is shown as it comes"));
        }
        notices.extend(options.notices.iter().map(|notice| display_safe(notice).into_owned()));
        if self.cursor.before() > 0 {
            let size = |bytes: u64| text::size(bytes).replace(' ', "");
            let limit = options.store.history as u64;
            notices.push(format!(
                "the first {} do not fit into --memory {}: what became of them is shown, the cursor cannot go back \
                 to them; --memory {} holds twice as many",
                text::plural(self.cursor.before(), "message"),
                size(limit),
                size(limit.saturating_mul(2)),
            ));
        }
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    fn bar(&self, rewound: bool) -> ReplayBar {
        let Position { now, .. } = self.cursor.position();
        ReplayBar {
            playing: self.playing.is_some(),
            speed: self.speed,
            now,
            end: self.cursor.end().now,
            message: self.cursor.store().messages(),
            messages: self.cursor.messages(),
            before: self.cursor.before(),
            at_end: self.cursor.is_at_end(),
            marks: self.marks.all.clone(),
            reached: self.reached.clone(),
            rewound,
            turn: self.turn,
        }
    }
}

impl Feed for ReplayFeed {
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        let state = self.state.borrow();
        let (store, findings) = (state.cursor.store(), state.cursor.findings());
        let beside = self.applied.as_ref().map(|file| file.beside());
        with(&StoreData { store, findings, bodies: &self.bodies, applied: beside.as_deref() });
    }

    fn revision(&self) -> u64 {
        self.tick();
        self.revision.get() + self.applied.as_ref().map_or(0, |file| file.revision())
    }

    fn poll_interval(&self) -> Option<Duration> {
        if self.state.borrow().playing.is_some() {
            return Some(Duration::ZERO);
        }
        let reload = self.reload.as_ref().map(|_| RELOAD_INTERVAL);
        reload.or_else(|| self.applied.as_ref().map(|_| AppliedFile::POLL_INTERVAL))
    }

    fn info(&self) -> Info {
        let state = self.state.borrow();
        let store = state.cursor.store();
        Info {
            source: self.options.source.clone(),
            mode: Mode::Replay,
            dropped: store.streams().iter().map(|stream| stream.gaps).sum(),
            rerun: self.options.rerun.clone(),
            sessions: self.sessions.clone(),
            empty: match state.cursor.messages() {
                0 => vec!["The source has no messages.".into()],
                _ => vec!["Nothing has happened at this moment yet: . goes on, $ to the end.".into()],
            },
            notice: match self.applied.as_ref().and_then(|file| file.notice()) {
                None => state.notice(&self.options, self.reload.is_some()),
                notice => notice,
            },
            following: self.reload.is_some(),
            bar: Some(state.bar(self.options.rewound)),
            ..Info::default()
        }
    }

    fn replay(&self, _held: Option<HeldMessage>, seek: Seek) -> Result<(), FeedError> {
        let result = self.state.borrow_mut().seek(seek);
        self.changed();
        result.map_err(Into::into)
    }

    fn marks(&self) -> saved::Letters {
        self.options.file.as_deref().map(saved::read).unwrap_or_default()
    }

    fn save_marks(&self, marks: &saved::Letters) -> io::Result<bool> {
        self.options.file.as_deref().map_or(Ok(false), |file| saved::write(file, marks).map(|()| true))
    }

    fn save_copy(&self, text: &str) -> io::Result<String> {
        save_copy(&self.options.copies, text)
    }
}
