use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch::Receiver;

use crate::peers::intercept::FaultSet;
use crate::schema::Schema;
use crate::wire::event::Time;

/// The faults of a tap, shared by its connections.
pub(in crate::net::tap) struct Armed {
    faults: Mutex<FaultSet>,
    pub(super) schema: Arc<Schema>,
    pub(super) start: Instant,
    /// Set when the tap stops.
    pub(super) stopped: Receiver<bool>,
}

impl Armed {
    pub(in crate::net::tap) fn new(faults: FaultSet, schema: Arc<Schema>, stopped: Receiver<bool>) -> Armed {
        Armed { faults: Mutex::new(faults), schema, start: Instant::now(), stopped }
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, FaultSet> {
        // A panic elsewhere leaves the counters as usable as before.
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
