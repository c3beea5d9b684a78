//! What was sent on a stream against what its client says that it has applied.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::store::{ResourceFact, ResourceState, StateFact, Store};
use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::wire::content::Redact;
use crate::wire::event::{Kind, StreamId, TypeUrl};
use crate::wire::text::{count, plural};

use super::{Dump, DumpClient, DumpContent, DumpEntry, DumpOrigin};

/// One type of one stream: each resource that the client was given, by what became of it; names in
/// order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedDiff {
    /// Resources that the client was given.
    pub of: u64,
    /// Those whose newest content is in use.
    pub applied: u64,
    /// In use although the client refused the response that brought them.
    pub in_spite: Vec<Arc<str>>,
    /// Accepted, and not in use yet.
    pub warming: Vec<Arc<str>>,
    /// Not in use in their newest content, which was refused.
    pub refused: Vec<Arc<str>>,
    /// In use with another content than the newest that was accepted.
    pub other: Vec<Arc<str>>,
    /// Accepted, and not there.
    pub missing: Vec<Arc<str>>,
    /// There, and not sent on this stream, or taken away since.
    pub extra: Vec<Arc<str>>,
}

impl AppliedDiff {
    /// Whether something that was accepted is not in use, and nothing says why.
    pub fn is_problem(&self) -> bool {
        !self.other.is_empty() || !self.missing.is_empty()
    }

    /// `118 of 119, 1 warming`.
    pub fn summary(&self) -> String {
        let mut text = match self.applied == self.of {
            true => count(self.of),
            false => format!("{} of {}", count(self.applied), count(self.of)),
        };
        for (names, word) in self.parts() {
            if !names.is_empty() {
                text.push_str(&format!(", {} {word}", count(names.len() as u64)));
            }
        }
        text
    }

    /// A line for each part that is not empty: its word, and its names.
    pub fn lines(&self) -> Vec<(String, &[Arc<str>])> {
        let lines = self.parts().into_iter().filter(|(names, _)| !names.is_empty());
        lines
            .map(|(names, word)| (format!("{} {word}", plural(names.len() as u64, "resource")), names))
            .collect()
    }

    fn parts(&self) -> [(&[Arc<str>], &'static str); 6] {
        [
            (&self.warming, "warming"),
            (&self.refused, "refused"),
            (&self.other, "of another content"),
            (&self.missing, "missing"),
            (&self.in_spite, "in spite of a NACK"),
            (&self.extra, "not sent"),
        ]
    }
}

/// A dump beside a source, with what was found so far.
pub struct AppliedState {
    pub dump: Dump,
    schema: Arc<Schema>,
    /// Takes secrets out of the dump as they were taken out of the source.
    redact: OnceCell<Redactor>,
    by_name: Vec<HashMap<(TypeUrl, Arc<str>), usize>>,
    /// By stream and type, with what it was found from.
    found: RefCell<HashMap<(StreamId, TypeUrl), (u64, AppliedDiff)>>,
}

impl AppliedState {
    pub fn new(dump: Dump, schema: Arc<Schema>) -> AppliedState {
        let index = |client: &DumpClient| {
            let entries = client.entries.iter().enumerate();
            entries.map(|(at, entry)| ((entry.type_url.clone(), entry.name.clone()), at)).collect()
        };
        let by_name = dump.clients.iter().map(index).collect();
        AppliedState { dump, schema, redact: OnceCell::new(), by_name, found: RefCell::default() }
    }

    /// Node ids of the dump.
    pub fn nodes(&self) -> Vec<&str> {
        self.dump.clients.iter().filter_map(|client| client.id.as_deref()).collect()
    }

    /// By its id; a dump of one client that has none is of any.
    fn client(&self, node: Option<&str>) -> Option<(usize, &DumpClient)> {
        let mut clients = self.dump.clients.iter().enumerate();
        match self.dump.clients.as_slice() {
            [one] if one.id.is_none() => Some((0, one)),
            _ => clients.find(|(_, client)| client.id.is_some() && client.id.as_deref() == node),
        }
    }

