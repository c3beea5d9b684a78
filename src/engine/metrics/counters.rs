//! Counts since the start of a source, which outlive the rows that they count.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::activity::{LATENCY_CLASS_COUNT, LATENCY_CLASSES, verdict_latency};
use crate::store::{MessageKind, Store};
use xdscope_wire::event::{Dir, Seq, StreamId, Time};

use super::type_label::{TypeLabel, TypeLabels};

/// NACKs by version that are kept, because the client may take them back.
const MAX_IMPLIED: usize = 1000;

/// A time from response to verdict, as an example of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictExample {
    /// The message of the verdict.
    pub message: Seq,
    /// The time of the message.
    pub at: Time,
    /// The time since the response.
    pub latency: Duration,
}

/// The times from response to verdict of one type.
#[derive(Clone, Debug, Default)]
pub struct VerdictTimes {
    /// Number of verdicts by class. The times of a class are at most its end in
    /// [`LATENCY_CLASSES`]; the last class has the rest.
    pub counts: [u64; LATENCY_CLASS_COUNT],
    /// The newest verdict of each class.
    pub newest: [Option<VerdictExample>; LATENCY_CLASS_COUNT],
    /// The sum of all times.
    pub sum: Duration,
}

impl VerdictTimes {
    fn add(&mut self, verdict: VerdictExample) {
        let is_within = |end: &Duration| verdict.latency <= *end;
        let class = LATENCY_CLASSES.iter().position(is_within).unwrap_or(LATENCY_CLASSES.len());
        if let (Some(count), Some(newest)) = (self.counts.get_mut(class), self.newest.get_mut(class)) {
            *count += 1;
            *newest = Some(verdict);
        }
        self.sum = self.sum.saturating_add(verdict.latency);
    }
}

/// A NACK by version that was counted.
#[derive(Clone, Debug)]
struct ImpliedNack {
    row: usize,
    label: TypeLabel,
}

/// The rows and losses of a source before a frame is handled.
pub(crate) struct RowsBefore {
    stream: StreamId,
    rows: usize,
    /// Messages of the stream that were lost.
    lost: u64,
}

impl RowsBefore {
    /// Returns what a source has before a frame of a stream.
    pub(crate) fn count(store: &Store, stream: StreamId) -> RowsBefore {
        RowsBefore { stream, rows: store.rows(), lost: lost_on(store, stream) }
    }
}

/// Counts of the messages of a source.
///
/// Each row is counted once, when it is added. Its number of series is bounded: see [`TypeLabel`].
#[derive(Clone, Debug, Default)]
pub struct MessageCounters {
    labels: TypeLabels,
    messages: BTreeMap<(TypeLabel, MessageKind), u64>,
    verdicts: BTreeMap<TypeLabel, VerdictTimes>,
    bytes: u64,
    lost: u64,
    implied: VecDeque<ImpliedNack>,
}

impl MessageCounters {
    /// Counts what a store has.
    pub(crate) fn from_store(store: &Store) -> MessageCounters {
        let mut counters = MessageCounters { lost: store.gaps(), ..MessageCounters::default() };
        counters.count_rows(store, store.first_row());
        counters
    }

    /// Counts what a frame has added since a position.
    pub(crate) fn count(&mut self, store: &Store, before: &RowsBefore) {
        self.lost += lost_on(store, before.stream).saturating_sub(before.lost);
        self.count_rows(store, before.rows);
    }

    fn count_rows(&mut self, store: &Store, from: usize) {
        for row in from..store.rows() {
            self.count_row(store, row);
        }
    }

    fn count_row(&mut self, store: &Store, row: usize) {
        let (Some((Some(n), kind)), Some(exchange)) = (store.kind_of(row), store.exchange(row)) else {
            return;
        };
        let type_url = store.place_of(row).map(|(_, type_url)| type_url).unwrap_or_default();
        let label = self.labels.learn(&type_url);
        self.bytes += exchange.bytes;
        if let Some(latency) = verdict_latency(&exchange) {
            let verdict = VerdictExample { message: n, at: exchange.at, latency };
            self.verdicts.entry(label.clone()).or_default().add(verdict);
        }
        if exchange.implied && kind == MessageKind::Nack {
            self.implied.truncate(MAX_IMPLIED - 1);
            self.implied.push_front(ImpliedNack { row, label: label.clone() });
        }
        *self.messages.entry((label, kind)).or_default() += 1;
    }

    /// Counts the NACKs by version that clients have taken back as what they are.
    pub(crate) fn take_back(&mut self, store: &Store) {
        let kind_of = |nack: &ImpliedNack| store.exchange(nack.row).map(|exchange| exchange.kind);
        let is_nack = |nack: &ImpliedNack| kind_of(nack).is_none_or(|kind| kind == MessageKind::Nack);
        let (kept, none): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.implied).into_iter().partition(is_nack);
        self.implied = kept;
        for nack in none {
            let Some(kind) = kind_of(&nack) else { continue };
            if let Some(count) = self.messages.get_mut(&(nack.label.clone(), MessageKind::Nack)) {
                *count -= 1;
            }
            *self.messages.entry((nack.label, kind)).or_default() += 1;
        }
    }

    pub(super) fn labels(&self) -> &TypeLabels {
        &self.labels
    }

    /// Returns the number of messages by type and kind.
    pub fn messages(&self) -> impl Iterator<Item = (&TypeLabel, MessageKind, u64)> {
        self.messages.iter().map(|((label, kind), count)| (label, *kind, *count))
    }

    /// Returns the number of NACKs of each type that had messages.
    pub fn nacks(&self) -> BTreeMap<&TypeLabel, u64> {
        let mut nacks = BTreeMap::new();
        for (label, kind, count) in self.messages() {
            *nacks.entry(label).or_default() += if kind == MessageKind::Nack { count } else { 0 };
        }
        nacks
    }

    /// Returns the times from response to verdict by type. A NACK by version that the client has
    /// taken back stays counted.
    pub fn verdicts(&self) -> &BTreeMap<TypeLabel, VerdictTimes> {
        &self.verdicts
    }

    /// Returns the bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of messages that were lost in the copy, or too large to be kept.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Returns the direction of the messages of a kind; `None` for rows without a message.
pub fn direction(kind: MessageKind) -> Option<Dir> {
    match kind {
        MessageKind::Nack
        | MessageKind::Ack
        | MessageKind::Subscribe
        | MessageKind::Unsubscribe
        | MessageKind::Repeat => Some(Dir::Req),
        MessageKind::Push | MessageKind::Resend | MessageKind::Heartbeat => Some(Dir::Resp),
        MessageKind::Open
        | MessageKind::Close
        | MessageKind::Unchanged
        | MessageKind::Intercepted
        | MessageKind::Gap => None,
    }
}

fn lost_on(store: &Store, stream: StreamId) -> u64 {
    store.engine().stream(stream).map_or(0, |stream| stream.lost_messages())
}
