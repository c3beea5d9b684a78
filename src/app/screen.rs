//! The feed of a live source to the screens.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::net::tap::HoldDesk;
use xdscope_engine::hold::HeldFact;
use xdscope_engine::hold::HoldCommand;
use xdscope_engine::hold::edit;
use xdscope_sources::peers::client::Ruling;
use xdscope_sources::record::Loaded;
use xdscope_tui::{
    ClientAction, Data, EditedText, Feed, FeedError, HeldMessage, Info, Mode, Msg, Seek, StoreData,
    TapFigures, WakeReader, Waker, terminal_size, wake_pair,
};
use xdscope_wire::FramePayload;
use xdscope_wire::event::Nonce;
use xdscope_wire::text::{display_safe, type_label};

use super::applied::AppliedFile;
use super::client::{self, Command};
use super::feed_error::LiveFeedError;
use super::live_state::LiveState;
use super::replay::{self, Cursor, Opened, Opening, OpeningFeed, Reading, ReplayFeed, Until, saved};
use super::tap::{Budgets, TapMeter};
use crate::app::process::editor;
use crate::app::process::saved_copy::save_copy;
use crate::app::process::signals::Signal;
use crate::app::recording::named_recording::NamedRecording;
use xdscope_engine::analysis::Analysis;
use xdscope_tui::Decoded;

/// The facts about a run that the screens show beside its data.
pub struct RunInfo {
    pub source: String,
    pub recording: Option<PathBuf>,
    /// Hints for an empty screen: how to make something appear.
    pub empty: Vec<String>,
    pub notice: Option<String>,
    /// The folder for copies that are too large for the clipboard.
    pub copies: PathBuf,
    pub keep_secrets: bool,
    /// The streams are those of clients, which end with the run.
    pub serves_clients: bool,
    /// The run is the demo.
    pub is_demo: bool,
    /// The demo has a tour.
    pub has_tour: bool,
    /// Why nobody can hold messages.
    pub no_hold: Option<String>,
    /// Names of kept recordings, the newest first.
    pub sessions: Vec<String>,
}

impl RunInfo {
    /// Returns the lines to show instead of [`empty`](RunInfo::empty) while the server cannot be
    /// reached.
    fn cut_off(&self, why: &str) -> Vec<String> {
        let server = self.source.split_once(' ').map_or("SERVER", |(_, server)| server);
        let doctor = format!("Try   xdscope doctor {server}");
        [
            "Cannot reach the control plane",
            "",
            why,
            "",
            &doctor,
            "      checks name, port, TLS, HTTP/2, variants, reflection",
        ]
        .map(|line| display_safe(line).into_owned())
        .to_vec()
    }
}

/// Attempts to read recent messages from the session file, and the time between them.
const MAX_READ_ATTEMPTS: u32 = 10;
const READ_INTERVAL: Duration = Duration::from_millis(60);

/// Time within which the messages of most sessions are read again. The screens show the progress
/// of longer ones.
const REWIND_TIME: Duration = Duration::from_millis(200);

/// One part in this many of the memory of the facts is for messages that are read again.
const REWIND_DIVISOR: usize = 2;

/// The session so far, with a time cursor.
type RewoundFeed =
    OpeningFeed<Opened, LiveFeedError, Box<dyn FnOnce(Opened) -> Result<ReplayFeed, LiveFeedError>>>;

/// Interval at which the ages of held messages change on the screen.
const HOLD_TICK: Duration = Duration::from_millis(200);

/// The feed of a live source to the screens. A held source goes back in its session file.
pub struct LiveFeed<'a> {
    /// The running client whose streams are shown, if any.
    client: Option<&'a client::Running>,
    shared: Arc<LiveState>,
    bodies: Decoded,
    run: RunInfo,
    /// The settings of the replay of the session so far.
    replay: replay::Options,
    rewound: RefCell<Option<RewoundFeed>>,
    named: RefCell<Option<NamedRecording>>,
    applied: Option<Rc<AppliedFile>>,
    tap: Option<TapMeter>,
    /// The messages that a person holds.
    desk: Option<(Arc<HoldDesk>, Budgets)>,
    /// How often the source was rewound and resumed.
    turns: Cell<u64>,
}

