//! Commands of the person who holds messages, and the state of the held messages for display.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{HeldFact, HeldId};
use crate::filter::{Filter, FilterError};

/// A command of the person who intercepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldCommand {
    /// Hold messages that match this expression, instead of those before.
    Arm(String),
    /// Send everything that is held unmodified, and hold nothing more.
    Disarm,
    /// Close the connections on which nothing can be held, because they were accepted before.
    Reconnect,
    /// Send a message as it is.
    Allow(HeldId),
    /// Do not send a message.
    Drop(HeldId),
    /// Answer the server with a NACK of this text in the name of the client.
    Bounce(HeldId, String),
    /// Send these bytes instead.
    Replace(HeldId, Bytes),
    /// Do not release a message while it is edited.
    BeginEdit(HeldId),
    /// The message is not edited any more: its time starts over.
    EndEdit(HeldId),
}

/// A held message, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// The message.
    pub fact: Arc<HeldFact>,
    /// Time since it is held.
    pub age: Duration,
    /// Time until it is sent unmodified.
    pub left: Duration,
    /// The message of its stream and type that must go first.
    pub waits_for: Option<HeldId>,
    /// Whether it is open in an editor.
    pub is_edited: bool,
}

/// The state of a queue, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldStatus {
    /// The expression of messages to hold; `None`: nothing is held.
    pub armed: Option<Arc<str>>,
    /// Time after which a message is sent unmodified.
    pub timeout: Duration,
    /// Open streams whose messages can be held.
    pub streams: u64,
    /// Open connections on which nothing can be held, because they were accepted before.
    pub passing: u64,
    /// Messages that were sent unmodified because nobody decided.
    pub released: u64,
    /// The messages, the oldest first.
    pub held: Vec<HeldRow>,
}

impl HoldStatus {
    /// Whether connections exist that would be armed if their clients connected again.
    pub fn can_cover_more(&self) -> bool {
        self.armed.is_some() && self.passing > 0
    }
}

/// Parses an expression of messages to hold.
///
/// # Errors
///
/// The expression cannot be read, or not be decided while a message passes.
pub fn parse_filter(text: &str) -> Result<Filter, FilterError> {
    let filter = Filter::parse(text.trim())?;
    filter.check_wire()?;
    filter.check_possible()?;
    Ok(filter)
}
