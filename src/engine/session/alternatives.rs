//! Alternatives of structured names, which a client requests when the source of the first name
//! cannot be reached (docs/protocol.md#k-29).

use std::collections::HashMap;

use super::{locators, xdstp};

/// Alternatives that are kept.
const MAX_ALTERNATIVES: usize = 1 << 12;
/// Alternatives of one name that are kept.
const MAX_OF_NAME: usize = 4;

/// First names and alternatives, in canonical form.
#[derive(Debug, Default)]
pub(super) struct Alternatives {
    by_alternative: HashMap<String, String>,
    by_primary: HashMap<String, Vec<String>>,
}

impl Alternatives {
    /// Returns the canonical name that a name is an alternative of.
    pub(super) fn primary_of(&self, alternative: &str) -> Option<String> {
        self.by_alternative.get(&xdstp::Name::parse(alternative)?.canonical()).cloned()
    }

    /// Returns the canonical alternatives of a name.
    pub(super) fn of(&self, primary: &str) -> Vec<String> {
        let canonical = xdstp::Name::parse(primary).map(|name| name.canonical());
        canonical.and_then(|name| self.by_primary.get(&name)).cloned().unwrap_or_default()
    }

    /// Records the alternative that a reference states.
    pub(super) fn note(&mut self, reference: &str) {
        let Some(alternative) = locators::alternative(reference) else { return };
        let names = xdstp::Name::parse(reference).zip(xdstp::Name::parse(&alternative));
        let Some((primary, alternative)) = names.filter(|_| self.by_alternative.len() < MAX_ALTERNATIVES)
        else {
            return;
        };
        let (primary, alternative) = (primary.canonical(), alternative.canonical());
        let known = self.by_primary.entry(primary.clone()).or_default();
        if known.len() < MAX_OF_NAME && !known.contains(&alternative) {
            known.push(alternative.clone());
        }
        self.by_alternative.insert(alternative, primary);
    }
}
