//! The reasons that clients give for refusing resources, by resource.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use xdscope_engine::nack;
use xdscope_engine::store::{ResourceFact, StateFact, Store};
use xdscope_schema::Schema;
use xdscope_wire::event::Seq;

/// Characters of a reason in a table.
const MAX_CHARS: usize = 120;

/// The resources that a NACK names, with the reasons.
type NamedReasons = HashMap<String, String>;

/// Reasons by NACK, each read once.
pub(crate) struct RefusalReasons<'a> {
    store: &'a Store,
    schema: &'a Schema,
    states: &'a [StateFact],
    known: RefCell<HashMap<Seq, Rc<NamedReasons>>>,
}

impl<'a> RefusalReasons<'a> {
    pub(crate) fn new(store: &'a Store, schema: &'a Schema, states: &'a [StateFact]) -> RefusalReasons<'a> {
        RefusalReasons { store, schema, states, known: RefCell::default() }
    }

    /// Whether one of these states has a refused resource.
    pub(crate) fn is_any(&self, is_shown: impl Fn(&StateFact) -> bool) -> bool {
        self.states.iter().any(|state| state.summary.refused > 0 && is_shown(state))
    }

    /// Returns the reason for refusing the newest content of a resource: what the NACK says about
    /// the resource, else the text of the NACK.
    ///
    /// Returns `None` for a resource that is not refused, and for a NACK without a text.
    pub(crate) fn of(&self, fact: &ResourceFact) -> Option<String> {
        let refusal = fact.refusal.as_ref().filter(|_| fact.refused)?;
        let named = self.named_by(refusal.nack);
        let whole = || {
            let text = self.text_of(fact, refusal.nack)?;
            Some(self.store.stated_nack_faults(text, Some(refusal.push)).to_string())
        };
        let reason = named.get(&*fact.name).cloned().or_else(whole)?;
        Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
    }

    /// Returns what the NACK of a refused push says about other resources, for one that the NACK
    /// does not name and that is not in use.
    pub(crate) fn of_others(&self, fact: &ResourceFact) -> Option<String> {
        let refusal = fact.refusal.as_ref().filter(|_| fact.is_in_unused_push())?;
        let text = self.text_of(fact, refusal.nack)?;
        Some(self.store.stated_nack_faults(text, Some(refusal.push)).to_string())
    }

    /// Returns the reasons of the resources that a NACK names.
    fn named_by(&self, nack: Seq) -> Rc<NamedReasons> {
        let read = || {
            let mut named = NamedReasons::new();
            let entries = nack::of_message(self.store, self.schema, nack).map(|nack| nack.entries);
            for mut fault in entries.into_iter().flatten() {
                if let Some(name) = fault.name.take() {
                    named.entry(name.value).or_insert_with(|| fault.to_string());
                }
            }
            named
        };
        self.known.borrow_mut().entry(nack).or_insert_with(|| Rc::new(read())).clone()
    }

    /// Returns the text of a NACK, or of the newest one with a text that refuses the same content.
    fn text_of(&self, fact: &ResourceFact, nack: Seq) -> Option<&'a str> {
        let is_own = |state: &&StateFact| {
            (state.summary.stream, &state.summary.type_url) == (fact.stream, &fact.type_url)
        };
        let nacks = &self.states.iter().find(is_own)?.verdicts.nacks;
        let earlier = || self.store.nack(fact.stream, &fact.type_url, nack);
        let refusal = nacks.iter().find(|of| of.n == nack).or_else(earlier)?;
        let mut texts = nacks.iter().rev().filter(|of| of.is_same_content(refusal)).map(|of| &*of.message);
        Some(&*refusal.message)
            .filter(|text| !text.trim().is_empty())
            .or_else(|| texts.find(|text| !text.trim().is_empty()))
    }

    /// Returns the start of the reason on one line, for a table.
    pub(crate) fn brief(&self, fact: &ResourceFact) -> String {
        shortened(&self.of(fact).unwrap_or_default())
    }
}

/// Returns the start of a reason on one line.
pub(crate) fn shortened(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS).collect()
}
