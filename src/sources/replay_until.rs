//! Replay of a source into a store, up to a position such as the one of `--at`.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::open::Source;
use crate::record::Loaded;
use xdscope_engine::filter::FilterTime;
use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Seq, Time};
use xdscope_wire::{Frame, FramePayload};

/// A position in a source, before the source is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayPosition {
    /// Before the first frame.
    Start,
    /// After the last frame.
    End,
    /// The first NACK.
    Nack,
    /// A message number, a time of day, a date or an offset from the start.
    Moment(FilterTime),
}

/// In the form that is parsed.
impl std::fmt::Display for ReplayPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReplayPosition::Start => f.write_str("start"),
            ReplayPosition::End => f.write_str("end"),
            ReplayPosition::Nack => f.write_str("nack"),
            ReplayPosition::Moment(time) => write!(f, "{time}"),
        }
    }
}

/// A text that does not name a position in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected #487, 14:02:08, +30s, a date such as 2026-03-02T14:02:08Z, start, end or nack")]
pub struct InvalidPosition;

impl std::str::FromStr for ReplayPosition {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        match text {
            "start" => Ok(ReplayPosition::Start),
            "end" => Ok(ReplayPosition::End),
            "nack" => Ok(ReplayPosition::Nack),
            text => FilterTime::parse(text).map(ReplayPosition::Moment).ok_or(InvalidPosition),
        }
    }
}

/// Why a source has no such position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// The source has no NACK.
    #[error("no message in this source is a NACK")]
    NoNack,
    /// The source has no message with the wanted number.
    #[error("there is no message #{wanted}")]
    NoMessage {
        /// The number that was asked for; messages count from 1.
        wanted: u64,
        /// The number of the last message; 0 in an empty source.
        last: u64,
    },
    /// The source has only times since its start, so that a date or time of day finds nothing.
    #[error("this source has no dates")]
    NoDates,
}

/// The last frame of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The end of the source.
    All,
    /// Up to this message.
    Message(Seq),
    /// Up to this time.
    Time(Time),
}

/// The facts of a source that tell where positions are.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceSpan {
    /// The meaning of the times.
    pub clock: Clock,
    /// The time at which the source ends.
    pub end: Time,
    /// Number of messages.
    pub messages: u64,
    /// The first request with an error detail.
    pub first_nack: Option<Seq>,
}

impl SourceSpan {
    /// Reads the frames of a source in memory.
    pub fn from_loaded(loaded: &Loaded) -> SourceSpan {
        let mut span = SourceSpan { clock: loaded.clock, end: loaded.end, ..SourceSpan::default() };
        loaded.frames.iter().for_each(|frame| span.note(frame));
        span
    }

    /// Reads the next frame.
    pub(super) fn note(&mut self, frame: &Frame) {
        if let FramePayload::Message(message) = &frame.what {
            self.messages += 1;
            if self.first_nack.is_none() && message.error_detail().is_some() {
                self.first_nack = Some(Seq(self.messages));
            }
        }
    }
}

impl Limit {
    /// Finds `position` in a source; times of day are read in `zone`.
    ///
    /// # Errors
    ///
    /// The source has no such message, no NACK, or no dates.
    pub fn from_position(
        position: &ReplayPosition,
        loaded: &Loaded,
        zone: &TimeZone,
    ) -> Result<Limit, PositionError> {
        match Limit::known(position) {
            Some(limit) => Ok(limit),
            None => Limit::within(position, &SourceSpan::from_loaded(loaded), zone),
        }
    }

    /// Returns the limit of a position that is the same in each source.
    pub fn known(position: &ReplayPosition) -> Option<Limit> {
        match position {
            ReplayPosition::End => Some(Limit::All),
            ReplayPosition::Start => Some(Limit::Time(Time::ZERO)),
            ReplayPosition::Nack | ReplayPosition::Moment(_) => None,
        }
    }

