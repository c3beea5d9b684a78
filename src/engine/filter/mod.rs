//! The filter language of `/`, `--filter` and `:goto`.
//!
//! ```text
//! reviews kind:nack                 words match the row; a space is "and"
//! type:cds | type:eds !node:edge*   `|` or, `!` not, `( )` group, `*` glob, "quoted text"
//! name:/^rev/ size>1M lat>100ms     regular expressions and numbers
//! #478..#498 after:14:02            message numbers and times of day
//! has:eds_cluster_config field:connect_timeout=0s
//! ```
//!
//! A pattern without capital letters matches any case. The caller provides the content of rows
//! through [`ContentLookup`].

#![warn(missing_docs)]

mod content;
mod eval;
mod filter_time;
mod lexer;
mod parse;
mod pattern;
mod term;
#[cfg(test)]
mod tests;
mod unknown;
mod wire;

use jiff::tz::TimeZone;

use crate::lint::Finding;
use crate::store::{MessageFact, ResourceFact, StateFact, StateView, Store};

pub use content::{ContentLookup, NoContent};
pub use filter_time::FilterTime;
pub use lexer::quoted_word;
pub(crate) use pattern::Pattern;
pub use term::{FilterField, state_words};
pub use unknown::{KnownValues, UnknownValue};
pub use wire::{OTHER_TYPE, WIRE_KINDS, WireStream};

use eval::FilterRow;
use parse::Expr;
use term::{Predicate, Term};

/// A syntax error in a filter expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at column {}", .at + 1)]
pub struct FilterError {
    /// Byte offset of the error.
    pub at: usize,
    /// The reason of the error.
    pub reason: String,
}

/// The kind of rows to filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Rows of the timeline.
    Messages,
    /// States of types on streams.
    States,
    /// Resources.
    Resources,
    /// Findings of the rules.
    Findings,
}

impl RowKind {
    /// All kinds of rows.
    pub const ALL: [RowKind; 4] = [RowKind::Messages, RowKind::States, RowKind::Resources, RowKind::Findings];

    /// Returns the plural for messages to users, such as `messages`.
    pub fn word(self) -> &'static str {
        match self {
            RowKind::Messages => "messages",
            RowKind::States => "states",
            RowKind::Resources => "resources",
            RowKind::Findings => "findings",
        }
    }
}

/// A parsed filter expression. The default matches everything.
#[derive(Clone, Debug)]
pub struct Filter {
    expr: Option<Expr>,
    zone: TimeZone,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { expr: None, zone: TimeZone::UTC }
    }
}

impl Filter {
    /// Parses an expression. The empty expression matches everything.
    ///
    /// Times of day are in UTC unless [`Filter::in_zone`] is called.
    ///
    /// # Errors
    ///
    /// Returns the position and reason of a syntax error.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter { expr: parse::expression(text)?, zone: TimeZone::UTC })
    }

    /// Sets the time zone for times of day.
    pub fn in_zone(self, zone: TimeZone) -> Filter {
        Filter { zone, ..self }
    }

    /// Whether the expression is empty and matches everything.
    pub fn is_empty(&self) -> bool {
        self.expr.is_none()
    }

    /// Whether the expression needs the content of rows (`has:`, `field:`) from a
    /// [`ContentLookup`].
    pub fn needs_content(&self) -> bool {
        self.fields().any(|(field, _)| matches!(field, FilterField::Has | FilterField::Content))
    }

    /// Checks that rows of this kind have all fields of the expression.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing field, which would otherwise silently hide all rows.
    pub fn check(&self, rows: RowKind) -> Result<(), FilterError> {
        match self.fields().find(|(field, _)| !field.applies(rows)) {
            None => Ok(()),
            Some((field, at)) => {
                let reason = format!("`{}` does not apply to {}", field.word(), rows.word());
                Err(FilterError { at, reason })
            }
        }
    }

    fn fields(&self) -> impl Iterator<Item = (FilterField, usize)> {
        let mut found = Vec::new();
        if let Some(expr) = &self.expr {
            expr.visit(&mut |term| found.extend(term.field()));
        }
        found.into_iter()
    }

    /// Whether a row of the timeline matches without content. `has:` and `field:` never match.
    pub fn message(&self, fact: &MessageFact, store: &Store) -> bool {
        self.message_with(fact, store, &NoContent)
    }

    /// Whether a row of the timeline matches, with content from `content`.
    pub fn message_with(&self, fact: &MessageFact, store: &Store, content: &dyn ContentLookup) -> bool {
        self.matches(&FilterRow::Message(fact), store, content)
    }

    /// Whether the state of a type on a stream matches.
    pub fn state(&self, fact: &StateFact, store: &Store) -> bool {
        self.matches(&FilterRow::State(fact), store, &NoContent)
    }

    /// Whether the state in a view matches, without creating a [`StateFact`].
    pub fn state_view(&self, view: &StateView<'_>, store: &Store) -> bool {
        self.matches(&FilterRow::View(view), store, &NoContent)
    }

    /// Whether a finding matches.
    pub fn finding(&self, fact: &Finding, store: &Store) -> bool {
        self.matches(&FilterRow::Finding(fact), store, &NoContent)
    }

    /// Whether the expression is about rules, which only findings have.
    pub fn is_about_rules(&self) -> bool {
        self.fields().any(|(field, _)| field == FilterField::Rule)
    }

    /// Returns the word if the whole expression is a lower-case ASCII word.
    ///
    /// A row matches such an expression if any of its texts contains the word in any case.
    pub fn plain_word(&self) -> Option<&str> {
        match &self.expr {
            Some(Expr::Term(Term { test: Predicate::Row(pattern), .. })) => pattern.plain(),
            _ => None,
        }
    }

    /// Whether a resource matches without content. `has:` and `field:` never match.
    pub fn resource(&self, fact: &ResourceFact, store: &Store) -> bool {
        self.resource_with(fact, store, &NoContent)
    }

    /// Whether a resource matches, with content from `content`.
    pub fn resource_with(&self, fact: &ResourceFact, store: &Store, content: &dyn ContentLookup) -> bool {
        self.matches(&FilterRow::Resource(fact), store, content)
    }

    fn matches(&self, subject: &FilterRow<'_>, store: &Store, content: &dyn ContentLookup) -> bool {
        let (now, clock) = (store.now(), store.clock());
        let at = eval::EvalContext { now, clock, zone: &self.zone, store: Some(store) };
        self.expr.as_ref().is_none_or(|expr| eval::matches(expr, subject, &at, content))
    }
}