impl<'a> LiveFeed<'a> {
    pub fn new(
        shared: Arc<LiveState>,
        bodies: Decoded,
        run: RunInfo,
        replay: replay::Options,
    ) -> LiveFeed<'a> {
        if let Some(recording) = &run.recording {
            saved::forget(recording);
        }
        let (rewound, named, turns) = (RefCell::new(None), RefCell::new(None), Cell::new(0));
        LiveFeed {
            client: None,
            shared,
            bodies,
            run,
            replay,
            rewound,
            named,
            applied: None,
            tap: None,
            desk: None,
            turns,
        }
    }

    /// Adds the client whose streams are shown, which takes commands.
    pub fn of_client(self, client: Option<&'a client::Running>) -> LiveFeed<'a> {
        LiveFeed { client, ..self }
    }

    /// Adds the tap whose figures are shown.
    pub fn of_tap(self, tap: Option<TapMeter>) -> LiveFeed<'a> {
        LiveFeed { tap, ..self }
    }

    /// Adds the messages that a person holds.
    pub fn of_desk(self, desk: Option<(Arc<HoldDesk>, Budgets)>) -> LiveFeed<'a> {
        LiveFeed { desk, ..self }
    }

    /// Adds a dump of what the client has applied.
    pub fn beside(self, applied: Option<Rc<AppliedFile>>) -> LiveFeed<'a> {
        LiveFeed { applied, ..self }
    }

    /// Leaves memory for messages that armed connections buffer, as long as any may.
    fn share_memory(&self, store: &mut Analysis) {
        if let Some((desk, budgets)) = &self.desk
            && let budget = budgets.with(desk)
            && budget != store.budget()
        {
            store.set_budget(budget);
        }
    }

    /// Returns the files of the session.
    fn files(&self) -> Result<Vec<PathBuf>, LiveFeedError> {
        let Some(first) = &self.run.recording else {
            return Err(LiveFeedError::NotRecorded);
        };
        let mut files = self.shared.recordings();
        if files.is_empty() {
            files.push(first.clone());
        }
        match self.shared.recording_error() {
            Some(error) => Err(LiveFeedError::RecordingStopped(error)),
            None => Ok(files),
        }
    }

    /// Returns the session file once it has `wanted` messages.
    fn session(&self, wanted: u64) -> Result<Loaded, LiveFeedError> {
        let files = self.files()?;
        let messages = |loaded: &Loaded| {
            loaded.frames.iter().filter(|frame| matches!(frame.what, FramePayload::Message(_))).count() as u64
        };
        let mut looks = 0;
        loop {
            let loaded = xdscope_sources::open_session(&files)?;
            looks += 1;
            if messages(&loaded) >= wanted || looks == MAX_READ_ATTEMPTS {
                return Ok(loaded);
            }
            std::thread::sleep(READ_INTERVAL);
        }
    }

    /// Reads the session up to the held message.
    fn rewind(&self, held: HeldMessage) -> Result<RewoundFeed, LiveFeedError> {
        let files = self.files().map_err(|why| LiveFeedError::Rewind(Box::new(why)))?;
        let mut options = self.replay.clone();
        options.store.history = self.shared.store().budget() / REWIND_DIVISOR;
        let reading = Reading::new(options.store, options.meaning.clone(), options.rules.clone());
        let (reading, bytes) =
            (Arc::new(reading), files.iter().map(|file| xdscope_sources::size_of(file)).sum());
        let until = Until { message: held.n, time: held.now };
        let (send, coming) = channel();
        let work = {
            let reading = reading.clone();
            // The receiver is gone once the user has gone back to the live source.
            move || drop(send.send(read_until(&files, &reading, until)))
        };
        std::thread::Builder::new().name("reader".into()).spawn(work).map_err(LiveFeedError::NoReader)?;
        let opening = Opening {
            source: self.run.source.clone(),
            file: None,
            bytes,
            reading,
            coming,
            say: LiveFeedError::to_string,
        };
        let (bodies, applied) = (Decoded(self.bodies.0.clone()), self.applied.clone());
        let begin = move |opened| Ok(ReplayFeed::new(opened, options, bodies, None).beside(applied));
        let feed = OpeningFeed::new(opening, Decoded(self.bodies.0.clone()), Box::new(begin) as Box<_>);
        feed.wait(REWIND_TIME);
        feed.check()
    }

    /// Ends the named recording, if any. Returns the message for the user.
    ///
    /// # Errors
    /// The session file cannot be read, or the new file cannot be written.
    pub fn end_named(&self) -> Option<Result<String, LiveFeedError>> {
        let named = self.named.borrow_mut().take()?;
        let until = self.shared.store().messages();
        let session = self.session(until);
        let source = &self.run.source;
        let end = |loaded| named.end(loaded, until, self.run.keep_secrets, source);
        Some(session.and_then(|loaded| Ok(end(loaded)?)))
    }

    fn live(&self) {
        let rewound = self.rewound.borrow_mut().take();
        rewound.iter().for_each(OpeningFeed::stop);
        self.turns.set(self.turns.get() + 1);
    }
}

