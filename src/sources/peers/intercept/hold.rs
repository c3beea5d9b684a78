//! Messages that wait for a person, from all connections of a tap.
//!
//! A message is held if no fault acts on it and the expression of the queue matches. The expression
//! can change at run time. Beyond the limits the oldest message is sent unmodified: back-pressure
//! would make the client wait longer than anybody has decided.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use xdscope_engine::filter::{Filter, FilterError, WireStream};
use xdscope_engine::hold::{self, HeldFact, HeldId, HeldRow, HoldCommand, HoldStatus};
use xdscope_engine::store::MessageFact;
use xdscope_wire::event::{Time, TypeUrl};

/// Longest time in which a message is not released because it is being edited.
pub const MAX_EDIT_TIME: Duration = Duration::from_secs(600);

/// Limits of the messages that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldOptions {
    /// Time after which a message is sent unmodified.
    pub timeout: Duration,
    /// Number of messages beyond which the oldest is sent unmodified.
    pub max_messages: usize,
    /// Bytes of messages beyond which the oldest is sent unmodified.
    pub max_bytes: usize,
}

impl Default for HoldOptions {
    fn default() -> HoldOptions {
        HoldOptions { timeout: Duration::from_secs(30), max_messages: 200, max_bytes: 64 << 20 }
    }
}

/// A command that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The message is not held any more.
    #[error("{0} is not held any more: it was sent, or its stream has ended")]
    Gone(HeldId),
    /// A request cannot be answered with a NACK.
    #[error("{0} is a request: only a push can be refused")]
    NotAPush(HeldId),
    /// The expression is wrong.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// The fate of a message that was held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Sent as it is.
    Allow,
    /// Not sent.
    Drop,
    /// Refused in the name of the client.
    Bounce(String),
    /// Sent with other bytes.
    Replace(Bytes),
    /// Held until another time.
    Until(Time),
}

/// The messages whose order is kept: a stream, a direction and a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneKey {
    /// The number of the stream among all streams with held messages.
    pub(super) stream: u64,
    pub(super) is_push: bool,
    pub(super) type_url: TypeUrl,
}

#[derive(Clone, Debug)]
struct HoldRule {
    text: Arc<str>,
    filter: Filter,
}

#[derive(Clone, Debug)]
struct HeldEntry {
    fact: Arc<HeldFact>,
    lane: LaneKey,
    since: Time,
    due: Time,
    is_edited: bool,
}

/// The messages that a tap holds, and the expression that they match.
///
/// Each message also waits on its stream, which keeps the order; a decision is carried out there.
#[derive(Clone, Debug)]
pub struct HoldQueue {
    options: HoldOptions,
    rule: Option<HoldRule>,
    held: BTreeMap<HeldId, HeldEntry>,
    bytes: usize,
    decisions: BTreeMap<HeldId, Decision>,
    last_id: u64,
    last_stream: u64,
    /// Open streams whose messages can be held.
    streams: u64,
    /// Open connections that were accepted before the queue was armed.
    passing: u64,
    /// Messages that were sent unmodified because nobody decided.
    released: u64,
}

impl HoldQueue {
    /// Creates a queue that holds nothing until it is armed.
    pub fn new(options: HoldOptions) -> HoldQueue {
        HoldQueue {
            options,
            rule: None,
            held: BTreeMap::new(),
            bytes: 0,
            decisions: BTreeMap::new(),
            last_id: 0,
            last_stream: 0,
            streams: 0,
            passing: 0,
            released: 0,
        }
    }

    /// Whether messages are held.
    pub fn is_armed(&self) -> bool {
        self.rule.is_some()
    }

    /// Whether a message of a stream may match.
    pub fn may_match(&self, stream: &WireStream<'_>) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.filter.may_match(stream))
    }

