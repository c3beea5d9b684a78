use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{
    EventEntry, GapFact, MessageKind, NotKeptPart, Outcome, RequestClass, ResponseOutcome, SessionEvent,
    Wildcard,
};
use xdscope_wire::content::{Catalog, Packed};
use xdscope_wire::discovery::ErrorDetail;
use xdscope_wire::event::{Dir, Seq, StreamId, Sym, Time};
use xdscope_wire::{Frame, FramePayload, GapCause, Message, Segment};

use super::line::{Names, Remark, TimelineLine, Which, version_and_nonce, which};
use super::row_note::{ResponseNote, RowNote};
use crate::store::rows::key_text;

/// Compressed messages that are cached unpacked: screens read them repeatedly.
const MAX_CACHED_MESSAGES: usize = 16;

/// Repeated names in the remark on a response.
const MAX_REPEATED_NAMES: usize = 3;

/// One part in this many of the memory is for uncompressed messages, the rest for compressed ones.
const UNPACKED_DIVISOR: usize = 4;

/// The row of a message that the source lacks.
const NO_ROW: u32 = u32::MAX;

/// One row of the timeline, compact: texts are resolved on demand.
pub(crate) struct Row {
    pub(crate) at: Time,
    /// The message, unless it is compressed.
    pub(crate) unpacked: Option<Box<UnpackedMessage>>,
    /// Index of the stream.
    pub(crate) stream: u32,
    pub(crate) id: StreamId,
    /// Number of the message; 0 for the opening and closing of a stream.
    seq: u32,
    /// Number of the answered message; 0 if there is none. Direction and cause of a gap.
    answers: u32,
    /// The time of the answered message, which may be dropped before the row.
    answered_at: Time,
    pub(crate) same: u32,
    /// Size of the message.
    pub(crate) bytes: u32,
    /// Index of the track on its stream.
    pub(crate) track: Option<u16>,
    pub(crate) kind: MessageKind,
    pub(crate) class: Option<RequestClass>,
    pub(crate) implied: bool,
    /// The wildcard after a request.
    pub(crate) wildcard: Option<Wildcard>,
}

pub(crate) struct UnpackedMessage {
    pub(crate) message: Arc<Message>,
    pub(crate) remark: Remark,
    /// Estimated bytes in memory.
    weight: usize,
}

impl Row {
    /// Makes the row of an outcome, without the message.
    pub(crate) fn new(stream: usize, outcome: &Outcome, message: Option<&Message>) -> Row {
        let mut row = Row {
            at: outcome.at,
            unpacked: None,
            stream: small(stream),
            id: outcome.stream,
            seq: outcome.seq.map_or(0, |seq| small(seq.0)),
            answers: 0,
            answered_at: Time::ZERO,
            same: 0,
            bytes: message.map_or(0, |message| small(message.size)),
            track: outcome.track.and_then(|track| u16::try_from(track).ok()),
            kind: MessageKind::Open,
            class: None,
            implied: false,
            wildcard: None,
        };
        match &outcome.what {
            SessionEvent::Counted | SessionEvent::Passed(_) | SessionEvent::Open => {}
            SessionEvent::Close => row.kind = MessageKind::Close,
            SessionEvent::Unchanged => row.kind = MessageKind::Unchanged,
            SessionEvent::Intercepted(number) => {
                row.kind = MessageKind::Intercepted;
                row.same = small(*number as u64);
            }
            SessionEvent::Gap(gap) => {
                row.kind = MessageKind::Gap;
                (row.same, row.bytes) = (small(gap.part.messages), small(gap.part.bytes));
                row.answers = gap_code(*gap);
            }
            SessionEvent::Aside => {
                let is_request = message.is_some_and(|message| message.dir() == Dir::Req);
                row.kind = if is_request { MessageKind::Repeat } else { MessageKind::Push };
            }
            SessionEvent::Request(request) => {
                row.kind = request.kind;
                row.class = request.class;
                row.implied = request.implied;
                row.wildcard = Some(request.wildcard);
                row.answers = request.answers.map_or(0, |seq| small(seq.0));
                row.answered_at = request.answered_at;
            }
            SessionEvent::Response(response) => {
                row.kind = response.kind;
                row.answers = response.answers.map_or(0, |seq| small(seq.0));
                row.answered_at = response.answered_at;
                row.same = small(response.same);
            }
        }
        row
    }

    pub(crate) fn n(&self) -> Option<Seq> {
        (self.seq > 0).then_some(Seq(self.seq.into()))
    }

    /// Returns the message that the row answers.
    pub(crate) fn answers(&self) -> Option<Seq> {
        (self.answers > 0 && self.kind != MessageKind::Gap).then_some(Seq(self.answers.into()))
    }

