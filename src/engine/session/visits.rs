//! Counts visited streams and types in tests, which compare the counts of small and large sources.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static VISITED: Cell<u64> = const { Cell::new(0) };
}

/// Counts one visited stream or type.
pub(super) fn count() {
    #[cfg(test)]
    VISITED.set(VISITED.get() + 1);
}

/// Returns the number of streams and types that this thread has visited.
#[cfg(test)]
pub(crate) fn total() -> u64 {
    VISITED.get()
}
