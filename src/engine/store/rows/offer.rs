//! The offer of a response beside that of the one before, and the verdict of the client on it.

use std::sync::Arc;
use std::time::Duration;

use crate::session::{MessageKind, Status, Track};
use xdscope_wire::event::{Seq, Variant};

use super::history::Row;
use super::message_row::MessageRow;

/// Rows that are searched for the verdict on an old response, and for the response before it.
const MAX_SEARCHED_ROWS: usize = 1024;

/// The verdict of the client on one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferVerdict {
    /// The client has given no verdict yet.
    Pending,
    /// The client accepted the response.
    Acked,
    /// The client refused the response.
    Refused,
    /// The client answered a newer response without a verdict on this one (docs/protocol.md#e-04).
    Skipped,
}

impl OfferVerdict {
    /// Returns the word that views show.
    pub fn word(self) -> &'static str {
        match self {
            OfferVerdict::Pending => "pending",
            OfferVerdict::Acked => "acked",
            OfferVerdict::Refused => "refused",
            OfferVerdict::Skipped => "skipped",
        }
    }
}

/// The offer of a response, and the verdict of the client on the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferFact {
    /// The verdict; `None` if it is not known any more.
    pub verdict: Option<OfferVerdict>,
    /// The request that gives the verdict, or that answers a newer response.
    pub by: Option<Seq>,
    /// The time from the response to that request; `None` without timestamps.
    pub latency: Option<Duration>,
    /// SotW: whether the response holds all subscribed resources of its type, so that others are
    /// removed (docs/protocol.md#e-32). Other responses are partial (docs/protocol.md#e-33).
    pub is_full_state: Option<bool>,
    /// The version of the response before, on this stream and of this type.
    pub previous_version: Option<Arc<str>>,
}

impl MessageRow<'_> {
    /// Returns the offer of the row; `None` unless the row is a response to a client.
    pub(super) fn offer(&self) -> Option<OfferFact> {
        let MessageRow { store, row, stream, .. } = *self;
        let variant = stream.variant().filter(|variant| *variant != Variant::File)?;
        let track = stream.tracks.get(usize::from(row.track?))?;
        if !is_response(row) {
            return None;
        }
        let n = row.n()?;
        let (verdict, by) = match track.responses.of_seq(n) {
            Some(response) => (Some(verdict_of(response.status)), response.settled_by),
            None => self.verdict_in_rows(n, variant.is_delta()),
        };
        let is_full = track.kind.is_some_and(|kind| kind.full_state());
        Some(OfferFact {
            verdict,
            by,
            latency: by.and_then(|by| store.timestamp(by)).map(|at| at.since(row.at)),
            is_full_state: (!variant.is_delta()).then_some(is_full),
            previous_version: self.version_before(track, n),
        })
    }

    /// Searches the rows behind an old response for its verdict.
    fn verdict_in_rows(&self, n: Seq, is_delta: bool) -> (Option<OfferVerdict>, Option<Seq>) {
        let MessageRow { store, index, row: response, .. } = *self;
        let rows = (index + 1..store.history.len()).take(MAX_SEARCHED_ROWS);
        for row in rows.filter_map(|at| store.history.get(at)).filter(|row| is_of_track(row, response)) {
            let verdict = match store.kind_of_row(row) {
                MessageKind::Ack => OfferVerdict::Acked,
                MessageKind::Nack => OfferVerdict::Refused,
                _ => continue,
            };
            match row.answers() {
                Some(answers) if answers == n => return (Some(verdict), row.n()),
                Some(answers) if answers > n && !is_delta => return (Some(OfferVerdict::Skipped), row.n()),
                _ => {}
            }
        }
        (None, None)
    }

    /// Returns the version of the response before one.
    fn version_before(&self, track: &Track, n: Seq) -> Option<Arc<str>> {
        let MessageRow { store, index, row: response, .. } = *self;
        if let Some(before) = track.responses.before(n) {
            return Some(Arc::from(before.version.as_str()));
        }
        let rows = (index.saturating_sub(MAX_SEARCHED_ROWS)..index).rev();
        let mut rows = rows.filter_map(|at| store.history.get(at));
        let before = rows.find(|row| is_of_track(row, response) && is_response(row))?;
        store.history.line(before).map(|line| line.version)
    }
}

fn verdict_of(status: Status) -> OfferVerdict {
    match status {
        Status::Pending => OfferVerdict::Pending,
        Status::Acked => OfferVerdict::Acked,
        Status::Nacked | Status::NackedByVersion => OfferVerdict::Refused,
        Status::Skipped => OfferVerdict::Skipped,
    }
}

fn is_response(row: &Row) -> bool {
    matches!(row.kind, MessageKind::Push | MessageKind::Resend | MessageKind::Heartbeat)
}

fn is_of_track(row: &Row, other: &Row) -> bool {
    (row.stream, row.track) == (other.stream, other.track)
}
