//! Figures for monitoring: counts since the start, and gauges of one moment.
//!
//! Both come from the facts that `status`, `lint` and `log` print. [`MessageCounters`] count rows
//! once, because old rows are dropped; [`Gauges`] are computed when somebody asks.

#![warn(missing_docs)]

mod counters;
mod gauges;
mod type_label;

pub use crate::session::CacheCounts;
pub(crate) use counters::RowsBefore;
pub use counters::{MessageCounters, VerdictExample, VerdictTimes, direction};
pub use gauges::{Gauges, TypeGauges};
pub use type_label::{MAX_OTHER_TYPES, MAX_TYPE_URL_BYTES, TypeLabel};

use crate::lint::Finding;
use crate::store::Store;
use xdscope_wire::event::Clock;

/// The figures of a source at one moment.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Counts since the start.
    pub counters: MessageCounters,
    /// Figures of the moment.
    pub gauges: Gauges,
    /// The clock of the source.
    pub clock: Clock,
}

impl Figures {
    /// Computes the figures of a moment. `memory` is that of all facts, in bytes.
    pub(crate) fn measure(
        store: &Store,
        findings: &[Finding],
        memory: usize,
        counters: &MessageCounters,
    ) -> Figures {
        let gauges = Gauges { memory, ..Gauges::measure(store, findings, counters.labels()) };
        Figures { counters: counters.clone(), gauges, clock: store.clock() }
    }
}
