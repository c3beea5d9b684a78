//! The source of the facts: its state, and the requests that it takes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use xdscope_engine::hold::HeldFact;
use xdscope_engine::hold::edit::{EditError, Edited};
use xdscope_engine::hold::{HoldCommand, HoldStatus};
use xdscope_wire::event::{Seq, Time};

use crate::shell::run::wake::Waker;

use super::client_action::ClientAction;
use super::replay::{Marked, ReplayBar, Seek};
use super::source::Data;

/// The state of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Live,
    /// A recording, read to its end.
    Replay,
    Disconnected,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Mode::Live => "LIVE",
            Mode::Replay => "REPLAY",
            Mode::Disconnected => "DISCONNECTED",
        }
    }
}

/// The state of the source and of its recording, for the title line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Verb and source: `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub source: String,
    pub mode: Mode,
    /// Name and bytes of the session file.
    pub recording: Option<(String, u64)>,
    /// The file of a recording that the user started.
    pub named: Option<String>,
    /// Records lost by the recorder.
    pub dropped: u64,
    /// The SOURCE argument that prints the same facts on the command line.
    pub rerun: String,
    /// Streams of clients that end when this program ends. Quitting asks first.
    pub streams: u64,
    /// The percentage of a recording that was read, while it is read.
    pub read_percent: Option<u64>,
    /// How to get a first stream, shown until there is one.
    pub empty: Vec<String>,
    /// A notice for the user.
    pub notice: Option<String>,
    /// The source is the demo, which serves nobody else: quitting never asks.
    pub is_demo: bool,
    /// A tour guides through the screens.
    pub has_tour: bool,
    /// Recordings that are kept, the newest first, for the palette.
    pub sessions: Vec<String>,
    /// The source is a client of this program, which accepts a [`ClientAction`].
    pub client: bool,
    /// The source is a file that is read again as it grows.
    pub following: bool,
    /// The time cursor of a replay.
    pub bar: Option<ReplayBar>,
    /// The figures of a running tap.
    pub tap: Option<TapFigures>,
    /// The messages that a person holds; `None`: nobody can hold any.
    pub hold: Option<Arc<HoldStatus>>,
    /// Why nobody can.
    pub no_hold: Option<String>,
}

impl Info {
    /// Whether messages are held, or may be soon.
    pub fn is_holding(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.armed.is_some() || !hold.held.is_empty())
    }

    /// Whether the source is a recording that is still being read.
    pub fn is_opening(&self) -> bool {
        self.mode == Mode::Replay && self.bar.is_none()
    }
}

/// The figures of a running tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapFigures {
    /// Median and 99th percentile of the delay that the tap adds.
    pub added_delay: Option<(Duration, Duration)>,
    /// Bytes of traffic that are not analysed yet.
    pub backlog: u64,
}

/// Bytes that wait to be analysed from which on they are shown. Below, they are analysed at once.
const MIN_SHOWN_BACKLOG: u64 = 1 << 20;

impl TapFigures {
    /// Returns the bytes of traffic that are not analysed yet; `None` if the analysis keeps up.
    pub fn shown_backlog(&self) -> Option<u64> {
        Some(self.backlog).filter(|backlog| *backlog >= MIN_SHOWN_BACKLOG)
    }
}

/// The point at which a live source was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldMessage {
    /// The last message.
    pub n: Seq,
    pub now: Time,
}

/// A text from the user's editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    pub text: String,
    /// The message of the text; `Ok(None)` if the text changes nothing.
    pub edited: Result<Option<Edited>, EditError>,
}

/// A request that a source refuses. The text is for the user.
pub type FeedError = Box<dyn std::error::Error>;

/// A source whose facts change while the screens show them.
pub trait Feed {
    /// Calls `with` on the facts as they are now. They do not change meanwhile.
    fn read(&self, with: &mut dyn FnMut(&dyn Data));
    /// A number that changes whenever the facts or the [`Info`] do.
    fn revision(&self) -> u64;
    fn info(&self) -> Info;
    /// Makes the source call `waker` whenever its revision changes by itself.
    fn set_waker(&self, _waker: Waker) {}
    /// The interval at which the revision may change without a call of the waker; `None` if it
    /// does not.
    fn poll_interval(&self) -> Option<Duration> {
        None
    }
    /// Moves the time cursor. A live source goes back in its session file, from where it is paused.
    ///
    /// # Errors
    /// The source refuses the request.
    fn replay(&self, held: Option<HeldMessage>, seek: Seek) -> Result<(), FeedError>;
    /// Makes the client send something. The result appears on its stream.
    ///
    /// # Errors
    /// The source refuses the request.
    fn tell(&self, _tell: ClientAction) -> Result<(), FeedError> {
        Err("this source takes no commands: the streams are not xdscope's own".into())
    }
    /// Decides about held messages, or which messages are held.
    ///
    /// # Errors
    /// The source refuses the request.
    fn hold(&self, _command: HoldCommand) -> Result<(), FeedError> {
        Err("nothing can be held here".into())
    }
    /// Opens a held message in the user's editor, or a text that was made of it. Returns `None` if
    /// `is_over` has become true, which ends the editor.
    ///
    /// # Errors
    /// The editor fails.
    fn edit(
        &self,
        _fact: &HeldFact,
        _text: Option<&str>,
        _is_over: &mut dyn FnMut() -> bool,
    ) -> Result<Option<EditedText>, FeedError> {
        Err("nothing can be held here".into())
    }
    /// Starts a recording to the file `name`; without a name, ends it. Returns a notice.
    ///
    /// # Errors
    /// The source refuses the request.
    fn record(&self, _name: Option<&str>) -> Result<String, FeedError> {
        Err("this is a recording already: xdscope export --from --until makes a part of it".into())
    }
    /// The marks that are saved with the source.
    fn marks(&self) -> BTreeMap<char, Marked> {
        BTreeMap::new()
    }
    /// Saves the marks with the source. Returns false if the source is not a file.
    ///
    /// # Errors
    /// The file cannot be written.
    fn save_marks(&self, _marks: &BTreeMap<char, Marked>) -> io::Result<bool> {
        Ok(false)
    }
    /// Saves a copy that is too large for the terminal's clipboard. Returns the path.
    ///
    /// # Errors
    /// The file cannot be written.
    fn save_copy(&self, text: &str) -> io::Result<String>;
}