/// Reads a session up to a message, which may not be in its file yet.
fn read_until(files: &[PathBuf], reading: &Reading, until: Until) -> Result<Opened, LiveFeedError> {
    let mut attempts = 0;
    loop {
        let (read, _) = Cursor::read(xdscope_sources::start_session(files)?, reading, Some(until))?;
        attempts += 1;
        let is_complete = read.0.messages() >= until.message.0;
        if is_complete || attempts == MAX_READ_ATTEMPTS || reading.is_stopped() {
            return Ok(Opened::new(read));
        }
        std::thread::sleep(READ_INTERVAL);
    }
}

impl Feed for LiveFeed<'_> {
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        if let Some(rewound) = &*self.rewound.borrow() {
            return rewound.read(with);
        }
        let store = self.shared.store();
        let beside = self.applied.as_ref().map(|file| file.beside());
        let applied = beside.as_deref();
        with(&StoreData { store: &store, findings: store.findings(), bodies: &self.bodies, applied });
    }

    fn revision(&self) -> u64 {
        let rewound = self.rewound.borrow();
        let live = || self.shared.revision() + self.applied.as_ref().map_or(0, |file| file.revision());
        let revision = rewound.as_ref().map_or_else(live, Feed::revision);
        let held = self.desk.as_ref().map_or(0, |(desk, _)| {
            // The ages of held messages change all the time.
            let ticks = if desk.is_holding() { desk.now().0 / HOLD_TICK.as_nanos() as u64 } else { 0 };
            desk.revision().wrapping_add(ticks)
        });
        revision.wrapping_add(self.turns.get() << 32).wrapping_add(held << 16)
    }

    fn set_waker(&self, waker: Waker) {
        if let Some((desk, _)) = &self.desk {
            let waker = waker.clone();
            desk.set_waker(Box::new(move || waker.wake()));
        }
        self.shared.set_waker(waker);
    }

    fn poll_interval(&self) -> Option<Duration> {
        let rewound = self.rewound.borrow().as_ref().and_then(Feed::poll_interval);
        if self.desk.as_ref().is_some_and(|(desk, _)| desk.is_holding()) {
            return Some(HOLD_TICK);
        }
        rewound.or_else(|| self.applied.as_ref().map(|_| AppliedFile::POLL_INTERVAL))
    }

    fn info(&self) -> Info {
        let mut store = self.shared.store();
        self.share_memory(&mut store);
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let current = self.shared.recordings().pop();
        let path = current.as_ref().or(self.run.recording.as_ref());
        let cut_off = if self.client.is_some() { self.shared.trouble() } else { None };
        let hold = self.desk.as_ref().map(|(desk, _)| Arc::new(desk.status()));
        let live = Info {
            source: self.run.source.clone(),
            mode: if cut_off.is_some() { Mode::Disconnected } else { Mode::Live },
            recording: path.map(|path| (name(path), self.shared.recorded())),
            named: self.named.borrow().as_ref().map(|named| name(&named.path().to_path_buf())),
            dropped: store.gaps(),
            rerun: path.map_or_else(|| "SOURCE".into(), |path| path.display().to_string()),
            streams: match self.run.serves_clients {
                // The analysis may not know of armed streams yet.
                true => {
                    (store.open_stream_ids().count() as u64).max(hold.as_ref().map_or(0, |hold| hold.streams))
                }
                false => 0,
            },
            empty: cut_off.map_or_else(|| self.run.empty.clone(), |why| self.run.cut_off(&why)),
            notice: (self.shared.recording_error())
                .or_else(|| self.shared.trouble())
                .or_else(|| self.client.and_then(client::Running::refused).map(|why| why.to_string()))
                .or_else(|| self.applied.as_ref().and_then(|file| file.notice()))
                .or_else(|| self.run.notice.clone()),
            is_demo: self.run.is_demo,
            has_tour: self.run.has_tour,
            sessions: self.run.sessions.clone(),
            client: self.client.is_some(),
            tap: self.tap.as_ref().map(figures),
            hold,
            no_hold: self.run.no_hold.clone(),
            ..Info::default()
        };
        match &*self.rewound.borrow() {
            Some(rewound) => {
                let Info { bar, read_percent, empty, .. } = rewound.info();
                Info { mode: Mode::Replay, bar, read_percent, empty, ..live }
            }
            None => live,
        }
    }

    fn replay(&self, held: Option<HeldMessage>, seek: Seek) -> Result<(), FeedError> {
        let at_end = self.rewound.borrow().as_ref().map(OpeningFeed::is_at_end);
        match (at_end, seek) {
            (Some(true), Seek::Toggle | Seek::End) | (Some(_), Seek::Live) => {
                self.live();
                return Ok(());
            }
            (None, _) => {
                let held = held.ok_or(LiveFeedError::NotHeld)?;
                let rewound = self.rewind(held)?;
                *self.rewound.borrow_mut() = Some(rewound);
                self.turns.set(self.turns.get() + 1);
            }
            _ => {}
        }
        self.rewound.borrow().as_ref().map_or(Ok(()), |rewound| rewound.replay_when_open(seek))
    }

    fn tell(&self, action: ClientAction) -> Result<(), FeedError> {
        let client = self.client.ok_or(LiveFeedError::NoClient)?;
        let refuse = |text: String| Ruling::refuse(display_safe(&text).into_owned());
        let rule = |type_url, nonce: Arc<str>, ruling| {
            let nonce = Some(Nonce::new(nonce.to_string()));
            Command::Rule { type_url, nonce, ruling }
        };
        let command = match action {
            ClientAction::Subscribe { type_url, name } => Command::Subscribe { type_url, names: vec![name] },
            ClientAction::Unsubscribe { type_url, name } => {
                Command::Unsubscribe { type_url, names: vec![name] }
            }
            ClientAction::Wildcard { type_url, wanted } => Command::Wildcard { type_url, wanted },
            ClientAction::Ack { type_url, nonce } => rule(type_url, nonce, Ruling::Accept),
            ClientAction::Nack { type_url, nonce, text } => rule(type_url, nonce, refuse(text)),
            ClientAction::Reconnect => Command::Reconnect,
        };
        if client.command(command) { Ok(()) } else { Err(LiveFeedError::ClientBusy.into()) }
    }

    fn hold(&self, command: HoldCommand) -> Result<(), FeedError> {
        let (desk, _) = self.desk.as_ref().ok_or(LiveFeedError::NoDesk)?;
        desk.command(command)?;
        self.share_memory(&mut self.shared.store());
        Ok(())
    }

    fn edit(
        &self,
        fact: &HeldFact,
        text: Option<&str>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<Option<EditedText>, FeedError> {
        let editor = editor::of_user(|name| std::env::var(name).ok());
        let label = type_label(fact.type_url.as_str()).to_lowercase();
        let name = format!("{}-{}.yaml", fact.id, label.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        let given = text.map_or_else(|| edit::text_of(fact, &self.bodies.0), str::to_owned);
        let Some(text) = editor::edit(&editor, &name, &given, is_over)? else { return Ok(None) };
        let edited = edit::parse(fact, &text, &self.bodies.0);
        Ok(Some(EditedText { text, edited }))
    }

    fn record(&self, name: Option<&str>) -> Result<String, FeedError> {
        let Some(name) = name else {
            let ended = self.end_named().unwrap_or(Err(LiveFeedError::NoNamedRecording));
            return ended.map_err(Into::into);
        };
        if self.run.recording.is_none() {
            return Err(LiveFeedError::NoSessionFile.into());
        }
        let named =
            NamedRecording::begin(name, self.shared.store().messages()).map_err(LiveFeedError::Named)?;
        let notice = format!("recording to {} from here on; r ends it", named.path().display());
        *self.named.borrow_mut() = Some(named);
        Ok(notice)
    }

    fn save_marks(&self, marks: &saved::Letters) -> io::Result<bool> {
        self.run.recording.as_deref().map_or(Ok(false), |file| saved::write(file, marks).map(|()| true))
    }

    fn save_copy(&self, text: &str) -> io::Result<String> {
        save_copy(&self.run.copies, text)
    }
}

/// Reads the figures of a running tap.
fn figures(tap: &TapMeter) -> TapFigures {
    TapFigures { added_delay: tap.added_delay(), backlog: tap.backlog() }
}

/// Converts signals to messages for the screens. The returned reader is woken after each message.
pub fn messages(signals: Receiver<Signal>) -> io::Result<(Receiver<Msg>, WakeReader)> {
    let (send, receive) = channel();
    let (waker, wake) = wake_pair()?;
    std::thread::Builder::new().name("messages".into()).spawn(move || {
        for signal in signals {
            let message = match signal {
                Signal::Stop => Msg::Stop,
                Signal::Suspend => Msg::Suspend,
                Signal::Resize => {
                    terminal_size().map_or(Msg::Changed, |(width, height)| Msg::Resize(width, height))
                }
            };
            let is_read = send.send(message).is_ok();
            waker.wake();
            if !is_read {
                return;
            }
        }
        drop(send);
        waker.wake();
    })?;
    Ok((receive, wake))
}