    /// `None`: the dump is of another client, or does not tell of this type.
    pub fn account(&self, state: &StateFact, store: &Store) -> Option<AppliedDiff> {
        let (at, client) = self.client(state.node.as_deref())?;
        if !client.types.iter().any(|(url, _)| *url == state.type_url) {
            return None;
        }
        let key = (state.stream, state.type_url.clone());
        let mark = store.mark(state.stream, &state.type_url);
        if let Some((_, known)) = self.found.borrow().get(&key).filter(|(of, _)| *of == mark) {
            return Some(known.clone());
        }
        let account = self.compare(at, client, state, store);
        self.found.borrow_mut().insert(key, (mark, account.clone()));
        Some(account)
    }

    fn compare(&self, at: usize, client: &DumpClient, state: &StateFact, store: &Store) -> AppliedDiff {
        let mut account = AppliedDiff::default();
        let mut sent: BTreeSet<Arc<str>> = BTreeSet::new();
        let entry = |name: &Arc<str>| -> Option<&DumpEntry> {
            let place = self.by_name.get(at)?.get(&(state.type_url.clone(), name.clone()))?;
            client.entries.get(*place)
        };
        for fact in store.resources(state.stream, &state.type_url) {
            use ResourceState::*;
            if !matches!(fact.state, Present | Kept | Orphan | Redirected) {
                continue;
            }
            account.of += 1;
            sent.insert(fact.name.clone());
            let held = entry(&fact.name);
            let is = |content: Option<&DumpContent>| {
                content.is_some_and(|content| self.same(content, &fact, store))
            };
            let name = fact.name.clone();
            if is(held.and_then(|entry| entry.active.as_ref())) {
                account.applied += 1;
                if fact.refused {
                    account.in_spite.push(name);
                }
            } else if is(held.and_then(|entry| entry.warming.as_ref())) {
                account.warming.push(name);
            } else if fact.refused || held.is_some_and(|entry| entry.refused.is_some()) {
                account.refused.push(name);
            } else if held.is_some_and(|entry| entry.active.is_some() || entry.warming.is_some()) {
                account.other.push(name);
            } else {
                account.missing.push(name);
            }
        }
        let extra = client.entries.iter().filter(|entry| {
            entry.type_url == state.type_url && entry.active.is_some() && !sent.contains(&entry.name)
        });
        account.extra.extend(extra.map(|entry| entry.name.clone()));
        account
    }

    /// Whether a content is the newest that was sent: by what it says, and by its version where one
    /// of them is not known.
    fn same(&self, content: &DumpContent, fact: &ResourceFact, store: &Store) -> bool {
        let sent = fact.content.and_then(|id| store.catalog().bytes(id));
        let (Some(sent), Some(any)) = (sent, &content.any) else {
            return content.version.is_some() && content.version == fact.version;
        };
        let seed = store.catalog().seed();
        let clean = self.redact.get_or_init(|| Redactor::new(self.schema.clone(), seed)).resource(any);
        let any = clean.as_deref().unwrap_or(any);
        if *sent == *any {
            return true;
        }
        let (sent, any) = (self.schema.any_to_json(&sent), self.schema.any_to_json(any));
        let endpoints = Kind::of_type_url(fact.type_url.as_str()).is_some_and(|(kind, _)| kind == Kind::Eds);
        if endpoints && self.dump.origin == DumpOrigin::ConfigDump {
            // Envoy dumps what it made of them: defaults, health, localities in its own order.
            return addresses(&sent) == addresses(&any);
        }
        alike(&sent, &any)
    }
}

/// The addresses of a ClusterLoadAssignment, as texts.
fn addresses(assignment: &Value) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut open = vec![assignment];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(address) = fields.get("address").filter(|address| address.is_object()) {
                    out.insert(address.to_string());
                } else {
                    open.extend(fields.values());
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    out
}

/// Equal but for secrets that were taken out of one of them: by the client, or by us.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, a)| y.get(name).is_some_and(|b| alike(a, b)))
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| alike(a, b)),
        (Value::String(x), Value::String(y)) => x == y || is_redacted(x) || is_redacted(y),
        (a, b) => a == b,
    }
}

/// A mark of ours, or Envoy's.
fn is_redacted(text: &str) -> bool {
    text.starts_with("[redacted")
}