    /// Whether a message is to be held.
    pub(super) fn matches(&self, fact: &MessageFact) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.filter.passing_message(fact))
    }

    /// Carries out a command, or notes a decision for the stream of the message.
    ///
    /// # Errors
    ///
    /// The command cannot be followed.
    pub fn command(&mut self, command: HoldCommand, at: Time) -> Result<(), HoldError> {
        match command {
            HoldCommand::Arm(text) => {
                let filter = hold::parse_filter(&text)?;
                self.rule = Some(HoldRule { text: text.trim().into(), filter });
            }
            HoldCommand::Disarm => {
                self.rule = None;
                for id in self.held.keys().copied().collect::<Vec<_>>() {
                    self.decide(id, Decision::Allow)?;
                }
            }
            // The connections are not of the queue.
            HoldCommand::Reconnect => {}
            HoldCommand::Allow(id) => self.decide(id, Decision::Allow)?,
            HoldCommand::Drop(id) => self.decide(id, Decision::Drop)?,
            HoldCommand::Bounce(id, _) if !self.entry(id)?.fact.is_push() => {
                return Err(HoldError::NotAPush(id));
            }
            HoldCommand::Bounce(id, text) => self.decide(id, Decision::Bounce(text))?,
            HoldCommand::Replace(id, bytes) => self.decide(id, Decision::Replace(bytes))?,
            HoldCommand::BeginEdit(id) => self.postpone(id, at.after(MAX_EDIT_TIME), true)?,
            HoldCommand::EndEdit(id) => self.postpone(id, at.after(self.options.timeout), false)?,
        }
        Ok(())
    }

    fn entry(&mut self, id: HeldId) -> Result<&mut HeldEntry, HoldError> {
        self.held.get_mut(&id).ok_or(HoldError::Gone(id))
    }

    /// Takes a message off the queue, and notes what its stream does with it.
    fn decide(&mut self, id: HeldId, decision: Decision) -> Result<(), HoldError> {
        let entry = self.held.remove(&id).ok_or(HoldError::Gone(id))?;
        self.bytes -= entry.fact.bytes.len();
        self.decisions.insert(id, decision);
        Ok(())
    }

    fn postpone(&mut self, id: HeldId, due: Time, is_edited: bool) -> Result<(), HoldError> {
        let entry = self.entry(id)?;
        (entry.due, entry.is_edited) = (due, is_edited);
        self.decisions.insert(id, Decision::Until(due));
        Ok(())
    }

    /// Returns the number of decisions that streams have not carried out.
    pub fn decisions(&self) -> usize {
        self.decisions.len()
    }

    /// Returns a number for a stream that holds its first message.
    pub(super) fn number_stream(&mut self) -> u64 {
        self.last_stream += 1;
        self.last_stream
    }

    /// Returns the number of the next message.
    pub(super) fn next_id(&mut self) -> HeldId {
        self.last_id += 1;
        HeldId(self.last_id)
    }

    /// Adds a message. Returns when it is to be sent unmodified.
    ///
    /// Beyond the limits, the oldest messages are sent unmodified.
    pub(super) fn add(&mut self, fact: HeldFact, lane: LaneKey, at: Time) -> Time {
        let due = at.after(self.options.timeout);
        self.bytes += fact.bytes.len();
        let entry = HeldEntry { fact: Arc::new(fact), lane, since: at, due, is_edited: false };
        self.held.insert(entry.fact.id, entry);
        while self.held.len() > self.options.max_messages || self.bytes > self.options.max_bytes {
            let Some(oldest) = self.held.keys().next().copied() else { break };
            self.released += 1;
            // The message is in the queue.
            let _ = self.decide(oldest, Decision::Allow);
        }
        due
    }

    /// Returns what was decided about a message, once.
    pub(super) fn take_decision(&mut self, id: HeldId) -> Option<Decision> {
        self.decisions.remove(&id)
    }

    /// Forgets a message that its stream has sent without a decision.
    pub(super) fn sent(&mut self, id: HeldId) {
        self.released += u64::from(self.held.contains_key(&id));
        self.forget(id);
    }

    /// Forgets a message whose stream has ended.
    pub(super) fn forget(&mut self, id: HeldId) {
        self.decisions.remove(&id);
        if let Some(entry) = self.held.remove(&id) {
            self.bytes -= entry.fact.bytes.len();
        }
    }

    /// Returns the number of open streams whose messages can be held.
    pub fn streams(&self) -> u64 {
        self.streams
    }

    /// Notes that messages of a stream can be held.
    pub fn stream_armed(&mut self) {
        self.streams += 1;
    }

    /// Notes that such a stream has ended.
    pub fn stream_ended(&mut self) {
        self.streams = self.streams.saturating_sub(1);
    }

    /// Notes that a connection on which nothing can be held has begun.
    pub fn connection_passes(&mut self) {
        self.passing += 1;
    }

    /// Notes that such a connection has ended.
    pub fn connection_passed(&mut self) {
        self.passing = self.passing.saturating_sub(1);
    }

    /// Returns the number of messages that are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the state for display.
    pub fn status(&self, at: Time) -> HoldStatus {
        let mut last: BTreeMap<&LaneKey, HeldId> = BTreeMap::new();
        let rows = self.held.iter().map(|(id, entry)| HeldRow {
            fact: entry.fact.clone(),
            age: at.since(entry.since),
            left: entry.due.since(at),
            waits_for: last.insert(&entry.lane, *id),
            is_edited: entry.is_edited,
        });
        let held = rows.collect();
        HoldStatus {
            armed: self.rule.as_ref().map(|rule| rule.text.clone()),
            timeout: self.options.timeout,
            streams: self.streams,
            passing: self.passing,
            released: self.released,
            held,
        }
    }
}
