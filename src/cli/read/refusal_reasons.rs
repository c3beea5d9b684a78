//! The reasons that clients give for refusing resources, by resource.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use xdscope_engine::nack;
use xdscope_engine::store::{ResourceFact, StateFact, Store};
use xdscope_schema::Schema;
use xdscope_wire::event::{StreamId, TypeUrl};

/// The newest NACKs of a type that are read.
const MAX_NACKS: usize = 64;
/// Characters of a reason in a table.
const MAX_CHARS: usize = 120;

/// The reasons of one type of a stream.
#[derive(Default)]
struct TypeReasons {
    by_name: HashMap<String, String>,
    /// The text of the newest NACK that is still open.
    open: Option<Arc<str>>,
}

/// Reasons by stream and type, each read once.
pub(crate) struct RefusalReasons<'a> {
    store: &'a Store,
    schema: &'a Schema,
    states: &'a [StateFact],
    known: RefCell<HashMap<(StreamId, TypeUrl), Rc<TypeReasons>>>,
}

impl<'a> RefusalReasons<'a> {
    pub(crate) fn new(store: &'a Store, schema: &'a Schema, states: &'a [StateFact]) -> RefusalReasons<'a> {
        RefusalReasons { store, schema, states, known: RefCell::default() }
    }

    /// Whether one of these states has a refused resource.
    pub(crate) fn is_any(&self, is_shown: impl Fn(&StateFact) -> bool) -> bool {
        self.states.iter().any(|state| state.refused > 0 && is_shown(state))
    }

    /// Returns the reason for refusing the newest content of a resource.
    ///
    /// Returns `None` for a resource that is not refused, and for a NACK without a text.
    pub(crate) fn of(&self, fact: &ResourceFact) -> Option<String> {
        if !fact.refused {
            return None;
        }
        let key = (fact.stream, fact.type_url.clone());
        let reasons = self.known.borrow_mut().entry(key).or_insert_with(|| self.read(fact).into()).clone();
        let reason = reasons.by_name.get(&*fact.name).map(String::as_str).or(reasons.open.as_deref());
        reason.map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned)
    }

    /// Returns the first line of the reason, for a table.
    pub(crate) fn brief(&self, fact: &ResourceFact) -> String {
        let reason = self.of(fact).unwrap_or_default();
        reason.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS).collect()
    }

    fn read(&self, fact: &ResourceFact) -> TypeReasons {
        let is_own = |state: &&StateFact| (state.stream, &state.type_url) == (fact.stream, &fact.type_url);
        let Some(state) = self.states.iter().find(is_own) else { return TypeReasons::default() };
        let mut by_name = HashMap::new();
        for nack in state.nacks.iter().rev().take(MAX_NACKS) {
            let entries = nack::of_message(self.store, self.schema, nack.n).map(|nack| nack.entries);
            for entry in entries.into_iter().flatten() {
                if let Some(name) = entry.name {
                    by_name.entry(name.value).or_insert(entry.reason);
                }
            }
        }
        let open = state.nacks.iter().rev().find(|nack| Some(nack.n) == state.open_nack);
        TypeReasons { by_name, open: open.map(|nack| nack.message.clone()) }
    }
}
