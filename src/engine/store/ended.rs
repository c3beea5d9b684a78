//! Streams that have ended: failures, answers that were owed, and clients that have not come back.

pub(super) mod failing;
mod failover;
pub(super) mod owed_at_end;
mod silent_servers;
pub(super) mod unreachable;
mod unrequested;

use super::Store;

/// The ended streams of a store, and what they leave open now.
#[derive(Clone, Copy)]
pub struct EndedStreams<'a> {
    store: &'a Store,
}

impl<'a> EndedStreams<'a> {
    pub(super) fn new(store: &'a Store) -> EndedStreams<'a> {
        EndedStreams { store }
    }
}
