//! Facts of the timeline, built from its compact rows.

pub(super) mod details;
pub(super) mod exchange;
pub(super) mod history;
pub(super) mod history_memory;
pub(super) mod ledger;
pub(super) mod line;
mod message_row;
pub(super) mod offer;
pub(super) mod row_note;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{MessageKind, Stream, kind_of_change};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Code, Seq, StreamId, Sym, Time, TypeUrl};
use xdscope_wire::{Intervention, Message};

use super::{EndFact, LineFact, MessageFact, ReconnectCounts, RowFact, Store};
use exchange::Exchange;
use history::Row;
use line::{Names, Which};
use message_row::MessageRow;
use row_note::RowNote;

impl Store {
    /// How long rows wait for the first request of a stream that begins.
    pub const FIRST_REQUEST_TIME: Duration = Duration::from_secs(1);

    /// Returns the kind of a row. A NACK by version is a change of names once the client has taken
    /// it back (docs/protocol.md#e-22).
    pub(super) fn kind_of_row(&self, row: &Row) -> MessageKind {
        if !row.implied || !self.is_taken_back(row) {
            return row.kind;
        }
        let names = self.history.line(row).and_then(|line| line.remark.names);
        let added = names.as_ref().is_some_and(|names| names.added != Which::Nothing);
        let removed = names.as_ref().is_some_and(|names| !names.removed.is_empty());
        kind_of_change(added, removed)
    }

    /// Returns a row with its counts, as lists show it.
    pub(super) fn line_fact(&self, row: &Row) -> Option<LineFact> {
        self.line_of(row).map(|(fact, _)| fact)
    }

    /// Whether the client has taken back the NACK of a row.
    fn is_taken_back(&self, row: &Row) -> bool {
        let Some(stream) = self.engine.streams().get(row.stream as usize) else { return false };
        let track = row.track.and_then(|track| stream.tracks.get(usize::from(track)));
        match (row.n(), track) {
            (Some(n), Some(track)) => track.verdicts.is_taken_back(n),
            _ => false,
        }
    }

    /// Returns the fact of a row with its names.
    fn line_of(&self, row: &Row) -> Option<(LineFact, Option<Arc<Names>>)> {
        let stream = self.engine.streams().get(row.stream as usize)?;
        let kind = self.kind_of_row(row);
        let answers = self.answered_by(row, kind);
        let mut fact = RowFact {
            n: row.n(),
            at: row.at,
            stream: stream.id,
            node: stream.peers.node_id.clone(),
            dir: None,
            type_url: TypeUrl::default(),
            kind,
            class: row.class,
            implied: row.implied && kind == row.kind,
            other_reading: None,
            version: Arc::from(""),
            nonce: Arc::from(""),
            answers,
            latency: answers.and_then(|_| self.waited(row)),
            same: u64::from(row.same),
            count: 0,
            size: 0,
            error: None,
            faults: None,
            keeps: None,
            partial: stream.open.partial,
            stated: stated(stream, row),
            note: None,
        };
        let Some(line) = self.history.line(row) else {
            fact.note = life(stream, row).map(Arc::new);
            if row.kind == MessageKind::Intercepted {
                // The number of the intervention.
                fact.same = 0;
            }
            if let Some(gap) = row.gap() {
                fact.same = 0;
                (fact.dir, fact.size) = (gap.dir, gap.part.bytes);
                fact.type_url = type_of(stream, row, TypeUrl::default);
            }
            if let Some(RowNote::Intercepted(facts)) = fact.note.as_deref() {
                fact.type_url = facts.type_url.clone();
                (fact.version, fact.nonce) = (facts.version.clone(), facts.nonce.clone());
            }
            return Some((LineFact { row: fact, added: 0, changed: 0, removed: 0, one: None }, None));
        };
        fact.type_url = type_of(stream, row, || line.type_url);
        fact.dir = Some(line.dir);
        fact.version = line.version;
        fact.nonce = line.nonce;
        fact.count = line.count;
        fact.size = line.size;
        fact.error = line.error.map(|(code, message)| (Code(code), message));
        let faults = |text: &str| Arc::from(self.stated_nack_faults(text, answers).to_string());
        fact.faults = fact.error.as_ref().map(|(_, text)| faults(text));
        if kind == MessageKind::Nack
            && let Some(n) = row.n()
            && let Some(track) = row.track.and_then(|track| stream.tracks.get(usize::from(track)))
        {
            fact.keeps = track.verdicts.nack(n).and_then(|nack| nack.keeps.clone());
        }
        fact.other_reading = line.remark.other_reading;
        fact.note = line.remark.note;
        if !self.history.has_message(row) {
            fact.note.get_or_insert_with(|| Arc::new(RowNote::NotKept));
        }
        let mut fact = LineFact { row: fact, added: 0, changed: 0, removed: 0, one: None };
        if let Some(names) = &line.remark.names {
            self.add_changes(&mut fact, row, names);
        }
        Some((fact, line.remark.names))
    }

