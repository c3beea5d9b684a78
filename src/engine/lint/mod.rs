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
mod catalog;
mod check;
mod client;
mod content_changes;
mod contents;
mod context;
#[cfg(test)]
mod cost_tests;
mod driver;
mod exchange;
mod failed_series;
mod finding;
mod lasting;
mod memory;
mod note_request;
mod note_response;
mod on_demand;
mod options;
mod overdue;
mod past_events;
mod past_streams;
mod prelude;
mod references;
mod relay;
mod rule;
mod rules;
mod scan;
mod state;
mod structured_contents;
mod structured_names;
mod targets;
#[cfg(test)]
mod tests;
mod traffic_gaps;

use xdscope_wire::xdstp::lists as structured;

pub use bootstrap::Bootstrap;
pub use catalog::{rule, rules};
pub use driver::Lint;
pub use finding::{Blame, Finding};
pub use options::{Constraints, KnownTypes, Links, Options, Reference, Timers};
pub use rule::{Rule, Severity};
