//! Lint rules: which rules of the protocol were broken, by whom, and where.
//!
//! Each rule is a file in `rules`, whose first comment is its manual. Rules listen to the outcomes
//! of the engine, and remember further facts in a bounded state per track, stream and source.
//! Equal frames always give equal findings, because time is an argument. Rules that need the full
//! history of a stream are silent in captures that began in the middle of a stream, and after lost
//! or undecodable messages.

#![warn(missing_docs)]

mod alarm;
mod bootstrap;
mod client;
mod context;
#[cfg(test)]
mod cost_tests;
mod driver;
mod exchange;
mod findings;
mod memory;
mod prelude;
mod relay;
mod rule;
mod rules;
mod scan;
mod structured_names;
#[cfg(test)]
mod tests;

use xdscope_wire::xdstp::lists as structured;

pub use bootstrap::Bootstrap;
pub use driver::Lint;
pub(crate) use findings::finding::NO_LISTENERS;
pub use findings::finding::{Blame, Finding};
pub use rule::catalog::{rule, rules};
pub use rule::options::{Constraints, KnownTypes, Links, Options, Reference, Timers};
pub use rule::{Rule, Sentence, Severity, Subject};
