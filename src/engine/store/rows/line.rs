//! The summary of a message that a row keeps when the message is dropped.

use std::sync::Arc;

use crate::session::{EventEntry, MessageKind, OtherReading};
use xdscope_wire::event::{Dir, Seq, Sym, TypeUrl, VersionInfo};
use xdscope_wire::pb::plain::{Put, Take};
use xdscope_wire::{Message, MessageBody};

use super::row_note::RowNote;

pub(crate) struct TimelineLine {
    pub(crate) dir: Dir,
    pub(crate) version: Arc<str>,
    pub(crate) nonce: Arc<str>,
    pub(crate) count: u64,
    pub(crate) size: u64,
    pub(crate) error: Option<(i32, Arc<str>)>,
    /// The type URL as sent.
    pub(crate) type_url: TypeUrl,
    pub(crate) remark: Remark,
}

/// The remarks of a row on its message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remark {
    pub(crate) note: Option<Arc<RowNote>>,
    /// The reading of a request that does not count, if there are two.
    pub(crate) other_reading: Option<OtherReading>,
    pub(crate) names: Option<Arc<Names>>,
    pub(crate) events: Option<Arc<[EventEntry]>>,
}

/// The names that a row changed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Names {
    pub(crate) added: Which,
    pub(crate) changed: Box<[Sym]>,
    pub(crate) removed: Box<[Sym]>,
}

/// The names of a row: all names of the message, or a list.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Which {
    #[default]
    Nothing,
    All,
    These(Box<[Sym]>),
}

impl TimelineLine {
    pub(crate) fn from_message(message: &Message, remark: &Remark) -> TimelineLine {
        let (version, nonce) = version_and_nonce(message);
        TimelineLine {
            dir: message.dir(),
            version: Arc::from(version),
            nonce: Arc::from(nonce),
            count: count(message),
            size: message.size,
            error: message.error_detail().map(|error| (error.code, error.message.clone())),
            type_url: message.type_url(),
            remark: match &message.body {
                MessageBody::Undecodable { reason } => {
                    let note = RowNote::Undecodable(reason.to_string().into());
                    Remark { note: Some(Arc::new(note)), ..remark.clone() }
                }
                _ => remark.clone(),
            },
        }
    }

    /// Encodes the line for [`TimelineLine::unpack`]. The type is left out if the row has it.
    pub(crate) fn pack(&self, typed: bool) -> Vec<u8> {
        let mut put = Put::default();
        put.flag(self.dir == Dir::Req);
        put.text(&self.version);
        put.text(&self.nonce);
        put.number(self.count);
        put.number(self.size);
        put.maybe(self.error.as_ref(), |put, (code, message)| {
            put.number(u64::from(*code as u32));
            put.text(message);
        });
        put.text(if typed { "" } else { self.type_url.as_str() });
        put.maybe(self.remark.note.as_deref(), |put, note| note.pack(put));
        put.maybe(self.remark.other_reading, |put, other| {
            let kind = MessageKind::ALL.iter().position(|kind| *kind == other.kind).unwrap_or_default();
            put.number(kind as u64);
            put.maybe(other.answers, |put, n| put.number(n.0));
        });
        put.maybe(self.remark.names.as_deref(), |put, names| {
            let these = match &names.added {
                Which::Nothing => None,
                Which::All => Some(None),
                Which::These(these) => Some(Some(these)),
            };
            put.maybe(these, |put, these| put.maybe(these, |put, these| syms(put, these)));
            syms(put, &names.changed);
            syms(put, &names.removed);
        });
        put.maybe(self.remark.events.as_deref(), |put, events| {
            put.each(events.iter(), |put, event| event.put(put));
        });
        put.0
    }

    /// Decodes a line of [`TimelineLine::pack`]; `None` for other bytes.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<TimelineLine> {
        let take = &mut Take::new(bytes);
        Some(TimelineLine {
            dir: if take.flag()? { Dir::Req } else { Dir::Resp },
            version: take.text()?.into(),
            nonce: take.text()?.into(),
            count: take.number()?,
            size: take.number()?,
            error: take.maybe(|take| Some((take.small()? as i32, take.text()?.into())))?,
            type_url: TypeUrl::from(take.text()?),
            remark: Remark {
                note: take.maybe(RowNote::unpack)?.map(Arc::new),
                other_reading: take.maybe(other_reading)?,
                names: take.maybe(names)?,
                events: take.maybe(|take| take.each(EventEntry::take))?.map(Arc::from),
            },
        })
    }
}

