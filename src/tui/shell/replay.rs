//! The time cursor of a recording, as far as the screens know of it: where it is, and where it may go.

use std::sync::Arc;

use crate::wire::event::{Seq, Time};

use crate::tui::data::Data;
use crate::tui::shell::model::{Model, Screen};
use crate::tui::shell::update::{Effect, total};

/// Where the cursor is asked to go, or how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// One message.
    Back,
    On,
    Start,
    End,
    Message(Seq),
    Time(Time),
    Marked(Marked),
    /// To a problem; with `all` false to a NACK.
    Problem {
        on: bool,
        all: bool,
    },
    /// The first of all.
    FirstNack,
    /// To the end; of a live source, held and rewound, back to what comes now.
    Live,
    Toggle,
    Slower,
    Faster,
}

/// What the bar marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    Subscription,
    Reconnect,
    /// A rule was broken: an error or a warning.
    Finding,
    /// Something became stale or missing.
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

/// A place on the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayMark {
    pub at: Time,
    /// Messages up to it.
    pub n: u64,
    pub sign: Sign,
}

/// A speed, in quarters of real time: 4 is 1x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub u32);

impl Speed {
    /// The nearest that there is: from 0.25x to 64x.
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

/// Where the cursor of a replay is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayBar {
    pub playing: bool,
    pub speed: Speed,
    pub now: Time,
    pub end: Time,
    /// The last message up to the cursor, and of how many.
    pub message: u64,
    pub messages: u64,
    /// The first ones, which the cursor can't go back to: they are beyond `--memory`.
    pub before: u64,
    pub at_end: bool,
    pub marks: Arc<[ReplayMark]>,
    /// It is a live source, held and rewound.
    pub rewound: bool,
    /// Changes when the cursor went back or its source was read again: what was loaded holds no more.
    pub turn: u64,
}

/// A place that a letter was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The last message up to it; 0 before the first.
    pub n: Seq,
    pub at: Time,
}

/// Moves the cursor. A live source is held and goes back in its own session file.
pub fn seek(model: &mut Model, data: &dyn Data, seek: Seek) -> Vec<Effect> {
    if model.info.bar.is_none() {
        if matches!(seek, Seek::On | Seek::Slower | Seek::Faster | Seek::Problem { on: true, .. }) {
            model.say("this is live: , goes back, and then these work");
            return vec![];
        }
        crate::tui::shell::commands::hold(model, data);
    }
    if !matches!(seek, Seek::Toggle | Seek::Slower | Seek::Faster) {
        model.timeline.follow = true;
    }
    vec![Effect::Replay(seek)]
}

/// `m` and a letter: marks the cursor; on a live source the message selected on the timeline, elsewhere the newest.
pub fn mark(model: &mut Model, data: &dyn Data, letter: char) -> Vec<Effect> {
    let selected = model.timeline.current.as_ref().filter(|_| model.screen == Screen::Timeline);
    let selected = selected.and_then(|current| current.fact.n);
    let newest = || (0..total(model, data)).rev().find_map(|row| data.line(row)?.n);
    let n = model.info.bar.as_ref().map(|bar| Seq(bar.message)).or(selected).or_else(newest);
    let Some(n) = n else {
        model.say("nothing to mark: no message came yet");
        return vec![];
    };
    model.marks.insert(letter, Marked { n, at: model.now });
    model.say(format!("{letter} marks #{}; ' and {letter} returns to it", n.0));
    vec![Effect::SaveMarks]
}

/// `'` and a letter.
pub fn to_mark(model: &mut Model, data: &dyn Data, letter: char) -> Vec<Effect> {
    match model.marks.get(&letter).copied() {
        None => model.say(format!("no mark {letter}; m and {letter} sets it")),
        Some(marked) if model.info.bar.is_some() => return seek(model, data, Seek::Marked(marked)),
        Some(marked) => crate::tui::shell::places::goto_message(model, data, marked.n),
    }
    vec![]
}
