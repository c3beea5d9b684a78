//! Values that checkpoints have in common until they change.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// A value of which a clone is cheap: clones are one value until one of them changes, which then
/// gets a copy of its own.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Shared<T> {
        Shared(Arc::new(value))
    }

    /// Returns whether both are still one value.
    pub(crate) fn is_same(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the size of the value, unless `other` holds it too.
    pub(crate) fn own_size(&self, other: Option<&Shared<T>>, size: impl FnOnce(&T) -> usize) -> usize {
        if other.is_some_and(|other| self.is_same(other)) { 0 } else { size(&self.0) }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

/// A result that is kept until the state from which it was computed has moved on.
#[derive(Debug, Default)]
pub(crate) struct Cached<T>(Mutex<Option<T>>);

impl<T: Copy> Cached<T> {
    pub(crate) fn get(&self) -> Option<T> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }
}

impl<T: Copy> Clone for Cached<T> {
    fn clone(&self) -> Cached<T> {
        Cached(Mutex::new(self.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_one_value_until_one_changes() {
        let mut current = Shared::new(vec![1]);
        let checkpoint = current.clone();
        assert!(current.is_same(&checkpoint));
        assert_eq!(current.own_size(Some(&checkpoint), Vec::len), 0);
        current.push(2);
        assert!(!current.is_same(&checkpoint));
        assert_eq!((current.as_slice(), checkpoint.as_slice()), (&[1, 2][..], &[1][..]));
        assert_eq!(current.own_size(Some(&checkpoint), Vec::len), 2);
    }
}
