use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch::{Receiver, Sender, channel};

use super::hold_desk::HoldDesk;
use super::memory::ArmedMemory;
use crate::net::lock;
use xdscope_engine::filter::WireStream;
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::{ClientMemory, FaultSet, HoldOptions};

/// The settings that arm a tap.
#[derive(Clone)]
pub struct Arms {
    /// Faults, which act by themselves.
    pub faults: SharedFaults,
    /// The messages that a person holds; `None`: nobody can.
    pub desk: Option<Arc<HoldDesk>>,
    /// The descriptors to change resources by.
    pub schema: Arc<Schema>,
    /// Bytes that all armed connections may buffer.
    pub memory: usize,
}

/// The faults of a run, which may be replaced while it lasts.
#[derive(Clone, Default)]
pub struct SharedFaults(Arc<Mutex<FaultSet>>);

impl SharedFaults {
    /// Replaces the faults. Those that stay go on counting.
    pub fn renew(&self, newer: FaultSet) {
        self.lock().renew(newer);
    }

    /// Returns the faults.
    pub fn lock(&self) -> MutexGuard<'_, FaultSet> {
        lock(&self.0)
    }
}

impl From<FaultSet> for SharedFaults {
    fn from(faults: FaultSet) -> SharedFaults {
        SharedFaults(Arc::new(Mutex::new(faults)))
    }
}

/// The faults and held messages of a tap, shared by its connections.
pub(in crate::net::tap) struct Armed {
    faults: SharedFaults,
    pub(super) desk: Arc<HoldDesk>,
    pub(super) schema: Arc<Schema>,
    pub(super) memory: ArmedMemory,
    /// The resources of clients that differ from what their server sent.
    pub(super) clients: Arc<ClientMemory>,
    /// Set when the tap stops.
    pub(super) stopped: Receiver<bool>,
    /// The newest reset of all streams.
    resets: Sender<ResetAll>,
    /// Number of armed connections.
    connections: Sender<usize>,
    has_faults: bool,
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
    pub(in crate::net::tap) fn new(arms: Arms, stopped: Receiver<bool>) -> Armed {
        let Arms { faults, desk, schema, memory } = arms;
        let has_faults = !faults.lock().is_empty();
        let buffered = ArmedMemory::new(memory);
        Armed {
            has_faults,
            faults,
            desk: desk.unwrap_or_else(|| HoldDesk::new(HoldOptions::default())),
            schema,
            clients: Arc::new(ClientMemory::new(memory / 2, buffered.max_message())),
            memory: buffered,
            stopped,
            resets: Sender::new(ResetAll::default()),
            connections: channel(0).0,
        }
    }

    /// Whether a connection that is accepted now is armed.
    pub(in crate::net::tap) fn is_active(&self) -> bool {
        self.has_faults || self.desk.is_armed() || !self.clients.is_empty()
    }

    /// Runs the relay of a connection that is not armed.
    ///
    /// Returns `None` once the connection has to be closed, so that the client connects again.
    pub(in crate::net::tap) async fn pass<T>(&self, relay: impl Future<Output = T>) -> Option<T> {
        self.desk.pass(relay).await
    }

    /// Whether a message of a stream may match a fault, be held, or state what xdscope has told the
    /// client.
    pub(super) fn may_match(&self, stream: &WireStream<'_>) -> bool {
        self.faults().may_match(stream)
            || self.desk.with(|queue| queue.may_match(stream))
            || self.clients.may_concern(stream)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, FaultSet> {
        self.faults.lock()
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

    /// Notes that an armed connection has begun or ended.
    pub(super) fn count_connection(&self, has_begun: bool) {
        self.connections
            .send_modify(|count| *count = if has_begun { *count + 1 } else { count.saturating_sub(1) });
    }

    /// Waits until the armed connections have released what they hold and ended, if there are any.
    pub(in crate::net::tap) async fn released(&self) {
        let mut connections = self.connections.subscribe();
        // The channel lasts as long as `self`; those that remain at the end are dropped.
        let ended = connections.wait_for(|count| *count == 0);
        let _ = tokio::time::timeout(super::MAX_RELEASE_TIME, ended).await;
    }
}