    /// Returns the time since the message that the row answers, if the row answers one.
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.answers().map(|_| self.at.since(self.answered_at))
    }

    /// Returns the missing messages, if the row is about those.
    pub(crate) fn gap(&self) -> Option<GapFact> {
        let [cause, dir, ..] = self.answers.to_le_bytes();
        let part = NotKeptPart {
            cause: GapCause::ALL.get(usize::from(cause)).copied().unwrap_or_default(),
            messages: self.same.into(),
            bytes: self.bytes.into(),
        };
        let dir = usize::from(dir).checked_sub(1).and_then(|dir| Dir::ALL.get(dir).copied());
        (self.kind == MessageKind::Gap).then_some(GapFact { dir, part })
    }
}

/// The timeline: messages, openings and closings of streams.
pub(crate) struct History {
    /// The newest rows. Earlier ones were dropped.
    pub(crate) rows: VecDeque<Row>,
    /// The number of the first row in `rows`.
    pub(crate) first: usize,
    /// The end of the timeline. Later rows are known from before a checkpoint was restored.
    shown: End,
    /// The row of each message in `rows`, by its number minus one and minus `first_seq`, or
    /// [`NO_ROW`].
    pub(crate) by_seq: VecDeque<u32>,
    pub(crate) first_seq: usize,
    /// Estimated bytes of uncompressed messages.
    bytes: usize,
    budget: usize,
    /// The first row whose message is not compressed.
    pub(crate) first_unpacked: usize,
    /// Compressed messages by their numbers minus one. The oldest are dropped beyond the limit.
    pub(crate) messages: Packed,
    /// Compressed lines by their numbers minus one. They are dropped together with their rows.
    pub(crate) lines: Packed,
    unpacked_cache: RefCell<VecDeque<(Seq, Arc<Message>)>>,
    last_list: u128,
}

/// A position of the end of the history.
#[derive(Clone, Copy, Default)]
pub(crate) struct End {
    rows: usize,
    messages: usize,
}

/// Returns direction and cause of a gap as a number.
fn gap_code(gap: GapFact) -> u32 {
    let cause = GapCause::ALL.iter().position(|cause| *cause == gap.part.cause);
    let dir = gap.dir.map_or(0, |dir| dir as u8 + 1);
    u32::from_le_bytes([cause.and_then(|cause| cause.try_into().ok()).unwrap_or_default(), dir, 0, 0])
}

fn small(n: impl TryInto<u32>) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
}

