//! The filter language of `/`, `--filter` and `:goto`: one language everywhere, checked while
//! typed.
//!
//! ```text
//! reviews kind:nack                 words match the row; a space is "and"
//! type:cds | type:eds !node:edge*   `|` or, `!` not, `( )` group, `*` glob, "quoted text" as it stands
//! name:/^rev/ size>1M lat>100ms     regular expressions and numbers
//! #478..#498 after:14:02            message numbers and times of day
//! has:eds_cluster_config field:connect_timeout=0s
//! ```
//!
//! Smart-case: a pattern without capital letters matches any case. Owns the language; knows no
//! screen, no table and no file. Content is looked up through [`Lookup`], which its caller
//! implements.

mod content;
mod eval;
mod filter_time;
mod lexer;
mod parse;
mod pattern;
mod term;
#[cfg(test)]
mod tests;
mod units;

use jiff::tz::TimeZone;

use crate::engine::store::{MessageFact, ResourceFact, StateFact, StateView, Store};

pub use content::{ContentLookup, NoContent};
pub use filter_time::FilterTime;
pub use term::FilterField;
pub use units::{bytes, duration};

use eval::FilterRow;
use parse::Expr;
use term::{Predicate, Term};

/// Why an expression can't be read: the byte where it breaks, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at column {}", .at + 1)]
pub struct FilterError {
    pub at: usize,
    pub reason: String,
}

/// What kind of row an expression is about to be used on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    Messages,
    States,
    Resources,
}

impl RowKind {
    pub const ALL: [RowKind; 3] = [RowKind::Messages, RowKind::States, RowKind::Resources];

    /// The word in messages: `messages`.
    pub fn word(self) -> &'static str {
        match self {
            RowKind::Messages => "messages",
            RowKind::States => "states",
            RowKind::Resources => "resources",
        }
    }
}

/// A parsed expression. The default one matches everything.
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
    /// Reads an expression; the empty one matches everything. Times of day are UTC until
    /// [`Filter::in_zone`].
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter { expr: parse::expression(text)?, zone: TimeZone::UTC })
    }

    /// The same expression with its times of day read in `zone`.
    pub fn in_zone(self, zone: TimeZone) -> Filter {
        Filter { zone, ..self }
    }

    /// Whether it matches everything because it says nothing.
    pub fn is_empty(&self) -> bool {
        self.expr.is_none()
    }

    /// Whether it asks for content (`has:`, `field:`), so that a [`Lookup`] is needed to answer it.
    pub fn needs_content(&self) -> bool {
        self.fields().any(|(field, _)| matches!(field, FilterField::Has | FilterField::Content))
    }

    /// Refuses fields that rows of this kind do not have: they would hide every row without a word.
    pub fn check(&self, rows: RowKind) -> Result<(), FilterError> {
        match self.fields().find(|(field, _)| !field.applies(rows)) {
            None => Ok(()),
            Some((field, at)) => {
                let reason = format!("`{}` says nothing about {}", field.word(), rows.word());
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

    /// Whether a row of the timeline matches, content not looked at (`has:` and `field:` match
    /// nothing).
    pub fn message(&self, fact: &MessageFact, store: &Store) -> bool {
        self.message_with(fact, store, &NoContent)
    }

    /// Whether a row of the timeline matches.
    pub fn message_with(&self, fact: &MessageFact, store: &Store, content: &dyn ContentLookup) -> bool {
        self.matches(&FilterRow::Message(fact), store, content)
    }

    /// Whether a state (stream and type) matches.
    pub fn state(&self, fact: &StateFact, store: &Store) -> bool {
        self.matches(&FilterRow::State(fact), store, &NoContent)
    }

    /// The same where its fact is not made.
    pub fn state_view(&self, view: &StateView<'_>, store: &Store) -> bool {
        self.matches(&FilterRow::View(view), store, &NoContent)
    }

    /// A word in lowercase letters of ASCII: a row with a text that has it somewhere, in any case,
    /// matches whatever else is known of it. `None`: there is no such word.
    pub fn plain_word(&self) -> Option<&str> {
        match &self.expr {
            Some(Expr::Term(Term { test: Predicate::Row(pattern), .. })) => pattern.plain(),
            _ => None,
        }
    }

    /// Whether a resource matches, content not looked at.
    pub fn resource(&self, fact: &ResourceFact, store: &Store) -> bool {
        self.resource_with(fact, store, &NoContent)
    }

    /// Whether a resource matches.
    pub fn resource_with(&self, fact: &ResourceFact, store: &Store, content: &dyn ContentLookup) -> bool {
        self.matches(&FilterRow::Resource(fact), store, content)
    }

    fn matches(&self, subject: &FilterRow<'_>, store: &Store, content: &dyn ContentLookup) -> bool {
        let at = eval::EvalContext { now: store.now(), clock: store.clock(), zone: &self.zone };
        self.expr.as_ref().is_none_or(|expr| eval::matches(expr, subject, &at, content))
    }
}
