//! Whether a row matches.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::engine::store::{MessageFact, ResourceFact, StateFact, StateView};
use crate::wire::event::{Clock, Kind, Seq, StreamId, Time, TypeUrl};

use super::content::Lookup;
use super::moment::FilterTime;
use super::parse::Expr;
use super::pattern::Pattern;
use super::term::{Field, Term, Test};

/// The row in question.
pub(super) enum Subject<'a> {
    Message(&'a MessageFact),
    State(&'a StateFact),
    /// The same, looked up as far as it is asked for.
    View(&'a StateView<'a>),
    Resource(&'a ResourceFact),
}

/// What times are measured against.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) clock: Clock,
    pub(super) zone: &'a TimeZone,
}

pub(super) fn matches(expr: &Expr, row: &Subject<'_>, at: &Context<'_>, content: &dyn Lookup) -> bool {
    match expr {
        Expr::Any(parts) => parts.iter().any(|part| matches(part, row, at, content)),
        Expr::All(parts) => parts.iter().all(|part| matches(part, row, at, content)),
        Expr::Not(inner) => !matches(inner, row, at, content),
        Expr::Term(term) => holds(term, row, at, content),
    }
}

fn holds(term: &Term, row: &Subject<'_>, at: &Context<'_>, content: &dyn Lookup) -> bool {
    let field = term.field().map(|(field, _)| field);
    match (&term.test, field) {
        (Test::Row(pattern), _) => row.any_text(&mut |text| pattern.matches(text)),
        (Test::Type { kind, url }, _) => is_type(row.type_url(), *kind, url),
        (Test::Stream(stream), _) => row.stream() == *stream,
        (Test::Text(pattern), Some(field)) => row.texts(field, &mut |text| pattern.matches(text)),
        (Test::Bytes(compare, bytes), _) => compare.holds(&row.size(), bytes),
        (Test::Time(compare, time), Some(Field::Lat)) => {
            row.latency().is_some_and(|latency| compare.holds(&latency, time))
        }
        (Test::Time(compare, time), _) => {
            row.since().is_some_and(|since| !at.clock.untimed && compare.holds(&at.now.since(since), time))
        }
        (Test::Count(compare, count), _) => row.count().is_some_and(|have| compare.holds(&have, count)),
        (Test::Numbers(from, to), _) => row.number().is_some_and(|n| (*from..=*to).contains(&n.0)),
        (Test::Moment(when), Some(field)) => at.is_on_side(row, when, field == Field::After),
        (Test::Content(path, value), _) => {
            let mut found = false;
            let mut see = |body: &serde_json::Value| {
                found = path.is_in(body, value.as_ref());
                found
            };
            match row {
                Subject::Message(fact) => fact.n.into_iter().for_each(|n| content.message(n, &mut see)),
                Subject::Resource(fact) => content.resource(fact, &mut see),
                Subject::State(_) | Subject::View(_) => {}
            }
            found
        }
        (Test::Text(_) | Test::Moment(_), None) => false,
    }
}

/// A known word means the kind in either API version; anything else the type URL, with or without its prefix,
/// or the last part of the message's name.
fn is_type(type_url: &TypeUrl, kind: Option<Kind>, url: &Pattern) -> bool {
    let text = type_url.as_str();
    if let (Some(wanted), Some((have, _))) = (kind, Kind::of_type_url(text)) {
        return wanted == have;
    }
    let message = text.rsplit('/').next().unwrap_or(text);
    let last = message.rsplit('.').next().unwrap_or(message);
    let word = Kind::of_type_url(text).map_or("", |(kind, _)| kind.word());
    [text, message, last, word].into_iter().any(|text| !text.is_empty() && url.matches(text))
}

impl Context<'_> {
    fn is_on_side(&self, row: &Subject<'_>, when: &FilterTime, after: bool) -> bool {
        if let FilterTime::Message(limit) = when {
            return row.number().is_some_and(|n| if after { n > *limit } else { n < *limit });
        }
        let Some(since) = row.since().filter(|_| !self.clock.untimed) else { return false };
        let Some(limit) = when.nanos(self.clock, self.now, self.zone) else { return false };
        let since = i128::from(since.0);
        if after { since >= limit } else { since < limit }
    }
}

