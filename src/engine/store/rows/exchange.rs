//! Rows as charts count them: cheap, without texts.

use std::time::Duration;

use crate::session::MessageKind;
use xdscope_wire::event::{StreamId, Time, TypeUrl};

use crate::store::Store;

/// A row without texts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The time of the row.
    pub at: Time,
    /// The stream of the row.
    pub stream: StreamId,
    /// The index of the type on the stream; `None` for openings and closings.
    pub track: Option<u16>,
    /// The kind of the row.
    pub kind: MessageKind,
    /// A NACK by version alone, which the client may take back.
    pub implied: bool,
    /// The time since the message that the row answers; `None` without timestamps.
    pub latency: Option<Duration>,
    /// Bytes of the message.
    pub bytes: u64,
}

impl Store {
    /// Returns a row without its texts, in constant time.
    pub fn exchange(&self, index: usize) -> Option<Exchange> {
        let row = self.history.get(index)?;
        let kind = self.kind_of_row(row);
        let answers = row.answers().filter(|_| kind == row.kind);
        let answered = answers.and_then(|n| self.history.get(self.history.row_of(n)?));
        Some(Exchange {
            at: row.at,
            stream: row.id,
            track: row.track,
            kind,
            implied: row.implied && kind == row.kind,
            latency: answered.filter(|_| !self.clock.untimed).map(|answered| row.at.since(answered.at)),
            bytes: row.bytes.into(),
        })
    }

    /// Returns the time of a row.
    pub fn row_time(&self, index: usize) -> Option<Time> {
        self.history.get(index).map(|row| row.at)
    }

    /// Returns the number of rows up to a time, of those that were not dropped.
    pub fn rows_until(&self, at: Time) -> usize {
        self.history.rows_until(at)
    }

    /// Returns the index of a type on a stream.
    pub fn track_of(&self, stream: StreamId, type_url: &TypeUrl) -> Option<usize> {
        self.engine.stream(stream)?.position(type_url)
    }

    /// Returns the number of types on a stream.
    pub fn track_count(&self, stream: StreamId) -> usize {
        self.engine.stream(stream).map_or(0, |stream| stream.tracks.len())
    }
}
