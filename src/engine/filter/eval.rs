//! Evaluation of an expression on a row.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::lint::Finding;
use crate::owners::{owners_of_message, owners_of_resource};
use crate::store::{MessageFact, ResourceFact, StateFact, StateView, Store, TypeState};
use xdscope_schema::owners::Owner;
use xdscope_wire::event::{Clock, Kind, Seq, StreamId, Time, TypeUrl};

use super::content::ContentLookup;
use super::filter_time::FilterTime;
use super::parse::Expr;
use super::pattern::Pattern;
use super::term::{FilterField, MISSING, Predicate, Term};

pub(super) enum FilterRow<'a> {
    Message(&'a MessageFact),
    State(&'a StateFact),
    /// The state of a type, with values looked up on demand.
    View(&'a StateView<'a>),
    Resource(&'a ResourceFact),
    Finding(&'a Finding),
}

/// The clock for times in the expression.
pub(super) struct EvalContext<'a> {
    pub(super) now: Time,
    pub(super) clock: Clock,
    pub(super) zone: &'a TimeZone,
    /// `None` while a message passes.
    pub(super) store: Option<&'a Store>,
}

/// Whether a row matches an expression.
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

/// Whether a row passes the test of one term.
fn holds(term: &Term, row: &FilterRow<'_>, at: &EvalContext<'_>, content: &dyn ContentLookup) -> bool {
    let field = term.field().map(|(field, _)| field);
    match (&term.test, field) {
        (Predicate::Row(pattern), _) => row.any_text(&mut |text| pattern.matches(text)),
        (Predicate::Type { kind, url }, _) => matches_type(row.type_url(), *kind, url),
        (Predicate::Stream(stream), _) => row.stream() == *stream,
        (Predicate::Text(pattern), Some(FilterField::Owner)) => row.has_owner(at.store, pattern),
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
        (Predicate::Point(when), Some(field)) => at.is_on_side(row, when, field == FilterField::After),
        (Predicate::Content(path, value), _) => {
            let mut found = false;
            let mut visit = |body: &serde_json::Value| {
                found = path.is_in(body, value.as_ref());
                found
            };
            match row {
                FilterRow::Message(fact) => {
                    if let Some(n) = fact.n {
                        content.message(n, &mut visit);
                    }
                }
                FilterRow::Resource(fact) => content.resource(fact, &mut visit),
                FilterRow::State(_) | FilterRow::View(_) | FilterRow::Finding(_) => {}
            }
            found
        }
        (Predicate::Text(_) | Predicate::Point(_), None) => false,
    }
}

/// Whether a type matches a type word or pattern.
///
/// A known word stands for the type in both API versions. A pattern matches the type URL, with or
/// without its prefix, or the last part of the message name.
pub(super) fn matches_type(type_url: &TypeUrl, kind: Option<Kind>, url: &Pattern) -> bool {
    let text = type_url.as_str();
    if let (Some(wanted), Some((have, _))) = (kind, Kind::of_type_url(text)) {
        return wanted == have;
    }
    let message = text.rsplit('/').next().unwrap_or(text);
    let last = message.rsplit('.').next().unwrap_or(message);
    let word = Kind::of_type_url(text).map_or("", |(kind, _)| kind.word());
    [text, message, last, word].into_iter().any(|text| !text.is_empty() && url.matches(text))
}

/// Passes the words of a state to `visit`: a type that misses a resource is `missing` too.
fn state_texts(state: TypeState, visit: &mut dyn FnMut(&str) -> bool) -> bool {
    visit(state.word()) || state == TypeState::Miss && visit(MISSING)
}

impl EvalContext<'_> {
    /// Whether a row comes after a time or a message, or before it.
    fn is_on_side(&self, row: &FilterRow<'_>, when: &FilterTime, after: bool) -> bool {
        if let FilterTime::Message(limit) = when {
            return row.number().is_some_and(|n| if after { n > *limit } else { n < *limit });
        }
        if self.clock.untimed {
            return false;
        }
        let Some(since) = row.since() else { return false };
        let Some(limit) = when.nanos(self.clock, self.now, self.zone) else { return false };
        let since = i128::from(since.0);
        if after { since >= limit } else { since < limit }
    }
}

impl FilterRow<'_> {
    fn type_url(&self) -> &TypeUrl {
        match self {
            FilterRow::Message(fact) => &fact.type_url,
            FilterRow::State(fact) => &fact.summary.type_url,
            FilterRow::View(view) => view.type_url(),
            FilterRow::Resource(fact) => &fact.type_url,
            FilterRow::Finding(fact) => &fact.type_url,
        }
    }

    fn stream(&self) -> StreamId {
        match self {
            FilterRow::Message(fact) => fact.stream,
            FilterRow::State(fact) => fact.summary.stream,
            FilterRow::View(view) => view.stream(),
            FilterRow::Resource(fact) => fact.stream,
            FilterRow::Finding(fact) => fact.stream,
        }
    }

    fn node(&self) -> Option<&Arc<str>> {
        match self {
            FilterRow::Message(fact) => fact.node.as_ref(),
            FilterRow::State(fact) => fact.summary.node.as_ref(),
            FilterRow::View(view) => view.node(),
            FilterRow::Resource(fact) => fact.node.as_ref(),
            FilterRow::Finding(fact) => fact.node.as_ref(),
        }
    }

    fn number(&self) -> Option<Seq> {
        match self {
            FilterRow::Message(fact) => fact.n,
            FilterRow::State(fact) => fact.summary.open_nack.map(|(n, _)| n),
            FilterRow::View(view) => view.open_nack(),
            FilterRow::Finding(fact) => fact.at,
            FilterRow::Resource(_) => None,
        }
    }

    fn since(&self) -> Option<Time> {
        match self {
            FilterRow::Message(fact) => Some(fact.at),
            FilterRow::State(fact) => Some(fact.summary.since),
            FilterRow::View(view) => Some(view.since()),
            FilterRow::Finding(fact) => Some(fact.first),
            FilterRow::Resource(_) => None,
        }
    }

    fn latency(&self) -> Option<Duration> {
        let median =
            |ms: Option<(f64, f64)>| ms.and_then(|(p50, _)| Duration::try_from_secs_f64(p50 / 1e3).ok());
        match self {
            FilterRow::Message(fact) => fact.latency,
            FilterRow::State(fact) => median(fact.verdicts.ack_ms),
            FilterRow::View(view) => median(view.ack_ms()),
            FilterRow::Resource(_) | FilterRow::Finding(_) => None,
        }
    }

    fn size(&self) -> u64 {
        match self {
            FilterRow::Message(fact) => fact.size,
            FilterRow::State(fact) => fact.traffic.bytes,
            FilterRow::View(view) => view.bytes(),
            FilterRow::Resource(fact) => fact.size,
            FilterRow::Finding(_) => 0,
        }
    }

    fn count(&self) -> Option<u64> {
        match self {
            FilterRow::Message(fact) => Some(fact.count),
            FilterRow::State(fact) => Some(fact.summary.resources),
            FilterRow::View(view) => Some(view.resources()),
            FilterRow::Resource(_) | FilterRow::Finding(_) => None,
        }
    }

    /// Whether a resource of the row has an owner like `VirtualService/shop/reviews`.
    fn has_owner(&self, store: Option<&Store>, pattern: &Pattern) -> bool {
        let Some(store) = store else { return false };
        let mut owners: Box<dyn Iterator<Item = Owner>> = match self {
            FilterRow::Resource(fact) => Box::new(owners_of_resource(store.catalog(), fact).into_iter()),
            FilterRow::Message(fact) => match fact.n {
                Some(n) => Box::new(owners_of_message(store, n)),
                None => return false,
            },
            FilterRow::State(_) | FilterRow::View(_) | FilterRow::Finding(_) => return false,
        };
        owners.any(|owner| pattern.matches(&owner.path()))
    }

    /// Passes the texts of a field to `visit` until `visit` returns true. Returns whether it did.
    fn texts(&self, field: FilterField, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        fn any(list: &[Arc<str>], visit: &mut dyn FnMut(&str) -> bool) -> bool {
            list.iter().any(|text| visit(text))
        }
        match (field, self) {
            (FilterField::Node, row) => row.node().is_some_and(|node| visit(node)),
            (FilterField::Dir, FilterRow::Message(fact)) => fact.dir.is_some_and(|dir| visit(dir.word())),
            (FilterField::Kind, FilterRow::Message(fact)) => visit(fact.kind.word()),
            (FilterField::Name, FilterRow::Message(fact)) => {
                [&fact.names, &fact.added, &fact.changed, &fact.removed]
                    .into_iter()
                    .any(|list| any(list, visit))
            }
            (FilterField::Version, FilterRow::Message(fact)) => visit(&fact.version),
            (FilterField::Nonce, FilterRow::Message(fact)) => visit(&fact.nonce),
            (FilterField::Err, FilterRow::Message(fact)) => {
                fact.error.as_ref().is_some_and(|(_, text)| visit(text))
            }
            (FilterField::State, FilterRow::State(fact)) => state_texts(fact.summary.state, visit),
            (FilterField::Name, FilterRow::State(fact)) => {
                [&fact.subscription.names, &fact.subscription.missing, &fact.subscription.absent]
                    .into_iter()
                    .any(|list| any(list, visit))
            }
            (FilterField::Version, FilterRow::State(fact)) => {
                [&fact.versions.in_force, &fact.versions.offered]
                    .into_iter()
                    .flatten()
                    .any(|text| visit(text))
            }
            (FilterField::Nonce, FilterRow::State(fact)) => {
                fact.nonce.iter().chain(&fact.pending).any(|text| visit(text))
            }
            (FilterField::Err, FilterRow::State(fact)) => {
                fact.verdicts.nacks.iter().any(|nack| visit(&nack.message))
            }
            (FilterField::State, FilterRow::View(view)) => state_texts(view.state(), visit),
            (FilterField::Name, FilterRow::View(view)) => view.any_name(visit),
            (FilterField::Version, FilterRow::View(view)) => view.any_version(visit),
            (FilterField::Nonce, FilterRow::View(view)) => view.any_nonce(visit),
            (FilterField::Err, FilterRow::View(view)) => view.any_error(visit),
            (FilterField::State, FilterRow::Resource(fact)) => {
                let is_missing = fact.is_missing();
                visit(fact.state.word())
                    || fact.refused && visit("nack")
                    || is_missing && (visit(MISSING) || visit(TypeState::Miss.word()))
            }
            (FilterField::Name, FilterRow::Resource(fact)) => visit(&fact.name) || any(&fact.aliases, visit),
            (FilterField::Version, FilterRow::Resource(fact)) => {
                [&fact.version, &fact.acked_version].into_iter().flatten().any(|text| visit(text))
            }
            (FilterField::Rule, FilterRow::Finding(fact)) => visit(fact.rule.id),
            (FilterField::Name, FilterRow::Finding(fact)) => any(&fact.names, visit),
            (FilterField::Err, FilterRow::Finding(fact)) => visit(&fact.text),
            _ => false,
        }
    }

    /// Passes all texts of the row to `visit` until `visit` returns true. Returns whether it did.
    fn any_text(&self, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        const SHOWN: [FilterField; 9] = [
            FilterField::Node,
            FilterField::Kind,
            FilterField::Dir,
            FilterField::State,
            FilterField::Version,
            FilterField::Nonce,
            FilterField::Name,
            FilterField::Err,
            FilterField::Rule,
        ];
        let url = self.type_url().as_str();
        let word = Kind::of_type_url(url).map_or(url, |(kind, _)| kind.word());
        visit(word)
            || SHOWN.into_iter().any(|field| self.texts(field, visit))
            || matches!(self, FilterRow::Message(fact) if fact.note.as_deref().is_some_and(|note| note.any_text(visit)))
    }
}