impl History {
    pub(crate) fn new(budget: usize) -> History {
        History {
            rows: VecDeque::new(),
            first: 0,
            shown: End::default(),
            by_seq: VecDeque::new(),
            first_seq: 0,
            bytes: 0,
            budget,
            first_unpacked: 0,
            messages: Packed::new(0),
            lines: Packed::new(0),
            unpacked_cache: RefCell::default(),
            last_list: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.rows
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Row> {
        if index < self.shown.rows { self.row(index) } else { None }
    }

    /// Returns the number of rows up to a time, of those that were not dropped.
    pub(crate) fn rows_until(&self, at: Time) -> usize {
        let visible = self.shown.rows.saturating_sub(self.first);
        self.rows.partition_point(|row| row.at <= at).min(visible)
    }

    fn row(&self, index: usize) -> Option<&Row> {
        self.rows.get(index.checked_sub(self.first)?)
    }

    /// Returns the number of rows, with those that were dropped and those after the end.
    fn end_row(&self) -> usize {
        self.first + self.rows.len()
    }

    /// Returns the bytes that the history may take.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }

    /// Changes the bytes that the history may take.
    pub(crate) fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    /// Returns the number of the first row that was not dropped.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    pub(crate) fn row_of(&self, n: Seq) -> Option<usize> {
        let at = usize::try_from(n.0.checked_sub(1)?).ok()?;
        if at < self.shown.messages { self.known_row(at) } else { None }
    }

    /// Returns the row of a message by its number minus one.
    fn known_row(&self, at: usize) -> Option<usize> {
        let row = self.by_seq.get(at.checked_sub(self.first_seq)?)?;
        if *row == NO_ROW { None } else { Some(*row as usize) }
    }

    pub(crate) fn message(&self, n: Seq, catalog: &Catalog) -> Option<Arc<Message>> {
        self.message_of(self.row(self.row_of(n)?)?, catalog)
    }

    /// Returns the message of a row; `None` if it has none, or it was dropped.
    pub(crate) fn message_of(&self, row: &Row, catalog: &Catalog) -> Option<Arc<Message>> {
        if let Some(unpacked) = &row.unpacked {
            return Some(unpacked.message.clone());
        }
        let n = row.n()?;
        let mut unpacked_cache = self.unpacked_cache.borrow_mut();
        if let Some((_, message)) = unpacked_cache.iter().find(|(other, _)| *other == n) {
            return Some(message.clone());
        }
        let message = Arc::new(self.unpack(row, catalog)?);
        unpacked_cache.truncate(MAX_CACHED_MESSAGES - 1);
        unpacked_cache.push_front((n, message.clone()));
        Some(message)
    }

    /// Decompresses the message of a row.
    pub(crate) fn unpack(&self, row: &Row, catalog: &Catalog) -> Option<Message> {
        Message::unpack(&self.messages.get(row.seq.checked_sub(1)?)?, catalog)
    }

    pub(crate) fn has_message(&self, row: &Row) -> bool {
        row.unpacked.is_some() || row.seq > self.messages.first()
    }

    /// Returns the line of a row, also if its message was dropped; `None` if it has no message.
    pub(crate) fn line(&self, row: &Row) -> Option<TimelineLine> {
        match &row.unpacked {
            Some(unpacked) => Some(TimelineLine::from_message(&unpacked.message, &unpacked.remark)),
            None => TimelineLine::unpack(&self.lines.get(row.seq.checked_sub(1)?)?),
        }
    }

    /// Whether a row removes a name.
    pub(crate) fn removes(&self, row: &Row, name: Sym) -> bool {
        let names = match &row.unpacked {
            Some(unpacked) => unpacked.remark.names.clone(),
            None => self.line(row).and_then(|line| line.remark.names),
        };
        names.is_some_and(|names| names.removed.contains(&name))
    }

    /// Returns the frame of a message, also if an earlier checkpoint was restored.
    pub(crate) fn frame(&self, n: Seq, catalog: &Catalog) -> Option<Frame> {
        let row = self.any_row(n)?;
        Some(Frame {
            at: row.at,
            stream: row.id,
            what: FramePayload::Message(self.message_of(row, catalog)?),
        })
    }

    pub(crate) fn time_of(&self, n: Seq) -> Option<Time> {
        Some(self.any_row(n)?.at)
    }

    /// Returns the row of a message, also if an earlier checkpoint was restored.
    fn any_row(&self, n: Seq) -> Option<&Row> {
        let at = usize::try_from(n.0.checked_sub(1)?).ok()?;
        self.row(self.known_row(at)?)
    }

    /// Returns the number of dropped messages.
    pub(crate) fn dropped(&self) -> u64 {
        self.messages.first().into()
    }

    /// Adds the row of an outcome, if it has one.
    pub(crate) fn push(
        &mut self,
        stream: usize,
        outcome: &Outcome,
        message: Option<Arc<Message>>,
        note: Option<RowNote>,
        catalog: &Catalog,
    ) {
        if matches!(outcome.what, SessionEvent::Counted | SessionEvent::Passed(_)) {
            return;
        }
        if let Some(seq) = outcome.seq {
            self.shown.messages = usize::try_from(seq.0).unwrap_or(usize::MAX);
        }
        self.shown.rows += 1;
        // The row is known from before a checkpoint was restored: equal frames make equal rows.
        if self.shown.rows <= self.end_row() {
            return;
        }
        let mut row = Row::new(stream, outcome, message.as_deref());
        let names = changed_names(outcome, message.as_deref());
        let (note, other_reading) = match &outcome.what {
            SessionEvent::Request(request) => (note, request.other_reading()),
            SessionEvent::Response(response) => (response_remark(response, catalog), None),
            _ => (None, None),
        };
        if row.seq > 0 {
            let before = (row.seq as usize - 1).saturating_sub(self.first_seq);
            self.by_seq.resize(before, NO_ROW);
            self.by_seq.push_back(small(self.end_row()));
        }
        if let Some(message) = message
            && row.seq > 0
        {
            let none =
                matches!(names.added, Which::Nothing) && names.changed.is_empty() && names.removed.is_empty();
            let events = (!outcome.events.is_empty()).then(|| Arc::from(outcome.events.as_slice()));
            let weight = self.weight(&message, &names) + events_weight(&outcome.events);
            self.bytes += weight;
            let names = (!none).then(|| Arc::new(names));
            let remark = Remark { note: note.map(Arc::from), other_reading, names, events };
            row.unpacked = Some(Box::new(UnpackedMessage { message, remark, weight }));
        }
        self.rows.push_back(row);
        self.make_room(catalog);
    }

    /// Estimates the bytes of a message without contents, which the catalog stores.
    fn weight(&mut self, message: &Message, names: &Names) -> usize {
        let added = match &names.added {
            Which::These(names) => names.len(),
            Which::Nothing | Which::All => 0,
        };
        let names = 4 * (added + names.changed.len() + names.removed.len());
        let mut bytes = weight(message) + size_of::<UnpackedMessage>() + size_of::<Names>() + names;
        if let Some(list) = message.resources() {
            // An equal list is shared.
            if self.last_list != list.fingerprint() {
                bytes += list.len() * 4;
            }
            self.last_list = list.fingerprint();
        }
        bytes
    }

    pub(crate) fn end(&self) -> End {
        self.shown
    }

    /// Restores an end. Later rows are kept: the frames that follow are those that followed before.
    pub(crate) fn restore(&mut self, end: End) {
        self.shown = end;
    }

    /// Estimates the bytes of the history.
    pub(crate) fn size(&self) -> usize {
        let rows = self.rows.len() * (size_of::<Row>() + size_of::<u32>());
        self.bytes + rows + self.messages.size() + self.lines.size()
    }

    /// Whether the next row is known from before a checkpoint was restored.
    pub(crate) fn is_replaying(&self) -> bool {
        self.shown.rows < self.end_row()
    }

    fn make_room(&mut self, catalog: &Catalog) {
        while self.bytes > self.budget / UNPACKED_DIVISOR && self.first_unpacked + 1 < self.end_row() {
            self.compress(catalog);
        }
        while self.size() > self.budget && self.messages.forget() {}
    }

    /// Compresses the oldest uncompressed message.
    pub(crate) fn compress(&mut self, catalog: &Catalog) {
        let at = self.first_unpacked.saturating_sub(self.first);
        let Some(row) = self.rows.get_mut(at) else { return };
        self.first_unpacked += 1;
        let Some(unpacked) = row.unpacked.take() else { return };
        self.bytes -= unpacked.weight;
        while self.messages.len() + 1 < row.seq {
            self.messages.put(&[]);
            self.lines.put(&[]);
        }
        self.messages.put(&unpacked.message.pack(catalog));
        let line = TimelineLine::from_message(&unpacked.message, &unpacked.remark);
        self.lines.put(&line.pack(row.track.is_some()));
    }
}

/// Estimates the bytes of events.
fn events_weight(events: &[EventEntry]) -> usize {
    events.iter().map(|event| size_of::<EventEntry>() + 4 * event.names.len()).sum()
}

/// Returns the names that a message added, changed and removed.
fn changed_names(outcome: &Outcome, message: Option<&Message>) -> Names {
    match &outcome.what {
        SessionEvent::Request(request) => Names {
            added: which(&request.added, message),
            changed: Box::default(),
            removed: request.removed.as_slice().into(),
        },
        SessionEvent::Response(response) => Names {
            added: which(&response.added, message),
            changed: response.changed.as_slice().into(),
            removed: response.removed.as_slice().into(),
        },
        _ => Names::default(),
    }
}

/// Returns the remark on a response: repeated names or a reused nonce (docs/protocol.md#e-43,
/// docs/protocol.md#f-03).
fn response_remark(response: &ResponseOutcome, catalog: &Catalog) -> Option<RowNote> {
    let repeated = response.duplicates.iter().take(MAX_REPEATED_NAMES);
    let note = ResponseNote {
        repeated: repeated.map(|name| key_text(catalog, *name)).collect(),
        has_more: response.duplicates.len() > MAX_REPEATED_NAMES,
        is_nonce_reused: response.nonce_reused,
    };
    (note != ResponseNote::default()).then_some(RowNote::Response(note))
}

/// Estimates the bytes of a message without names and list, which are usually shared.
fn weight(message: &Message) -> usize {
    let segments = message.segments.iter().map(|segment| match segment {
        Segment::Inline(bytes) => bytes.len() + 40,
        _ => 24,
    });
    size_of::<Message>() + 160 + segments.sum::<usize>() + texts_weight(message)
}

/// Estimates the bytes of the texts that were read from a message, without names.
fn texts_weight(message: &Message) -> usize {
    let (version, nonce) = version_and_nonce(message);
    let details = |error: &ErrorDetail| error.details.iter().map(|detail| detail.len()).sum::<usize>();
    let error = |error: &ErrorDetail| error.message.len() + details(error);
    let errors = message.response().map_or(&[][..], |response| response.resource_errors);
    version.len()
        + nonce.len()
        + message.error_detail().map_or(0, error)
        + errors.iter().map(|known| error(&known.detail)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::MessageShape;
    use xdscope_wire::pb::put_len_field;

    #[test]
    fn weight_counts_texts() {
        let mut catalog = Catalog::in_memory();
        let details = vec![vec![0; 100_000].into()];
        let error = ErrorDetail { code: 3, message: "x".repeat(200_000).into(), details };
        let mut request = Vec::new();
        put_len_field(&mut request, 6, &error.encode());
        let message = Message::parse(MessageShape::SotwRequest, &request, &mut catalog);
        assert!(weight(&message) > 600_000, "the bytes and what was read from them: {}", weight(&message));
    }
}
