//! The messages that the model takes, and the effects that it returns.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::data::{ClientAction, Info, Seek};
use xdscope_engine::hold::HeldFact;
use xdscope_engine::hold::HoldCommand;

/// An event outside of the model.
#[derive(Clone, Debug)]
pub enum Msg {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Resize(u16, u16),
    /// The facts changed, or time passed.
    Changed,
    Info(Box<Info>),
    Notice(String),
    /// Text pasted into the terminal. Only prompts take it.
    Paste(String),
    /// The shell suspends the program.
    Suspend,
    /// The program ends now: SIGTERM, SIGHUP, or the source ended.
    Stop,
}

/// An action for the event loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    Suspend,
    Redraw,
    /// Send a text to the terminal's clipboard.
    Copy(String),
    /// Use the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Save the marks with the source.
    SaveMarks,
    /// Make the client send something.
    SendAction(ClientAction),
    /// Decide about held messages, or which are held.
    Hold(HoldCommand),
    /// Open a held message in the user's editor, or a text that was made of it.
    Edit {
        fact: Arc<HeldFact>,
        text: Option<String>,
    },
    /// Start a recording to this file, or end it.
    Record(Option<String>),
    /// Move the time cursor. A live source is paused.
    Replay(Seek),
}
