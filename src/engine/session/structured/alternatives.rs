//! Alternatives of structured names, which a client requests when the source of the first name
//! cannot be reached (docs/protocol.md#k-29).

use std::collections::HashMap;
use std::sync::Arc;

use xdscope_wire::xdstp::{self, lists};

/// Alternatives of all clients that are kept.
const MAX_ALTERNATIVES: usize = 1 << 14;
/// Alternatives of one name that are kept.
const MAX_OF_NAME: usize = 4;

/// The alternatives that each client knows: what one client is told, another one need not know.
#[derive(Debug, Default)]
pub(crate) struct Alternatives {
    clients: HashMap<Arc<str>, ClientAlternatives>,
    /// Alternatives of all clients.
    size: usize,
}

/// First names and alternatives of a client, in canonical form.
#[derive(Debug, Default)]
struct ClientAlternatives {
    by_alternative: HashMap<String, String>,
    by_primary: HashMap<String, Vec<String>>,
}

impl Alternatives {
    /// Returns the canonical name that a name is an alternative of.
    pub(crate) fn primary_of(&self, client: &str, alternative: &str) -> Option<String> {
        self.clients.get(client)?.by_alternative.get(&xdstp::Name::parse(alternative)?.canonical()).cloned()
    }

    /// Returns the canonical alternatives of a name.
    pub(crate) fn of_name(&self, client: &str, primary: &str) -> Vec<String> {
        let Some(known) = self.clients.get(client) else { return Vec::new() };
        let canonical = xdstp::Name::parse(primary).map(|name| name.canonical());
        canonical.and_then(|name| known.by_primary.get(&name)).cloned().unwrap_or_default()
    }

    /// Records the alternative that a reference states.
    pub(crate) fn note(&mut self, client: &Arc<str>, reference: &str) {
        let Some(alternative) = lists::alternative(reference) else { return };
        if self.size >= MAX_ALTERNATIVES {
            return;
        }
        let Some(primary) = xdstp::Name::parse(reference) else { return };
        let Some(alternative) = xdstp::Name::parse(&alternative) else { return };
        let (primary, alternative) = (primary.canonical(), alternative.canonical());
        let of_client = self.clients.entry(client.clone()).or_default();
        let known = of_client.by_primary.entry(primary.clone()).or_default();
        if known.len() < MAX_OF_NAME && !known.contains(&alternative) {
            known.push(alternative.clone());
        }
        self.size += usize::from(of_client.by_alternative.insert(alternative, primary).is_none());
    }
}
