use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch::{Receiver, Sender, channel};

use crate::net::lock;
use xdscope_sources::observe::ConnId;

/// Bytes that one connection may buffer at most.
const MAX_CONNECTION_BYTES: usize = 192 << 20;

/// Longest message on an armed stream, in bytes.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

/// Bytes that a connection may always buffer.
pub(super) const MIN_CONNECTION_BYTES: usize = 16 << 10;

/// Streams of a connection that may be armed, also when all connections are at the limit.
const MIN_STREAMS: usize = 16;

/// Streams of a connection that may be armed.
const MAX_STREAMS: usize = 2_048;

/// The memory that the armed connections of a tap buffer together.
///
/// The limit of all connections is a quarter of `--memory`. While all of them are at the limit,
/// those are read no further that have more than an equal part of it, except for one at a time,
/// which may complete its message, at most with [`MAX_CONNECTION_BYTES`]. At twice the limit only
/// connections with little are read. A message may have two thirds of the limit, at most
/// [`MAX_MESSAGE_BYTES`]; a longer one ends its stream, not the connection.
pub(super) struct ArmedMemory {
    limit: usize,
    used: Mutex<MemoryInUse>,
    /// Changes when connections may be read again.
    freed: Sender<()>,
}

#[derive(Default)]
struct MemoryInUse {
    total: usize,
    /// Connections that buffer anything.
    connections: usize,
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
        let (was_full, was_at_most) = (used.total >= self.limit, used.total >= 2 * self.limit);
        used.total = (used.total + now).saturating_sub(before);
        used.connections = (used.connections + usize::from(now > 0)).saturating_sub(usize::from(before > 0));
        let is_full = used.total >= self.limit;
        let was_growing = used.growing.take_if(|growing| *growing == conn && (now == 0 || !is_full));
        let total = used.total;
        drop(used);
        if was_full && !is_full || was_at_most && total < 2 * self.limit || was_growing.is_some() {
            self.freed.send_replace(());
        }
    }

    /// Whether a connection that buffers `bytes` may be read.
    pub(super) fn may_read(&self, conn: ConnId, bytes: usize) -> bool {
        if bytes <= MIN_CONNECTION_BYTES {
            return true;
        }
        if bytes >= MAX_CONNECTION_BYTES.min(self.limit) {
            return false;
        }
        let mut used = self.used();
        if used.total < self.limit || used.total < 2 * self.limit && bytes <= used.part(self.limit) {
            return true;
        }
        used.total < 2 * self.limit && *used.growing.get_or_insert(conn) == conn
    }

    /// Whether a connection that buffers `bytes` has memory that others lack.
    pub(super) fn is_short(&self, bytes: usize) -> bool {
        let used = self.used();
        used.total >= self.limit && bytes > MIN_CONNECTION_BYTES.max(used.part(self.limit))
    }

    /// Returns how many streams of a connection may be armed.
    pub(super) fn max_streams(&self) -> usize {
        if self.used().total < self.limit { MAX_STREAMS } else { MIN_STREAMS }
    }

    fn used(&self) -> MutexGuard<'_, MemoryInUse> {
        lock(&self.used)
    }
}

impl MemoryInUse {
    /// Returns the equal part of each connection.
    fn part(&self, limit: usize) -> usize {
        limit / self.connections.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_a_limit() {
        const KB: usize = 1 << 10;
        let memory = ArmedMemory::new(2_000 * KB);
        let [one, two, three] = [1, 2, 3].map(ConnId);
        let freed = memory.freed();
        memory.update(one, 0, 600 * KB);
        assert!(memory.may_read(two, 0) && !memory.is_short(600 * KB));
        memory.update(two, 0, 510 * KB);
        assert!(memory.may_read(two, 510 * KB), "the first at the limit completes its message");
        assert!(!memory.may_read(one, 600 * KB) && memory.is_short(600 * KB));
        assert!(freed.has_changed().is_ok_and(|is_changed| !is_changed));
        memory.update(two, 510 * KB, 1_000 * KB);
        assert!(!memory.may_read(two, 1_000 * KB), "but not beyond the limit of one connection");
        memory.update(two, 1_000 * KB, 0);
        assert!(freed.has_changed().is_ok_and(|is_changed| is_changed));
        assert!([one, two, three].into_iter().all(|conn| memory.may_read(conn, 600 * KB)));
    }

    #[test]
    fn connections_with_much_do_not_take_the_part_of_others() {
        const KB: usize = 1 << 10;
        let memory = ArmedMemory::new(2_000 * KB);
        let [many, small] = [1, 2].map(ConnId);
        memory.update(many, 0, 1_000 * KB);
        assert_eq!(memory.max_streams(), MIN_STREAMS);
        assert!(!memory.may_read(many, 1_000 * KB));
        memory.update(small, 0, 400 * KB);
        assert!(memory.may_read(small, 400 * KB) && !memory.is_short(400 * KB), "less than an equal part");
        memory.update(many, 1_000 * KB, 1_600 * KB);
        assert!(!memory.may_read(small, 400 * KB), "all of them have twice the limit");
        assert!(memory.may_read(small, MIN_CONNECTION_BYTES));
    }
}
