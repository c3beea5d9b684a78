use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch::{Receiver, Sender};

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
    /// The newest reset of all streams.
    resets: Sender<ResetAll>,
}

/// A reset of all streams.
#[derive(Debug, Default)]
struct ResetAll {
    /// Number of resets so far.
    count: u64,
    /// The fault.
    by: Arc<str>,
}

/// The resets that a connection has still to follow.
pub(super) struct ResetWatch {
    receiver: Receiver<ResetAll>,
    seen: u64,
}

impl ResetWatch {
    /// Waits for a reset.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as the tap.
        let _ = self.receiver.changed().await;
    }

    /// Returns the fault of a reset that was not followed yet.
    pub(super) fn take(&mut self) -> Option<Arc<str>> {
        let newest = self.receiver.borrow_and_update();
        let is_new = newest.count > std::mem::replace(&mut self.seen, newest.count);
        is_new.then(|| newest.by.clone())
    }
}

impl Armed {
    pub(in crate::net::tap) fn new(faults: FaultSet, schema: Arc<Schema>, stopped: Receiver<bool>) -> Armed {
        Armed {
            faults: Mutex::new(faults),
            schema,
            start: Instant::now(),
            stopped,
            resets: Sender::new(ResetAll::default()),
        }
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, FaultSet> {
        // A panic elsewhere leaves the counters as usable as before.
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches for resets from now on.
    pub(super) fn watch_resets(&self) -> ResetWatch {
        let receiver = self.resets.subscribe();
        let seen = receiver.borrow().count;
        ResetWatch { receiver, seen }
    }

    /// Resets all streams of all connections.
    pub(super) fn reset_all(&self, by: Arc<str>) {
        self.resets.send_modify(|newest| *newest = ResetAll { count: newest.count + 1, by });
    }

    pub(super) fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
