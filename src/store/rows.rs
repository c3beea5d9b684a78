//! Facts of the timeline, built from its compact rows.

use std::sync::Arc;

use crate::content::Catalog;
use crate::event::{Code, Seq, StreamId, Sym, TypeUrl};
use crate::session::{MessageKind, Stream};
use crate::wire::{Body, End, Message};

use super::history::{Content, Names, Row, Which, count, version_and_nonce};
use super::{LineFact, MessageFact, RowFact, Store};

impl Store {
    pub(super) fn line_fact(&self, row: &Row) -> Option<LineFact> {
        let stream = self.engine.streams().get(row.stream as usize)?;
        let answers = (row.answers > 0).then_some(Seq(row.answers));
        let asked = answers.and_then(|n| self.history.get(self.history.row_of(n)?));
        let mut fact = RowFact {
            n: (row.seq > 0).then_some(Seq(row.seq)),
            at: row.at,
            stream: stream.id,
            node: stream.node_id.clone(),
            dir: None,
            type_url: self.row_type(stream, row),
            kind: row.kind,
            class: row.class,
            implied: row.implied,
            version: Arc::from(""),
            nonce: Arc::from(""),
            answers,
            latency: asked.filter(|_| !self.clock.untimed).map(|asked| row.at.since(asked.at)),
            same: u64::from(row.same),
            count: 0,
            size: 0,
            error: None,
            partial: stream.open.partial,
            note: row.note.as_deref().map(str::to_owned),
        };
        match &row.content {
            Content::None => fact.note = Some(life(stream, row.kind)),
            Content::Whole(message) => {
                let (version, nonce) = version_and_nonce(message);
                fact.dir = Some(message.dir());
                fact.version = Arc::from(version);
                fact.nonce = Arc::from(nonce);
                fact.count = count(message);
                fact.size = message.size;
                fact.error = message.error_detail().map(|e| (Code(e.code), e.message.clone()));
                if let Body::Undecodable { reason } = &message.body {
                    fact.note = Some(format!("undecodable: {reason}"));
                }
            }
            Content::Dropped(dropped) => {
                fact.dir = Some(dropped.dir);
                fact.version = dropped.version.clone();
                fact.nonce = dropped.nonce.clone();
                fact.count = dropped.count;
                fact.size = dropped.size;
                fact.error = dropped.error.clone().map(|(code, message)| (Code(code), message));
                fact.note = Some("its content is not kept any more".into());
            }
        }
        let mut line = LineFact { row: fact, added: 0, changed: 0, removed: 0, one: None };
        if let Some(names) = &row.names {
            line.added = match &names.added {
                Which::Nothing => 0,
                Which::All => line.count,
                Which::These(names) => names.len() as u64,
            };
            line.changed = names.changed.len() as u64;
            line.removed = names.removed.len() as u64;
            let one = match (line.added, &names.added, &names.removed[..]) {
                (0, _, [one]) => Some(*one),
                (1, Which::These(added), []) => added.first().copied(),
                (1, Which::All, []) => {
                    self.message(Seq(row.seq)).and_then(|message| self.carried(message).next())
                }
                _ => None,
            };
            line.one = one.map(|name| self.text(name));
        }
        Some(line)
    }

    pub(super) fn message_fact(&self, row: &Row) -> Option<MessageFact> {
        let line = self.line_fact(row)?;
        let message = match &row.content {
            Content::Whole(message) => Some(&**message),
            _ => None,
        };
        let carried = message.into_iter().flat_map(|message| self.carried(message));
        let names: Vec<_> = carried.map(|name| self.text(name)).collect();
        let none = Names::default();
        let changes = row.names.as_deref().unwrap_or(&none);
        let texts = |syms: &[Sym]| syms.iter().map(|sym| self.text(*sym)).collect();
        Some(MessageFact {
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

    /// The names that a message carries.
    fn carried<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = Sym> + 'a {
        let (names, locators): (&[Sym], &[Sym]) = match &message.body {
            Body::SotwRequest(m) => (&m.resource_names, &m.resource_locators),
            Body::DeltaRequest(m) => (&m.subscribe, &m.locators_subscribe),
            _ => (&[], &[]),
        };
        let blobs = message.resources().map_or(&[][..], |list| list.blobs());
        let keys = blobs.iter().map(|id| crate::session::key(&self.catalog, *id));
        names.iter().chain(locators).copied().chain(keys)
    }

    pub(super) fn row_place(&self, row: &Row) -> Option<(StreamId, TypeUrl)> {
        let stream = self.engine.streams().get(row.stream as usize)?;
        Some((stream.id, self.row_type(stream, row)))
    }

    fn row_type(&self, stream: &Stream, row: &Row) -> TypeUrl {
        if row.seq == 0 {
            return TypeUrl::default();
        }
        let track = row.track.and_then(|track| stream.tracks.get(usize::from(track)));
        match track {
            Some(track) => track.type_url.clone(),
            None => {
                let implied = stream.method.as_ref().and_then(|method| method.implied_type());
                let stated = self.message(Seq(row.seq)).map(Message::type_url);
                stated.filter(|url| !url.is_empty()).or(implied).unwrap_or_default()
            }
        }
    }

    /// The text of a key: a name, or for content without one its hash.
    pub(crate) fn text(&self, key: Sym) -> Arc<str> {
        key_text(&self.catalog, key)
    }
}

pub(super) fn key_text(catalog: &Catalog, key: Sym) -> Arc<str> {
    match crate::session::nameless(key) {
        Some(blob) => format!("#{:012x}", catalog.blob(blob).hash >> 80).into(),
        None => catalog.text(key).into(),
    }
}

/// What the opening or the closing of a stream says.
fn life(stream: &Stream, kind: MessageKind) -> String {
    if kind == MessageKind::Open {
        let tls = &stream.open.tls;
        let parts = [stream.open.method.clone(), tls.legs(), tls.not_kept().unwrap_or_default()];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    }
    stream.closed.as_ref().map_or_else(String::new, |(_, end)| ending(end))
}

/// How a stream ended, in words: `UNAVAILABLE keepalive timeout`.
pub(super) fn ending(end: &End) -> String {
    let mut parts = Vec::new();
    if let Some((code, message)) = &end.status {
        parts.push(code.to_string());
        if !message.is_empty() {
            parts.push(message.clone());
        }
    }
    if let Some(reset) = end.reset {
        parts.push(format!("reset {reset}"));
    }
    if let Some(by) = end.by {
        parts.push(format!("by the {}", by.word()));
    }
    parts.extend(end.note.clone());
    parts.join(" ")
}