    /// Adds the counts of changed names to a fact, and the name if there is exactly one.
    fn add_changes(&self, fact: &mut LineFact, row: &Row, names: &Names) {
        fact.added = match &names.added {
            // Without the message, the names are unknown.
            Which::All if self.history.has_message(row) => fact.row.count,
            Which::Nothing | Which::All => 0,
            Which::These(names) => names.len() as u64,
        };
        fact.changed = names.changed.len() as u64;
        fact.removed = names.removed.len() as u64;
        let only = match (fact.added, &names.added, &names.removed[..]) {
            (0, _, [only]) => Some(*only),
            (1, Which::These(added), []) => added.first().copied(),
            (1, Which::All, []) => {
                let message = self.history.message_of(row, &self.catalog);
                message.and_then(|message| self.carried(&message).next())
            }
            _ => None,
        };
        fact.one = only.map(|name| self.text(name));
    }

    /// Returns a row with its names and details.
    pub(super) fn message_fact(&self, index: usize, row: &Row) -> Option<MessageFact> {
        let (line, changes) = self.line_of(row)?;
        let message = self.history.message_of(row, &self.catalog);
        let carried = message.iter().flat_map(|message| self.carried(message));
        let names: Vec<_> = carried.map(|name| self.text(name)).collect();
        let changes = changes.unwrap_or_default();
        let stream = self.engine.streams().get(row.stream as usize);
        let details =
            stream.map(|stream| MessageRow { store: self, index, row, stream }.details(message.as_deref()));
        let texts = |syms: &[Sym]| syms.iter().map(|sym| self.text(*sym)).collect();
        Some(MessageFact {
            details: details.unwrap_or_default(),
            row: line.row,
            added: match &changes.added {
                Which::Nothing => Vec::new(),
                Which::All => names.clone(),
                Which::These(syms) => texts(syms),
            },
            changed: texts(&changes.changed),
            removed: texts(&changes.removed),
            names,
        })
    }