    /// Finds `position` in a source of which the span is known, as
    /// [`from_position`](Limit::from_position) does. An offset may lie past the end of the source.
    ///
    /// # Errors
    ///
    /// The source has no such message, no NACK, or no dates.
    pub fn within(
        position: &ReplayPosition,
        span: &SourceSpan,
        zone: &TimeZone,
    ) -> Result<Limit, PositionError> {
        match position {
            ReplayPosition::End => Ok(Limit::All),
            ReplayPosition::Start => Ok(Limit::Time(Time::ZERO)),
            ReplayPosition::Nack => span.first_nack.map(Limit::Message).ok_or(PositionError::NoNack),
            ReplayPosition::Moment(FilterTime::Message(n)) => {
                if n.0 == 0 || n.0 > span.messages {
                    return Err(PositionError::NoMessage { wanted: n.0, last: span.messages });
                }
                Ok(Limit::Message(*n))
            }
            ReplayPosition::Moment(moment) => {
                let time = moment.time(span.clock, span.end, zone).ok_or(PositionError::NoDates)?;
                let is_offset = matches!(moment, FilterTime::Offset(_));
                Ok(Limit::Time(if is_offset { time } else { time.min(span.end) }))
            }
        }
    }

    /// Whether a frame is within the limit; `n` is the number of the last message up to the frame.
    pub fn includes(&self, frame: &Frame, n: Seq) -> bool {
        match self {
            Limit::All => true,
            Limit::Message(last) => n < *last || (n == *last && is_message(frame)),
            Limit::Time(last) => frame.at <= *last,
        }
    }

    /// Counts the leading frames that are within the limit.
    pub fn count(&self, frames: &[Frame]) -> usize {
        let mut n = Seq(0);
        let is_included = |frame: &&Frame| {
            n.0 += u64::from(is_message(frame));
            self.includes(frame, n)
        };
        frames.iter().take_while(is_included).count()
    }
}

/// Whether a frame is a message, and so has a number.
pub fn is_message(frame: &Frame) -> bool {
    matches!(frame.what, FramePayload::Message(_))
}

/// One part in this many of the memory is for contents that later ones are compared with.
pub const COMPARED_DIVISOR: usize = 8;

/// Creates a store that compares and checks resources with the descriptors of `schema`.
pub fn store(options: store::Options, catalog: Catalog, clock: Clock, schema: &Arc<Schema>) -> Store {
    let mut store = Store::new(catalog, clock, options);
    store.catalog_mut().cache_compared(options.history / COMPARED_DIVISOR);
    store.set_meaning(Arc::new(store::SchemaSemantics::new(schema.clone())));
    store
}

/// Replays a source into a new store, and returns it with the descriptors of the source.
pub fn replay(source: Source, options: store::Options, limit: &Limit) -> (Store, Arc<Schema>) {
    let schema = source.schema.clone();
    let mut replay = Replay::new(source.loaded, options, &schema);
    replay.advance_to(limit);
    (replay.store, schema)
}

/// Replays frames to their end.
pub fn replay_all(loaded: Loaded, options: store::Options, schema: &Arc<Schema>) -> Store {
    let mut replay = Replay::new(loaded, options, schema);
    replay.advance_to(&Limit::All);
    replay.store
}

/// A replay that can stop on the way.
pub struct Replay {
    /// The state at the current position.
    pub store: Store,
    frames: std::vec::IntoIter<Frame>,
    /// Number of the last message that the store has taken.
    n: Seq,
    end: Time,
}

impl Replay {
    /// Starts before the first frame.
    pub fn new(loaded: Loaded, options: store::Options, schema: &Arc<Schema>) -> Replay {
        let Loaded { catalog, clock, frames, end, .. } = loaded;
        let store = store(options, catalog, clock, schema);
        Replay { store, frames: frames.into_iter(), n: Seq(0), end }
    }

    /// Advances to `limit`. A limit behind the current position has no effect.
    pub fn advance_to(&mut self, limit: &Limit) {
        while let Some(frame) = self.frames.as_slice().first() {
            let n = Seq(self.n.0 + u64::from(is_message(frame)));
            if !limit.includes(frame, n) {
                break;
            }
            self.n = n;
            if let Some(frame) = self.frames.next() {
                self.store.handle(frame);
            }
        }
        match limit {
            Limit::All => self.store.advance(self.end),
            Limit::Time(last) => self.store.advance(*last),
            Limit::Message(_) => {}
        }
    }
}