impl Subject<'_> {
    fn type_url(&self) -> &TypeUrl {
        match self {
            Subject::Message(fact) => &fact.type_url,
            Subject::State(fact) => &fact.type_url,
            Subject::View(view) => view.type_url(),
            Subject::Resource(fact) => &fact.type_url,
        }
    }

    fn stream(&self) -> StreamId {
        match self {
            Subject::Message(fact) => fact.stream,
            Subject::State(fact) => fact.stream,
            Subject::View(view) => view.stream(),
            Subject::Resource(fact) => fact.stream,
        }
    }

    fn node(&self) -> Option<&Arc<str>> {
        match self {
            Subject::Message(fact) => fact.node.as_ref(),
            Subject::State(fact) => fact.node.as_ref(),
            Subject::View(view) => view.node(),
            Subject::Resource(fact) => fact.node.as_ref(),
        }
    }

    fn number(&self) -> Option<Seq> {
        match self {
            Subject::Message(fact) => fact.n,
            Subject::State(fact) => fact.open_nack,
            Subject::View(view) => view.open_nack(),
            Subject::Resource(_) => None,
        }
    }

    fn since(&self) -> Option<Time> {
        match self {
            Subject::Message(fact) => Some(fact.at),
            Subject::State(fact) => Some(fact.since),
            Subject::View(view) => Some(view.since()),
            Subject::Resource(_) => None,
        }
    }

    fn latency(&self) -> Option<Duration> {
        let of = |ms: Option<(f64, f64)>| ms.and_then(|(p50, _)| Duration::try_from_secs_f64(p50 / 1e3).ok());
        match self {
            Subject::Message(fact) => fact.latency,
            Subject::State(fact) => of(fact.ack_ms),
            Subject::View(view) => of(view.ack_ms()),
            Subject::Resource(_) => None,
        }
    }

    fn size(&self) -> u64 {
        match self {
            Subject::Message(fact) => fact.size,
            Subject::State(fact) => fact.bytes,
            Subject::View(view) => view.bytes(),
            Subject::Resource(fact) => fact.size,
        }
    }

    fn count(&self) -> Option<u64> {
        match self {
            Subject::Message(fact) => Some(fact.count),
            Subject::State(fact) => Some(fact.resources),
            Subject::View(view) => Some(view.resources()),
            Subject::Resource(_) => None,
        }
    }

    /// Shows the texts of a field until `see` is content. Says whether it was.
    fn texts(&self, field: Field, see: &mut dyn FnMut(&str) -> bool) -> bool {
        fn any(list: &[Arc<str>], see: &mut dyn FnMut(&str) -> bool) -> bool {
            list.iter().any(|text| see(text))
        }
        match (field, self) {
            (Field::Node, row) => row.node().is_some_and(|node| see(node)),
            (Field::Dir, Subject::Message(fact)) => fact.dir.is_some_and(|dir| see(dir.word())),
            (Field::Kind, Subject::Message(fact)) => see(fact.kind.word()),
            (Field::Name, Subject::Message(fact)) => [&fact.names, &fact.added, &fact.changed, &fact.removed]
                .into_iter()
                .any(|list| any(list, see)),
            (Field::Version, Subject::Message(fact)) => see(&fact.version),
            (Field::Nonce, Subject::Message(fact)) => see(&fact.nonce),
            (Field::Err, Subject::Message(fact)) => fact.error.as_ref().is_some_and(|(_, text)| see(text)),
            (Field::State, Subject::State(fact)) => see(fact.state.word()),
            (Field::Name, Subject::State(fact)) => {
                [&fact.names, &fact.missing, &fact.absent].into_iter().any(|list| any(list, see))
            }
            (Field::Version, Subject::State(fact)) => {
                [&fact.in_force, &fact.offered].into_iter().flatten().any(|text| see(text))
            }
            (Field::Nonce, Subject::State(fact)) => {
                fact.nonce.iter().chain(&fact.pending).any(|text| see(text))
            }
            (Field::Err, Subject::State(fact)) => fact.nacks.iter().any(|nack| see(&nack.message)),
            (Field::State, Subject::View(view)) => see(view.state().word()),
            (Field::Name, Subject::View(view)) => view.any_name(see),
            (Field::Version, Subject::View(view)) => view.any_version(see),
            (Field::Nonce, Subject::View(view)) => view.any_nonce(see),
            (Field::Err, Subject::View(view)) => view.any_error(see),
            (Field::State, Subject::Resource(fact)) => see(fact.state.word()) || fact.refused && see("nack"),
            (Field::Name, Subject::Resource(fact)) => see(&fact.name) || any(&fact.aliases, see),
            (Field::Version, Subject::Resource(fact)) => {
                [&fact.version, &fact.acked_version].into_iter().flatten().any(|text| see(text))
            }
            _ => false,
        }
    }

    /// The same for everything that the row shows as text.
    fn any_text(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        const SHOWN: [Field; 8] = [
            Field::Node,
            Field::Kind,
            Field::Dir,
            Field::State,
            Field::Version,
            Field::Nonce,
            Field::Name,
            Field::Err,
        ];
        let url = self.type_url().as_str();
        let word = Kind::of_type_url(url).map_or(url, |(kind, _)| kind.word());
        see(word)
            || SHOWN.into_iter().any(|field| self.texts(field, see))
            || matches!(self, Subject::Message(fact) if fact.note.as_deref().is_some_and(see))
    }
}
