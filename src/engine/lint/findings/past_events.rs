//! Findings about events that no message mends, such as a request without a type.

use std::collections::BTreeMap;

/// Findings about events that are followed.
const MAX_EVENTS: usize = 1024;

/// Findings about events, by the index of their stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastEvents {
    by_stream: BTreeMap<usize, Vec<usize>>,
    /// Number of findings of all streams.
    count: usize,
}

impl PastEvents {
    pub(crate) fn add(&mut self, stream: usize, finding: usize) {
        let of_stream = self.by_stream.entry(stream).or_default();
        if self.count < MAX_EVENTS && !of_stream.contains(&finding) {
            of_stream.push(finding);
            self.count += 1;
        }
    }

    pub(crate) fn take(&mut self, stream: usize) -> Vec<usize> {
        let taken = self.by_stream.remove(&stream).unwrap_or_default();
        self.count -= taken.len();
        taken
    }

    /// Forgets streams for which the function returns false.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.by_stream.retain(|stream, _| is_kept(*stream));
        self.count = self.by_stream.values().map(Vec::len).sum();
    }
}
