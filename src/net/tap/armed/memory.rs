use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch::{Receiver, Sender, channel};

use xdscope_sources::observe::ConnId;

/// Bytes that one connection may buffer at most.
const MAX_CONNECTION_BYTES: usize = 192 << 20;

/// Longest message on an armed stream, in bytes.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

/// The memory that the armed connections of a tap buffer together.
///
/// The limit of all connections is a quarter of `--memory`. A connection is read no further while
/// all of them are at the limit, except for one at a time, which may complete its message with as
/// much again, at most [`MAX_CONNECTION_BYTES`]. A message may have two thirds of the limit, at
/// most [`MAX_MESSAGE_BYTES`]; a longer one ends its stream, not the connection.
pub(super) struct ArmedMemory {
    limit: usize,
    used: Mutex<MemoryInUse>,
    /// Changes when connections may be read again.
    freed: Sender<()>,
}

#[derive(Default)]
struct MemoryInUse {
    total: usize,
    /// The connection that may go on at the limit.
    growing: Option<ConnId>,
}

impl ArmedMemory {
    /// Takes half of `budget` for all connections, and the other half for one that goes on.
    pub(super) fn new(budget: usize) -> ArmedMemory {
        ArmedMemory { limit: budget / 2, used: Mutex::default(), freed: channel(()).0 }
    }

    /// Returns the longest message in bytes.
    pub(super) fn max_message(&self) -> usize {
        (self.limit / 3 * 2).min(MAX_MESSAGE_BYTES)
    }

    /// Returns a receiver that sees when connections may be read again.
    pub(super) fn freed(&self) -> Receiver<()> {
        self.freed.subscribe()
    }

    /// Notes that a connection buffers `now` bytes instead of `before`.
    pub(super) fn update(&self, conn: ConnId, before: usize, now: usize) {
        if before == now {
            return;
        }
        let mut used = self.used();
        let was_full = used.total >= self.limit;
        used.total = (used.total + now).saturating_sub(before);
        let is_full = used.total >= self.limit;
        let was_growing = used.growing.take_if(|growing| *growing == conn && (now == 0 || !is_full));
        drop(used);
        if was_full && !is_full || was_growing.is_some() {
            self.freed.send_replace(());
        }
    }

    /// Whether a connection that buffers `bytes` may be read.
    pub(super) fn may_read(&self, conn: ConnId, bytes: usize) -> bool {
        if bytes >= MAX_CONNECTION_BYTES.min(self.limit) {
            return false;
        }
        let mut used = self.used();
        used.total < self.limit || *used.growing.get_or_insert(conn) == conn
    }

    fn used(&self) -> MutexGuard<'_, MemoryInUse> {
        // A panic elsewhere leaves the numbers as usable as before.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_a_limit() {
        let memory = ArmedMemory::new(2_000);
        let [one, two, three] = [1, 2, 3].map(ConnId);
        let freed = memory.freed();
        memory.update(one, 0, 600);
        assert!(memory.may_read(two, 0));
        memory.update(two, 0, 500);
        assert!(memory.may_read(two, 500), "the first at the limit completes its message");
        assert!(!memory.may_read(one, 600) && !memory.may_read(three, 0));
        assert!(freed.has_changed().is_ok_and(|is_changed| !is_changed));
        memory.update(two, 500, 1_000);
        assert!(!memory.may_read(two, 1_000), "but not beyond the limit of one connection");
        memory.update(two, 1_000, 0);
        assert!(freed.has_changed().is_ok_and(|is_changed| is_changed));
        assert!([one, two, three].into_iter().all(|conn| memory.may_read(conn, 0)));
    }
}
