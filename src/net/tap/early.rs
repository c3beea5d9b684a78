//! The first bytes of clients, until the server answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::net::lock;

/// Bytes of requests of a connection that are kept until the server answers.
///
/// A client that sends more before the first byte of an answer gets no error message if the server
/// never answers.
pub(crate) const MAX_BYTES: usize = 128 << 10;

/// Bytes that all connections keep together at most.
pub(crate) const MAX_TOTAL_BYTES: usize = 4 << 20;

/// The bytes that all connections keep.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlyBudget(Arc<AtomicUsize>);

/// The first bytes of a client, shared by both directions of its connection.
#[derive(Debug)]
pub(super) struct EarlyBytes {
    bytes: Mutex<Vec<u8>>,
    budget: EarlyBudget,
}

impl EarlyBytes {
    pub(super) fn new(budget: EarlyBudget) -> EarlyBytes {
        EarlyBytes { bytes: Mutex::default(), budget }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.bytes)
    }

    /// Adds bytes. Returns false, and adds nothing, if they are too many.
    pub(super) fn add(&self, bytes: &[u8]) -> bool {
        let mut kept = self.lock();
        let total = self.budget.0.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        let fits = total <= MAX_TOTAL_BYTES && kept.len() + bytes.len() <= MAX_BYTES;
        if fits {
            kept.extend_from_slice(bytes);
        } else {
            self.budget.0.fetch_sub(bytes.len(), Ordering::Relaxed);
        }
        fits
    }

    /// Calls `look` with the bytes.
    pub(super) fn with<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        look(&self.lock())
    }

    /// Returns the bytes, which are not kept any more.
    pub(super) fn take(&self) -> Vec<u8> {
        let bytes = std::mem::take(&mut *self.lock());
        self.budget.0.fetch_sub(bytes.len(), Ordering::Relaxed);
        bytes
    }
}

impl Drop for EarlyBytes {
    fn drop(&mut self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_share_a_limit() {
        let budget = EarlyBudget::default();
        let connections: Vec<EarlyBytes> = (0..40).map(|_| EarlyBytes::new(budget.clone())).collect();
        let kept = connections.iter().filter(|connection| connection.add(&[1; MAX_BYTES])).count();
        assert_eq!(kept, MAX_TOTAL_BYTES / MAX_BYTES);
        assert!(!connections[0].add(&[1]), "the connection has its own limit");
        assert_eq!(connections[0].take().len(), MAX_BYTES);
        assert!(connections[39].add(&[2; 10]), "there is room again");
        assert_eq!(connections[39].with(<[u8]>::len), 10);
        drop(connections);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
