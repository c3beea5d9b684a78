//! The members of the collections on a screen.

use std::collections::HashMap;
use std::sync::Arc;

use xdscope_engine::store::{ResourceFact, Store};
use xdscope_engine::structured::{Members, StructuredNames};
use xdscope_wire::event::{StreamId, TypeUrl};

/// Collections whose members are kept. Beyond that all are counted again.
const MAX_KEPT: usize = 256;

/// A collection of a stream.
type CollectionPlace = (StreamId, TypeUrl, Arc<str>);

/// The mark of the type at the time of counting, and the members.
type MarkedMembers = (u64, Option<Members>);

/// The members of collections, counted again once resources of their type change.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedMembers {
    known: HashMap<CollectionPlace, MarkedMembers>,
}

impl CountedMembers {
    /// Returns the members of a collection; `None` for another resource.
    pub(crate) fn count(
        &mut self,
        store: &Store,
        names: &StructuredNames<'_>,
        fact: &ResourceFact,
    ) -> Option<Members> {
        if !fact.name.starts_with("xdstp:") {
            return None;
        }
        let mark = store.mark(fact.stream, &fact.type_url);
        let key = (fact.stream, fact.type_url.clone(), fact.name.clone());
        if let Some((_, members)) = self.known.get(&key).filter(|(known, _)| *known == mark) {
            return members.clone();
        }
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        let members = names.members(fact);
        self.known.insert(key, (mark, members.clone()));
        members
    }
}
