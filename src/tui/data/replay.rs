//! The time cursor of a recording.

use std::sync::Arc;

use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};

/// A movement of the time cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// One message back.
    Back,
    /// One message forward.
    On,
    Start,
    End,
    Message(Seq),
    Time(Time),
    Marked(Marked),
    /// To the next or previous problem, or, unless `all`, to a NACK.
    Problem {
        on: bool,
        all: bool,
    },
    /// To the first NACK of the recording.
    FirstNack,
    /// To the end. Resumes a live source that was rewound.
    Live,
    /// Plays or pauses.
    Toggle,
    Slower,
    Faster,
}

/// An event that the replay bar marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    Subscription,
    Reconnect,
    /// A rule was broken: an error or a warning.
    Finding,
    /// A response became stale, or a resource missing.
    Late,
    Nack,
}

impl Sign {
    pub const ALL: [Sign; 5] = [Sign::Nack, Sign::Late, Sign::Finding, Sign::Subscription, Sign::Reconnect];

    pub fn letter(self) -> &'static str {
        match self {
            Sign::Nack => "n",
            Sign::Late => "!",
            Sign::Finding => "f",
            Sign::Subscription => "s",
            Sign::Reconnect => "r",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Sign::Nack => "NACK",
            Sign::Late => "stale or missing",
            Sign::Finding => "finding",
            Sign::Subscription => "subscription change",
            Sign::Reconnect => "reconnect",
        }
    }
}

/// A mark on the replay bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayMark {
    pub at: Time,
    /// Messages up to the mark.
    pub n: u64,
    pub sign: Sign,
}

/// A playback speed, in quarters of real time: 4 is 1x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub u32);

impl Speed {
    /// The nearest speed from 0.25x to 64x.
    pub fn new(times: f64) -> Speed {
        let quarters = (times * 4.0).round().clamp(1.0, 256.0);
        Speed(quarters as u32)
    }

    pub fn slower(self) -> Speed {
        Speed((self.0 / 2).max(1))
    }

    pub fn faster(self) -> Speed {
        Speed((self.0 * 2).min(256))
    }

    pub fn times(self) -> f64 {
        f64::from(self.0) / 4.0
    }
}

/// The problem that the time cursor has been moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedProblem {
    pub stream: StreamId,
    /// Empty if the problem is about a whole stream.
    pub type_url: TypeUrl,
    /// `edge-gw-1 CDS NACK: client refused CDS 42`.
    pub words: Arc<str>,
}

/// The time cursor of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayBar {
    pub playing: bool,
    pub speed: Speed,
    pub now: Time,
    pub end: Time,
    /// The last message up to the cursor.
    pub message: u64,
    pub messages: u64,
    /// Messages at the start that the cursor cannot reach: they are beyond `--memory`.
    pub before: u64,
    pub at_end: bool,
    pub marks: Arc<[ReplayMark]>,
    /// The problem that the cursor was moved to last.
    pub reached: Option<ReachedProblem>,
    /// The source is live, and was paused and rewound.
    pub rewound: bool,
    /// Changes when the cursor goes back or the source is read again, so that loaded facts are
    /// stale.
    pub turn: u64,
}

/// A moment that the user marked with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The last message up to the moment; 0 before the first.
    pub n: Seq,
    pub at: Time,
}
