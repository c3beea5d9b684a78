//! A row of the timeline with what facts about its message are read from.

use super::history::Row;
use crate::session::Stream;
use crate::store::Store;

/// A row of the timeline, its number, its stream and the store.
#[derive(Clone, Copy)]
pub(in crate::store) struct MessageRow<'a> {
    pub(super) store: &'a Store,
    pub(super) index: usize,
    pub(super) row: &'a Row,
    pub(super) stream: &'a Stream,
}
