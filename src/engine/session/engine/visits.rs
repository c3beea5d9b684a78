//! Counts visited streams, types and resources in tests, which compare the counts of small and
//! large sources.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static VISITED: Cell<u64> = const { Cell::new(0) };
}

/// Counts one visited stream or type.
pub(crate) fn count() {
    count_many(1);
}

/// Counts visited resources.
pub(crate) fn count_many(_number: usize) {
    #[cfg(test)]
    VISITED.set(VISITED.get() + _number as u64);
}

/// Returns the number of streams, types and resources that this thread has visited.
#[cfg(test)]
pub(crate) fn total() -> u64 {
    VISITED.get()
}
