use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Instant;

use tokio::sync::watch::{Receiver, Sender, channel};

use crate::net::clock::RunClock;
use crate::net::lock;
use xdscope_engine::hold::{HoldCommand, HoldStatus};
use xdscope_sources::peers::intercept::{HoldError, HoldOptions, HoldQueue};
use xdscope_wire::event::Time;

/// The messages that a tap holds, shared by its connections and the screens.
///
/// Connections carry decisions out when `HoldDesk::decisions` changes.
pub struct HoldDesk {
    queue: Mutex<HoldQueue>,
    clock: RunClock,
    /// Changes with each decision.
    decided: Sender<()>,
    /// Changes when clients whose messages cannot be held are to connect again.
    reconnect: Sender<()>,
    /// Called with each change of what is held.
    waker: Mutex<Option<DeskWaker>>,
    revision: AtomicU64,
}

/// Called when what is held has changed.
pub type DeskWaker = Box<dyn Fn() + Send>;

impl HoldDesk {
    /// Creates a desk that holds nothing until it is armed.
    pub fn new(options: HoldOptions) -> Arc<HoldDesk> {
        Arc::new(HoldDesk {
            queue: Mutex::new(HoldQueue::new(options)),
            clock: RunClock::start(),
            decided: channel(()).0,
            reconnect: channel(()).0,
            waker: Mutex::new(None),
            revision: AtomicU64::new(0),
        })
    }

    /// Carries out a command.
    ///
    /// # Errors
    ///
    /// The command cannot be followed.
    pub fn command(&self, command: HoldCommand) -> Result<(), HoldError> {
        if command == HoldCommand::Reconnect {
            self.reconnect.send_replace(());
        }
        let result = self.queue().command(command, self.now());
        self.decided.send_replace(());
        self.revision.fetch_add(1, Ordering::Relaxed);
        result
    }

    /// Returns a number that changes whenever what is held does.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Whether messages are held now.
    pub fn is_holding(&self) -> bool {
        !self.queue().is_empty()
    }

    /// Returns what is held now.
    pub fn status(&self) -> HoldStatus {
        self.queue().status(self.now())
    }

    /// Whether messages are held, or may be.
    pub fn is_armed(&self) -> bool {
        let queue = self.queue();
        queue.is_armed() || !queue.is_empty()
    }

    /// Whether messages are buffered for a person, or may be.
    pub fn needs_memory(&self) -> bool {
        let queue = self.queue();
        queue.is_armed() || !queue.is_empty() || queue.streams() > 0
    }

    /// Makes the desk call `waker` whenever what is held changes.
    pub fn set_waker(&self, waker: DeskWaker) {
        *lock(&self.waker) = Some(waker);
    }

    /// Runs the relay of a connection on which nothing can be held.
    ///
    /// Returns `None` once the connection has to be closed, so that the client connects again.
    pub(super) async fn pass<T>(&self, relay: impl Future<Output = T>) -> Option<T> {
        let mut reconnect = self.reconnect.subscribe();
        let newest = reconnect.clone();
        let _passing = PassingConnection::new(self);
        let (mut relay, mut changed) = (pin!(relay), pin!(reconnect.changed()));
        let mut has_waker = false;
        // Bytes wake the same task: while there are only bytes, a poll costs the load of a number.
        poll_fn(|cx| {
            if let Poll::Ready(result) = relay.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            // The sender lives as long as the desk.
            let is_due = !std::mem::replace(&mut has_waker, true) || newest.has_changed().unwrap_or(false);
            if is_due && changed.as_mut().poll(cx).is_ready() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    /// Returns a receiver that sees each decision.
    pub(super) fn decisions(&self) -> Receiver<()> {
        self.decided.subscribe()
    }

    /// Runs `with` on the queue, and tells everyone what has changed.
    pub(super) fn with<T>(&self, with: impl FnOnce(&mut HoldQueue) -> T) -> T {
        let mut queue = self.queue();
        let before = (queue.len(), queue.decisions());
        let result = with(&mut queue);
        let after = (queue.len(), queue.decisions());
        let (is_changed, is_decided) = (after != before, after.1 > before.1);
        drop(queue);
        // Decisions about messages beyond the limits are for any connection.
        if is_decided {
            self.decided.send_replace(());
        }
        if !is_changed {
            return result;
        }
        self.revision.fetch_add(1, Ordering::Relaxed);
        if let Some(waker) = &*lock(&self.waker) {
            waker();
        }
        result
    }

    /// Returns the time on the clock of the tap's streams.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns a time on that clock as an instant of the process.
    pub(super) fn instant(&self, at: Time) -> Instant {
        self.clock.instant(at)
    }

    fn queue(&self) -> MutexGuard<'_, HoldQueue> {
        lock(&self.queue)
    }
}

/// Counts a connection on which nothing can be held, until it is dropped.
struct PassingConnection<'a>(&'a HoldDesk);

impl PassingConnection<'_> {
    fn new(desk: &HoldDesk) -> PassingConnection<'_> {
        desk.with(HoldQueue::connection_passes);
        PassingConnection(desk)
    }
}

impl Drop for PassingConnection<'_> {
    fn drop(&mut self) {
        self.0.with(HoldQueue::connection_passed);
    }
}
