//! Whether a row matches.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::engine::store::{MessageFact, ResourceFact, StateFact, StateView};
use crate::wire::event::{Clock, Kind, Seq, StreamId, Time, TypeUrl};

use super::content::ContentLookup;
use super::filter_time::FilterTime;
use super::parse::Expr;
use super::pattern::Pattern;
use super::term::{FilterField, Predicate, Term};

/// The row in question.
pub(super) enum FilterRow<'a> {
    Message(&'a MessageFact),
    State(&'a StateFact),
    /// The same, looked up as far as it is asked for.
    View(&'a StateView<'a>),
    Resource(&'a ResourceFact),
}

/// What times are measured against.
pub(super) struct EvalContext<'a> {
    pub(super) now: Time,
    pub(super) clock: Clock,
    pub(super) zone: &'a TimeZone,
}

pub(super) fn matches(
    expr: &Expr,
    row: &FilterRow<'_>,
    at: &EvalContext<'_>,
    content: &dyn ContentLookup,
) -> bool {
    match expr {
        Expr::Any(parts) => parts.iter().any(|part| matches(part, row, at, content)),
        Expr::All(parts) => parts.iter().all(|part| matches(part, row, at, content)),
        Expr::Not(inner) => !matches(inner, row, at, content),
        Expr::Term(term) => holds(term, row, at, content),
    }
}

fn holds(term: &Term, row: &FilterRow<'_>, at: &EvalContext<'_>, content: &dyn ContentLookup) -> bool {
    let field = term.field().map(|(field, _)| field);
    match (&term.test, field) {
        (Predicate::Row(pattern), _) => row.any_text(&mut |text| pattern.matches(text)),
        (Predicate::Type { kind, url }, _) => is_type(row.type_url(), *kind, url),
        (Predicate::Stream(stream), _) => row.stream() == *stream,
        (Predicate::Text(pattern), Some(field)) => row.texts(field, &mut |text| pattern.matches(text)),
        (Predicate::Bytes(compare, bytes), _) => compare.holds(&row.size(), bytes),
        (Predicate::Time(compare, time), Some(FilterField::Lat)) => {
            row.latency().is_some_and(|latency| compare.holds(&latency, time))
        }
        (Predicate::Time(compare, time), _) => {
            row.since().is_some_and(|since| !at.clock.untimed && compare.holds(&at.now.since(since), time))
        }
        (Predicate::Count(compare, count), _) => row.count().is_some_and(|have| compare.holds(&have, count)),
        (Predicate::Numbers(from, to), _) => row.number().is_some_and(|n| (*from..=*to).contains(&n.0)),
        (Predicate::Moment(when), Some(field)) => at.is_on_side(row, when, field == FilterField::After),
        (Predicate::Content(path, value), _) => {
            let mut found = false;
            let mut see = |body: &serde_json::Value| {
                found = path.is_in(body, value.as_ref());
                found
            };
            match row {
                FilterRow::Message(fact) => fact.n.into_iter().for_each(|n| content.message(n, &mut see)),
                FilterRow::Resource(fact) => content.resource(fact, &mut see),
                FilterRow::State(_) | FilterRow::View(_) => {}
            }
            found
        }
        (Predicate::Text(_) | Predicate::Moment(_), None) => false,
    }
}

/// A known word means the kind in either API version; anything else the type URL, with or without
/// its prefix, or the last part of the message's name.
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

impl EvalContext<'_> {
    fn is_on_side(&self, row: &FilterRow<'_>, when: &FilterTime, after: bool) -> bool {
        if let FilterTime::Message(limit) = when {
            return row.number().is_some_and(|n| if after { n > *limit } else { n < *limit });
        }
        let Some(since) = row.since().filter(|_| !self.clock.untimed) else { return false };
        let Some(limit) = when.nanos(self.clock, self.now, self.zone) else { return false };
        let since = i128::from(since.0);
        if after { since >= limit } else { since < limit }
    }
}