    /// Returns the names in a message.
    fn carried<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = Sym> + 'a {
        let (names, locators): (&[Sym], &[Sym]) =
            message.request().map_or((&[], &[]), |request| (request.names, request.locators));
        let blobs = message.resources().map_or(&[][..], |list| list.blobs());
        let keys = blobs.iter().map(|id| crate::session::key(&self.catalog, *id));
        names.iter().chain(locators).copied().chain(keys)
    }

    /// Returns a row without its texts, in constant time.
    pub fn exchange(&self, index: usize) -> Option<Exchange> {
        let row = self.history.get(index)?;
        let kind = self.kind_of_row(row);
        let answers = self.answered_by(row, kind);
        Some(Exchange {
            at: row.at,
            stream: row.id,
            track: row.track,
            kind,
            implied: row.implied && kind == row.kind,
            latency: answers.and_then(|_| self.waited(row)),
            bytes: row.bytes.into(),
        })
    }

    /// Returns the message that a row answers, unless the row counts as another kind.
    fn answered_by(&self, row: &Row, kind: MessageKind) -> Option<Seq> {
        if kind == row.kind { row.answers() } else { None }
    }

    /// Returns the time since the message that a row answers; `None` in a source without times.
    fn waited(&self, row: &Row) -> Option<Duration> {
        if self.clock.untimed { None } else { row.waited() }
    }

    /// Returns the time of a message; `None` in a source without timestamps.
    fn timestamp(&self, n: Seq) -> Option<Time> {
        if self.clock.untimed { None } else { self.row_time(self.history.row_of(n)?) }
    }

    /// Returns the time of a row.
    pub fn row_time(&self, index: usize) -> Option<Time> {
        self.history.get(index).map(|row| row.at)
    }

    /// Returns the number of rows up to a time, of those that were not dropped.
    pub fn rows_until(&self, at: Time) -> usize {
        self.history.rows_until(at)
    }

    /// Returns the number of rows up to the first one whose node may be stated at any moment.
    ///
    /// A client states its node in its first request, and the row of the stream's beginning has the
    /// node. The rows before `from` are known to have theirs.
    pub fn settled_rows(&self, from: usize) -> usize {
        let is_settled = |index: &usize| self.history.get(*index).is_none_or(|row| !self.awaits_node(row));
        (from..self.rows()).take_while(is_settled).count() + from
    }

    /// Whether the client of a stream that begins may state its node at any moment.
    fn awaits_node(&self, row: &Row) -> bool {
        let Some(stream) = self.engine.streams().get(row.stream as usize) else { return false };
        row.kind == MessageKind::Open
            && stream.method.is_some()
            && stream.peers.node_id.is_none()
            && stream.traffic.messages == 0
            && stream.closed.is_none()
            && self.now.since(row.at) < Store::FIRST_REQUEST_TIME
    }

    /// Returns the messages of an intervention, if they are kept.
    pub fn intervention(&self, fact: &MessageFact) -> Option<Arc<Intervention>> {
        let Some(RowNote::Intercepted(facts)) = fact.note.as_deref() else { return None };
        let stream = self.engine.stream(fact.stream)?;
        let number = stream.interventions.iter().position(|other| Arc::ptr_eq(other, facts))?;
        self.interventions.get(fact.stream, number)
    }

    pub(super) fn row_place(&self, row: &Row) -> Option<(StreamId, TypeUrl)> {
        let stream = self.engine.streams().get(row.stream as usize)?;
        let stated = || self.history.line(row).map(|line| line.type_url).unwrap_or_default();
        Some((stream.id, type_of(stream, row, stated)))
    }

    /// Returns the text of a key: a name, or the hash of content without a name.
    pub(crate) fn text(&self, key: Sym) -> Arc<str> {
        key_text(&self.catalog, key)
    }
}

/// Returns what became of the versions that a request states; `None` if it states none.
fn stated(stream: &Stream, row: &Row) -> Option<ReconnectCounts> {
    let track = stream.tracks.get(usize::from(row.track?))?;
    let claims = &track.carried.claims;
    (claims.stated_by.is_some() && claims.stated_by == row.n()).then(|| claims.counts())
}

/// Returns the type of a message. `stated` is the type URL in the message.
fn type_of(stream: &Stream, row: &Row, stated: impl FnOnce() -> TypeUrl) -> TypeUrl {
    if row.n().is_none() && !matches!(row.kind, MessageKind::Intercepted | MessageKind::Gap) {
        return TypeUrl::default();
    }
    if let Some(track) = row.track.and_then(|track| stream.tracks.get(usize::from(track))) {
        return track.type_url.clone();
    }
    let implied = || stream.method.as_ref().and_then(|method| method.implied_type());
    Some(stated()).filter(|url| !url.is_empty()).or_else(implied).unwrap_or_default()
}

pub(super) fn key_text(catalog: &Catalog, key: Sym) -> Arc<str> {
    match crate::session::nameless(key) {
        Some(blob) => format!("#{:012x}", catalog.blob(blob).hash >> 80).into(),
        None => catalog.text(key).into(),
    }
}

/// Returns the remark on a row without a message.
fn life(stream: &Stream, row: &Row) -> Option<RowNote> {
    let kind = row.kind;
    if kind == MessageKind::Intercepted {
        let facts = stream.interventions.get(row.same as usize);
        return Some(facts.map_or(RowNote::NotKept, |facts| RowNote::Intercepted(facts.clone())));
    }
    if kind == MessageKind::Open {
        return Some(RowNote::Opened { method: stream.open.method.clone(), tls: stream.open.tls.clone() });
    }
    if kind == MessageKind::Unchanged {
        return Some(RowNote::Unchanged);
    }
    if let Some(gap) = row.gap() {
        return Some(RowNote::Gap(gap.part));
    }
    stream.closed.as_ref().map(|(_, end)| RowNote::Closed(EndFact::from(end)))
}
