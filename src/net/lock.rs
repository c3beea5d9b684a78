use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that a panic of another thread leaves as usable as before.
pub(crate) fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