impl FilterRow<'_> {
    fn type_url(&self) -> &TypeUrl {
        match self {
            FilterRow::Message(fact) => &fact.type_url,
            FilterRow::State(fact) => &fact.type_url,
            FilterRow::View(view) => view.type_url(),
            FilterRow::Resource(fact) => &fact.type_url,
        }
    }

    fn stream(&self) -> StreamId {
        match self {
            FilterRow::Message(fact) => fact.stream,
            FilterRow::State(fact) => fact.stream,
            FilterRow::View(view) => view.stream(),
            FilterRow::Resource(fact) => fact.stream,
        }
    }

    fn node(&self) -> Option<&Arc<str>> {
        match self {
            FilterRow::Message(fact) => fact.node.as_ref(),
            FilterRow::State(fact) => fact.node.as_ref(),
            FilterRow::View(view) => view.node(),
            FilterRow::Resource(fact) => fact.node.as_ref(),
        }
    }

    fn number(&self) -> Option<Seq> {
        match self {
            FilterRow::Message(fact) => fact.n,
            FilterRow::State(fact) => fact.open_nack,
            FilterRow::View(view) => view.open_nack(),
            FilterRow::Resource(_) => None,
        }
    }

    fn since(&self) -> Option<Time> {
        match self {
            FilterRow::Message(fact) => Some(fact.at),
            FilterRow::State(fact) => Some(fact.since),
            FilterRow::View(view) => Some(view.since()),
            FilterRow::Resource(_) => None,
        }
    }

    fn latency(&self) -> Option<Duration> {
        let of = |ms: Option<(f64, f64)>| ms.and_then(|(p50, _)| Duration::try_from_secs_f64(p50 / 1e3).ok());
        match self {
            FilterRow::Message(fact) => fact.latency,
            FilterRow::State(fact) => of(fact.ack_ms),
            FilterRow::View(view) => of(view.ack_ms()),
            FilterRow::Resource(_) => None,
        }
    }

    fn size(&self) -> u64 {
        match self {
            FilterRow::Message(fact) => fact.size,
            FilterRow::State(fact) => fact.bytes,
            FilterRow::View(view) => view.bytes(),
            FilterRow::Resource(fact) => fact.size,
        }
    }

    fn count(&self) -> Option<u64> {
        match self {
            FilterRow::Message(fact) => Some(fact.count),
            FilterRow::State(fact) => Some(fact.resources),
            FilterRow::View(view) => Some(view.resources()),
            FilterRow::Resource(_) => None,
        }
    }

    /// Shows the texts of a field until `see` is content. Says whether it was.
    fn texts(&self, field: FilterField, see: &mut dyn FnMut(&str) -> bool) -> bool {
        fn any(list: &[Arc<str>], see: &mut dyn FnMut(&str) -> bool) -> bool {
            list.iter().any(|text| see(text))
        }
        match (field, self) {
            (FilterField::Node, row) => row.node().is_some_and(|node| see(node)),
            (FilterField::Dir, FilterRow::Message(fact)) => fact.dir.is_some_and(|dir| see(dir.word())),
            (FilterField::Kind, FilterRow::Message(fact)) => see(fact.kind.word()),
            (FilterField::Name, FilterRow::Message(fact)) => {
                [&fact.names, &fact.added, &fact.changed, &fact.removed]
                    .into_iter()
                    .any(|list| any(list, see))
            }
            (FilterField::Version, FilterRow::Message(fact)) => see(&fact.version),
            (FilterField::Nonce, FilterRow::Message(fact)) => see(&fact.nonce),
            (FilterField::Err, FilterRow::Message(fact)) => {
                fact.error.as_ref().is_some_and(|(_, text)| see(text))
            }
            (FilterField::State, FilterRow::State(fact)) => see(fact.state.word()),
            (FilterField::Name, FilterRow::State(fact)) => {
                [&fact.names, &fact.missing, &fact.absent].into_iter().any(|list| any(list, see))
            }
            (FilterField::Version, FilterRow::State(fact)) => {
                [&fact.in_force, &fact.offered].into_iter().flatten().any(|text| see(text))
            }
            (FilterField::Nonce, FilterRow::State(fact)) => {
                fact.nonce.iter().chain(&fact.pending).any(|text| see(text))
            }
            (FilterField::Err, FilterRow::State(fact)) => fact.nacks.iter().any(|nack| see(&nack.message)),
            (FilterField::State, FilterRow::View(view)) => see(view.state().word()),
            (FilterField::Name, FilterRow::View(view)) => view.any_name(see),
            (FilterField::Version, FilterRow::View(view)) => view.any_version(see),
            (FilterField::Nonce, FilterRow::View(view)) => view.any_nonce(see),
            (FilterField::Err, FilterRow::View(view)) => view.any_error(see),
            (FilterField::State, FilterRow::Resource(fact)) => {
                see(fact.state.word()) || fact.refused && see("nack")
            }
            (FilterField::Name, FilterRow::Resource(fact)) => see(&fact.name) || any(&fact.aliases, see),
            (FilterField::Version, FilterRow::Resource(fact)) => {
                [&fact.version, &fact.acked_version].into_iter().flatten().any(|text| see(text))
            }
            _ => false,
        }
    }

    /// The same for everything that the row shows as text.
    fn any_text(&self, see: &mut dyn FnMut(&str) -> bool) -> bool {
        const SHOWN: [FilterField; 8] = [
            FilterField::Node,
            FilterField::Kind,
            FilterField::Dir,
            FilterField::State,
            FilterField::Version,
            FilterField::Nonce,
            FilterField::Name,
            FilterField::Err,
        ];
        let url = self.type_url().as_str();
        let word = Kind::of_type_url(url).map_or(url, |(kind, _)| kind.word());
        see(word)
            || SHOWN.into_iter().any(|field| self.texts(field, see))
            || matches!(self, FilterRow::Message(fact) if fact.note.as_deref().is_some_and(see))
    }
}
