use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt, WriteHalf};

use crate::net::transport::Leg;

/// Parts of at least this many bytes are written by themselves.
const MIN_PART_BYTES: usize = 1 << 10;

/// One side of a connection that is written to.
#[derive(Default)]
pub(super) struct Outlet {
    queue: VecDeque<Bytes>,
    /// Parts at the front that have memory of their own.
    owned: usize,
    pub(super) bytes: usize,
    /// Written bytes may be held back, by TLS.
    is_dirty: bool,
    /// The sender has ended, and the receiver knows.
    pub(super) is_shut: bool,
}

/// The result of [`Outlet::write`].
pub(super) enum Written {
    Bytes(usize),
    Flushed,
}

impl Outlet {
    /// Adds parts. Joins short ones: each part costs a system call.
    pub(super) fn extend(&mut self, parts: Vec<Bytes>) {
        if self.is_shut {
            return;
        }
        let mut short = Vec::new();
        for part in parts {
            if part.len() < MIN_PART_BYTES {
                short.push(part);
            } else {
                self.push_joined(&mut short);
                self.push(part);
            }
        }
        self.push_joined(&mut short);
    }

    fn push_joined(&mut self, parts: &mut Vec<Bytes>) {
        match parts.as_slice() {
            [] => {}
            [only] => self.push(only.clone()),
            several => self.push(several.concat().into()),
        }
        parts.clear();
    }

    fn push(&mut self, part: Bytes) {
        self.bytes += part.len();
        self.queue.push_back(part);
    }

    pub(super) fn wants_write(&self) -> bool {
        !self.queue.is_empty() || self.is_dirty
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.wants_write()
    }

    /// Discards what a receiver that has gone cannot take, now and later.
    pub(super) fn give_up(&mut self) {
        *self = Outlet { is_shut: true, ..Outlet::default() };
    }

    /// Writes bytes, or flushes after the last ones. Nothing is lost if this is cancelled.
    pub(super) async fn write(&mut self, to: &mut WriteHalf<Leg>) -> io::Result<Written> {
        std::future::poll_fn(|cx| {
            let Some(first) = self.queue.front() else {
                let flush = pin!(to.flush());
                return flush.poll(cx).map_ok(|()| Written::Flushed);
            };
            let written = Pin::new(&mut *to).poll_write(cx, first).map_ok(Written::Bytes);
            if written.is_pending() {
                self.own();
                return Poll::Pending;
            }
            written
        })
        .await
    }

    /// Copies the parts that wait for the receiver: each slice keeps the buffer of a whole read.
    fn own(&mut self) {
        if self.owned == self.queue.len() {
            return;
        }
        // A short part before them is copied again, so that many short ones take one allocation.
        if self.owned > 0 && self.queue.get(self.owned - 1).is_some_and(|last| last.len() < MIN_PART_BYTES) {
            self.owned -= 1;
        }
        let parts = Vec::from(self.queue.split_off(self.owned));
        self.queue.push_back(parts.concat().into());
        self.owned = self.queue.len();
    }

    /// Counts what was written. Returns the bytes.
    pub(super) fn wrote(&mut self, written: Written) -> Option<Bytes> {
        let Written::Bytes(len) = written else {
            self.is_dirty = false;
            return None;
        };
        let first = self.queue.front_mut()?;
        let bytes = first.split_to(len);
        if first.is_empty() {
            self.queue.pop_front();
            self.owned = self.owned.saturating_sub(1);
        }
        self.bytes -= len;
        self.is_dirty = true;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(outlet: &Outlet) -> Vec<u8> {
        outlet.queue.iter().flatten().copied().collect()
    }

    #[test]
    fn short_parts_are_joined_and_keep_no_read_buffer() {
        let buffer = Bytes::from(vec![7; 256 << 10]);
        let mut outlet = Outlet::default();
        outlet.extend(vec![
            buffer.slice(..10),
            buffer.slice(20..30),
            buffer.slice(..4_000),
            buffer.slice(..5),
        ]);
        assert_eq!(outlet.queue.iter().map(Bytes::len).collect::<Vec<_>>(), [20, 4_000, 5]);
        outlet.own();
        outlet.extend(vec![buffer.slice(..6)]);
        outlet.own();
        outlet.own();
        assert_eq!((text(&outlet), outlet.bytes), (vec![7; 4_031], 4_031));
        assert!(buffer.is_unique(), "all parts are copies");
        let written = outlet.wrote(Written::Bytes(4_025)).expect("bytes");
        assert_eq!((written.len(), outlet.owned, outlet.bytes), (4_025, 1, 6));
    }
}