fn other_reading(take: &mut Take<'_>) -> Option<OtherReading> {
    let kind = *MessageKind::ALL.get(take.small()? as usize)?;
    Some(OtherReading { kind, answers: take.maybe(Take::number)?.map(Seq) })
}

fn names(take: &mut Take<'_>) -> Option<Arc<Names>> {
    let these = |take: &mut Take<'_>| Some(take.ids()?.into_iter().map(Sym).collect());
    let added = match take.maybe(|take| take.maybe(these))? {
        None => Which::Nothing,
        Some(None) => Which::All,
        Some(Some(these)) => Which::These(these),
    };
    Some(Arc::new(Names { added, changed: these(take)?, removed: these(take)? }))
}

fn syms(put: &mut Put, syms: &[Sym]) {
    put.ids(syms.iter().map(|sym| sym.0));
}

/// Returns the names to keep: a list equal to all names of the message is not stored.
pub(crate) fn which(names: &[Sym], message: Option<&Message>) -> Which {
    let listed = |message: &Message| {
        let names = message.request().map(|request| request.names.len());
        names.or_else(|| message.resources().map(|list| list.len()))
    };
    let all = message.and_then(listed) == Some(names.len());
    match names.is_empty() {
        true => Which::Nothing,
        false if all => Which::All,
        false => Which::These(names.into()),
    }
}

/// Returns the number of names or resources in a message.
fn count(message: &Message) -> u64 {
    let names = message.request().map(|request| request.names.len() + request.locators.len());
    names.or_else(|| message.resources().map(|list| list.len())).unwrap_or_default() as u64
}

/// Returns the version (`version_info` or `system_version_info`) and the nonce of a message.
pub(crate) fn version_and_nonce(message: &Message) -> (&str, &str) {
    if let Some(request) = message.request() {
        return (request.version.map_or("", VersionInfo::as_str), request.response_nonce.as_str());
    }
    message.response().map_or(("", ""), |response| (response.version.as_str(), response.nonce.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::EventKind;

    #[test]
    fn a_line_is_what_was_put_away() {
        let names = |added| Arc::new(Names { added, changed: [Sym(9), Sym(3)].into(), removed: [].into() });
        let added = [Which::Nothing, Which::All, Which::These([Sym(1), Sym(0)].into())];
        let event = EventEntry { kind: EventKind::OnDemand, names: vec![Sym(4)], count: 9 };
        for (names, n) in added.map(names).map(Some).into_iter().chain([None]).zip(0..) {
            let line = TimelineLine {
                dir: if n % 2 == 0 { Dir::Req } else { Dir::Resp },
                version: "v".into(),
                nonce: "é".into(),
                count: n,
                size: u64::MAX,
                error: (n == 1).then(|| (-7, "no".into())),
                type_url: TypeUrl::from("t/A"),
                remark: Remark {
                    note: (n == 2).then(|| Arc::new(RowNote::Undecodable("odd".into()))),
                    other_reading: (n > 1).then(|| OtherReading {
                        kind: MessageKind::Close,
                        answers: (n == 3).then_some(Seq(7)),
                    }),
                    names,
                    events: (n == 3).then(|| Arc::from([event.clone()])),
                },
            };
            for typed in [false, true] {
                let back = TimelineLine::unpack(&line.pack(typed)).expect("a line");
                assert_eq!((back.dir, &back.version, &back.nonce), (line.dir, &line.version, &line.nonce));
                assert_eq!((back.count, back.size, &back.error), (line.count, line.size, &line.error));
                assert_eq!(back.type_url.as_str(), if typed { "" } else { "t/A" });
                assert_eq!(format!("{:?}", back.remark), format!("{:?}", line.remark));
            }
        }
    }
}
