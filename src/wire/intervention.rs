use std::sync::Arc;

use bytes::Bytes;

use super::event::{Dir, TypeUrl};

/// The kind of an intervention in a message that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interference {
    /// Not sent.
    Dropped,
    /// Sent later.
    Delayed,
    /// Held for a decision, or for a time.
    Held,
    /// Sent twice.
    Duplicated,
    /// Sent after the next message.
    Reordered,
    /// Sent unmodified after it was delayed, held or reordered: a request, whose row is older.
    Released,
    /// Sent with other content.
    Changed,
    /// Refused in the name of the client.
    Bounced,
    /// Sent with another nonce.
    Restated,
    /// Sent without what an earlier intervention had told the client.
    Corrected,
    /// The stream was ended.
    Ended,
    /// The client was told to open no more streams on the connection.
    GoAway,
    /// Nothing passes any more.
    Blackholed,
}

impl Interference {
    /// All kinds.
    pub const ALL: [Interference; 13] = [
        Interference::Dropped,
        Interference::Delayed,
        Interference::Held,
        Interference::Duplicated,
        Interference::Reordered,
        Interference::Released,
        Interference::Changed,
        Interference::Bounced,
        Interference::Restated,
        Interference::Corrected,
        Interference::Ended,
        Interference::GoAway,
        Interference::Blackholed,
    ];

    /// Whether the message is sent later.
    pub fn postpones(self) -> bool {
        matches!(self, Interference::Delayed | Interference::Held | Interference::Reordered)
    }

    /// Whether the message is sent as it is, at another time.
    pub fn keeps_content(self) -> bool {
        self.postpones() || self == Interference::Released
    }

    /// Returns the kind with this word.
    pub fn parse(word: &str) -> Option<Interference> {
        Interference::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the word in texts and machine formats.
    pub fn word(self) -> &'static str {
        match self {
            Interference::Dropped => "dropped",
            Interference::Delayed => "delayed",
            Interference::Held => "held",
            Interference::Duplicated => "duplicated",
            Interference::Reordered => "reordered",
            Interference::Released => "released",
            Interference::Changed => "changed",
            Interference::Bounced => "bounced",
            Interference::Restated => "restated",
            Interference::Corrected => "corrected",
            Interference::Ended => "ended",
            Interference::GoAway => "goaway",
            Interference::Blackholed => "blackholed",
        }
    }
}

/// An intervention of xdscope in a stream, and the messages that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// The facts.
    pub facts: InterventionFacts,
    /// The message as it came, decompressed: in a frame without secrets, and absent if too large.
    pub original: Option<Bytes>,
    /// A message that was sent in its place, likewise.
    pub sent: Option<Bytes>,
    /// The direction of `sent`.
    pub sent_dir: Dir,
}

/// The facts about an intervention besides the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterventionFacts {
    /// The kind of the intervention.
    pub interference: Interference,
    /// Direction of the message.
    pub dir: Dir,
    /// Whether the messages are of the delta form.
    pub is_delta: bool,
    /// Type of the message.
    pub type_url: TypeUrl,
    /// Version of the message.
    pub version: Arc<str>,
    /// Nonce of the message.
    pub nonce: Arc<str>,
    /// The fault or person: `fault 1: type:cds => drop`.
    pub by: Arc<str>,
}

impl Intervention {
    /// Longest message that a frame keeps, in bytes.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Returns the bytes of both messages.
    pub fn size(&self) -> usize {
        [&self.original, &self.sent].into_iter().flatten().map(Bytes::len).sum()
    }
}
