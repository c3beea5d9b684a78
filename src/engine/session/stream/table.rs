use std::collections::BTreeMap;

use crate::session::engine::visits;
use crate::session::shared::Shared;
use crate::session::stream::Stream;

/// The streams of a source, by index, in order of their openings. Indices are never used twice.
#[derive(Clone, Default)]
pub(crate) struct StreamTable {
    streams: BTreeMap<usize, Shared<Stream>>,
    next: usize,
}

impl StreamTable {
    pub(crate) fn get(&self, index: usize) -> Option<&Stream> {
        self.streams.get(&index).map(|stream| &**stream)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Stream> {
        self.streams.get_mut(&index).map(|stream| &mut **stream)
    }

    /// All streams with their indices, in order of their openings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Shared<Stream>)> {
        self.streams.iter().map(|(index, stream)| (*index, stream))
    }

    /// Returns a stream as checkpoints share it.
    pub(crate) fn shared(&self, index: usize) -> Option<&Shared<Stream>> {
        self.streams.get(&index)
    }

    /// Changes the streams that `is_changed` accepts.
    pub(crate) fn change(&mut self, is_changed: impl Fn(&Stream) -> bool, change: impl Fn(&mut Stream)) {
        for stream in self.streams.values_mut() {
            if is_changed(stream) {
                change(stream);
            }
        }
    }

    /// Adds a stream, and returns its index.
    pub(crate) fn push(&mut self, stream: Stream) -> usize {
        let index = self.next;
        self.streams.insert(index, Shared::new(stream));
        self.next += 1;
        index
    }

    pub(crate) fn next_index(&self) -> usize {
        self.next
    }

    /// Drops the streams that `is_kept` does not accept, and returns how many were dropped.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(usize, &Stream) -> bool) -> usize {
        let before = self.streams.len();
        self.streams.retain(|index, stream| is_kept(*index, stream));
        before - self.streams.len()
    }
}

/// The streams of a source, in order of their openings.
#[derive(Clone, Copy)]
pub(crate) struct Streams<'a>(pub(crate) &'a StreamTable);

impl<'a> Streams<'a> {
    pub(crate) fn get(self, index: usize) -> Option<&'a Stream> {
        self.0.get(index)
    }

    /// All streams: for queries, not for the handling of a message.
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = &'a Stream> {
        self.0.streams.values().map(|stream| &**stream).inspect(|_| visits::count())
    }
}
