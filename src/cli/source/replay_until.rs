//! A source into a store, as far as `--at` says.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::cli::args::{At, TimerFlags};
use crate::cli::error::CliError;
use crate::engine::filter::FilterTime;
use crate::engine::store::Store;
use crate::schema::Schema;
use crate::sources::record::Loaded;
use crate::wire::event::{Seq, Time};
use crate::wire::{Frame, FramePayload};

use super::{Form, Source, store};

/// How far a replay goes.
pub(in crate::cli) enum Limit {
    All,
    Message(Seq),
    Time(Time),
}

impl Limit {
    /// Where `at` is in `loaded`.
    pub(in crate::cli) fn of(at: &At, loaded: &Loaded, zone: &TimeZone) -> Result<Limit, CliError> {
        match at {
            At::End => Ok(Limit::All),
            At::Start => Ok(Limit::Time(Time::ZERO)),
            At::Nack => first_nack(loaded).map(Limit::Message).ok_or_else(|| {
                CliError::usage("no message in this source is a NACK").next("--at start, --at end")
            }),
            At::Moment(FilterTime::Message(n)) => {
                let messages = loaded.frames.iter().filter(|frame| is_message(frame)).count() as u64;
                if n.0 == 0 || n.0 > messages {
                    let error = CliError::usage(format!("there is no message #{}", n.0));
                    return Err(error.next(format!("a number from #1 to #{messages}")));
                }
                Ok(Limit::Message(*n))
            }
            At::Moment(moment) => {
                moment.time(loaded.clock, loaded.end, zone).map(Limit::Time).ok_or_else(|| {
                    CliError::usage("this source has no dates")
                        .next("--at +30s, or a message's number such as #487")
                })
            }
        }
    }
}

impl Limit {
    /// Whether a frame, with the number of the last message up to it, is within.
    fn has(&self, frame: &Frame, n: Seq) -> bool {
        match self {
            Limit::All => true,
            Limit::Message(last) => n <= *last,
            Limit::Time(last) => frame.at <= *last,
        }
    }

    /// How many frames are within.
    pub(in crate::cli) fn reach(&self, frames: &[Frame]) -> usize {
        let mut n = Seq(0);
        let within = |frame: &&Frame| {
            n.0 += u64::from(is_message(frame));
            self.has(frame, n)
        };
        frames.iter().take_while(within).count()
    }
}

/// The first request that refuses a push in words.
fn first_nack(loaded: &Loaded) -> Option<Seq> {
    let messages = loaded.frames.iter().filter_map(|frame| match &frame.what {
        FramePayload::Message(message) => Some(message),
        _ => None,
    });
    let mut numbered = messages.zip(1..);
    numbered.find(|(message, _)| message.error_detail().is_some()).map(|(_, n)| Seq(n))
}

pub(in crate::cli) fn is_message(frame: &Frame) -> bool {
    matches!(frame.what, FramePayload::Message(_))
}

/// Replays a source into a store.
pub(in crate::cli) fn replay(source: Source, timers: &TimerFlags, limit: &Limit) -> (Store, Arc<Schema>) {
    let mut replay = Replay::new(source, timers);
    replay.to(limit);
    (replay.store, replay.schema)
}

/// The same of a source that was read again, all of it.
pub(in crate::cli) fn replay_loaded(loaded: Loaded, schema: &Arc<Schema>, timers: &TimerFlags) -> Store {
    let source = Source {
        name: String::new(),
        form: Form::Recording,
        size: None,
        loaded,
        schema: schema.clone(),
        unanswered: Vec::new(),
    };
    replay(source, timers, &Limit::All).0
}

/// A source on its way into a store.
pub(in crate::cli) struct Replay {
    pub store: Store,
    pub schema: Arc<Schema>,
    frames: std::vec::IntoIter<Frame>,
    /// The last message that was taken.
    n: Seq,
    end: Time,
}

impl Replay {
    pub(in crate::cli) fn new(source: Source, timers: &TimerFlags) -> Replay {
        let Loaded { catalog, clock, frames, end, .. } = source.loaded;
        let store = store(timers, catalog, clock, &source.schema);
        Replay { store, schema: source.schema, frames: frames.into_iter(), n: Seq(0), end }
    }

    /// Goes on up to there; never back.
    pub(in crate::cli) fn to(&mut self, limit: &Limit) {
        while let Some(frame) = self.frames.as_slice().first() {
            let n = Seq(self.n.0 + u64::from(is_message(frame)));
            if !limit.has(frame, n) {
                break;
            }
            self.n = n;
            self.frames.next().into_iter().for_each(|frame| self.store.handle(frame));
        }
        match limit {
            Limit::All => self.store.advance(self.end),
            Limit::Time(last) => self.store.advance(self.end.min(*last)),
            Limit::Message(_) => {}
        }
    }
}
