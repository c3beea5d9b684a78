//! Comparison of the resources sent on a stream with the resources that the client has applied.
//!
//! A dump describes a client as a whole, and the client may use several streams, such as one for
//! each secret. So a stream is compared with regard to the other open streams of its client. What
//! closed streams have sent is left out.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::store::{ResourceFact, StateFact, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::content::Redact;
use xdscope_wire::event::{Kind, StreamId, TypeUrl};

use super::client_streams::{ClientStreams, SentResources, is_present};
use super::dump::{Dump, DumpClient, DumpContent, DumpEntry, DumpOrigin, DumpRefusal};

/// The resources of one type on a stream, by their state at the client. Names are in order of
/// appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedDiff {
    /// Number of resources sent to the client.
    pub total: u64,
    /// Number of resources whose newest content is in use.
    pub applied: u64,
    /// In use although the client rejected the response.
    pub despite_nack: Vec<Arc<str>>,
    /// Accepted, but not in use yet.
    pub warming: Vec<Arc<str>>,
    /// Rejected in their newest content.
    pub refused: Vec<Arc<str>>,
    /// Those of `refused` that the client has accepted on the stream, with the reasons in the dump.
    pub refused_accepted: Vec<(Arc<str>, Arc<str>)>,
    /// In use with a different content than the newest accepted one.
    pub differing: Vec<Arc<str>>,
    /// Accepted, but not present at the client.
    pub missing: Vec<Arc<str>>,
    /// Present at the client, but on none of its open streams: never sent, or removed since.
    ///
    /// Listed with the first of the streams that have the type.
    pub extra: Vec<Arc<str>>,
}

/// Whether a client says that it rejects what it has accepted on the wire.
fn denies(rejection: &DumpRefusal, fact: &ResourceFact) -> bool {
    let is_accepted = fact.refusal.is_none() && !fact.is_unanswered && fact.acked_version == fact.version;
    let version = rejection.content.version.as_ref().filter(|version| !version.is_empty());
    is_accepted && version.is_none_or(|version| Some(version) == fact.version.as_ref())
}

/// Whether a refused push keeps the newest content of a resource out of use: the client has refused
/// the resource, or the whole push because of another one.
fn is_kept_out(fact: &ResourceFact) -> bool {
    fact.refused || fact.is_in_unused_push()
}

impl AppliedDiff {
    /// Whether an accepted resource is not in use for no known reason.
    pub fn is_problem(&self) -> bool {
        !self.differing.is_empty() || !self.missing.is_empty() || !self.refused_accepted.is_empty()
    }
}

/// A dump to compare with a source, with a cache of comparisons.
pub struct AppliedState {
    /// The dump.
    pub dump: Dump,
    schema: Arc<Schema>,
    /// Redacts the dump with the seed of the source.
    redact: OnceCell<Redactor>,
    by_name: Vec<HashMap<(TypeUrl, Arc<str>), usize>>,
    streams: RefCell<ClientStreams>,
    /// Comparisons by stream and type, with the revision of the client's state.
    found: RefCell<HashMap<(StreamId, TypeUrl), (u64, AppliedDiff)>>,
}

impl AppliedState {
    /// Creates the comparison of a dump. `schema` decodes the resources of both sides.
    pub fn new(dump: Dump, schema: Arc<Schema>) -> AppliedState {
        let index = |client: &DumpClient| {
            let entries = client.entries.iter().enumerate();
            entries.map(|(at, entry)| ((entry.type_url.clone(), entry.name.clone()), at)).collect()
        };
        let by_name = dump.clients.iter().map(index).collect();
        AppliedState {
            dump,
            schema,
            redact: OnceCell::new(),
            by_name,
            streams: RefCell::default(),
            found: RefCell::default(),
        }
    }

    /// Returns the node ids in the dump.
    pub fn nodes(&self) -> Vec<&str> {
        self.dump.clients.iter().filter_map(|client| client.id.as_deref()).collect()
    }

    /// Returns the client with this node id. A dump of a single client without id matches all
    /// nodes.
    fn client(&self, node: Option<&str>) -> Option<(usize, &DumpClient)> {
        let mut clients = self.dump.clients.iter().enumerate();
        match self.dump.clients.as_slice() {
            [one] if one.id.is_none() => Some((0, one)),
            _ => clients.find(|(_, client)| client.id.is_some() && client.id.as_deref() == node),
        }
    }

    /// Returns the resources of a type that the client has requested and not received, as its dump
    /// says.
    pub fn unreceived(&self, node: Option<&str>, kind: Kind) -> Vec<Arc<str>> {
        let Some((_, client)) = self.client(node) else { return Vec::new() };
        let is_unreceived = |entry: &&DumpEntry| {
            let is_of_kind =
                Kind::of_type_url(entry.type_url.as_str()).is_some_and(|(known, _)| known == kind);
            is_of_kind && entry.is_requested && entry.active.is_none()
        };
        client.entries.iter().filter(is_unreceived).map(|entry| entry.name.clone()).collect()
    }

    /// Compares the resources of a type on an open stream with the dump.
    ///
    /// Returns `None` if the stream is closed, or if the dump lacks the client or the type.
    pub fn compare(&self, state: &StateFact, store: &Store) -> Option<AppliedDiff> {
        let (at, client) = self.client(state.summary.node.as_deref())?;
        let is_closed = state.summary.last_state.is_some();
        if is_closed || !client.types.iter().any(|(url, _)| *url == state.summary.type_url) {
            return None;
        }
        let sent = self.streams.borrow_mut().sent(state, store);
        let key = (state.summary.stream, state.summary.type_url.clone());
        if let Some((_, known)) = self.found.borrow().get(&key).filter(|(mark, _)| *mark == sent.mark) {
            return Some(known.clone());
        }
        let diff = self.compare_resources(at, client, &sent, state, store);
        self.found.borrow_mut().insert(key, (sent.mark, diff.clone()));
        Some(diff)
    }

    fn compare_resources(
        &self,
        at: usize,
        client: &DumpClient,
        sent: &SentResources,
        state: &StateFact,
        store: &Store,
    ) -> AppliedDiff {
        let mut diff = AppliedDiff::default();
        let entry_of = |name: &Arc<str>| -> Option<&DumpEntry> {
            let index = self.by_name.get(at)?.get(&(state.summary.type_url.clone(), name.clone()))?;
            client.entries.get(*index)
        };
        for fact in store.resources(state.summary.stream, &state.summary.type_url) {
            if is_present(&fact) {
                self.place(&fact, entry_of(&fact.name), sent, store, &mut diff);
            }
        }
        if sent.first == state.summary.stream {
            let is_extra = |entry: &&DumpEntry| {
                let is_active = entry.type_url == state.summary.type_url && entry.active.is_some();
                is_active && !sent.streams_of.contains_key(&entry.name)
            };
            diff.extra.extend(client.entries.iter().filter(is_extra).map(|entry| entry.name.clone()));
        }
        diff
    }

    /// Adds a present resource to the list of its state at the client.
    fn place(
        &self,
        fact: &ResourceFact,
        entry: Option<&DumpEntry>,
        sent: &SentResources,
        store: &Store,
        diff: &mut AppliedDiff,
    ) {
        diff.total += 1;
        let name = fact.name.clone();
        let rejection = match entry {
            Some(entry) if !fact.refused => entry.refused.as_ref(),
            _ => None,
        };
        let active = entry.and_then(|entry| entry.active.as_ref());
        let warming = entry.and_then(|entry| entry.warming.as_ref());
        let is_newest = |content: &DumpContent| self.is_newest(content, fact, store);
        if active.is_some_and(is_newest) {
            if self.is_only_received(fact) {
                diff.refused.push(name);
                return;
            }
            diff.applied += 1;
            if fact.refused {
                diff.despite_nack.push(name);
            }
        } else if warming.is_some_and(is_newest) {
            diff.warming.push(name);
        } else if active.is_some_and(|content| self.is_of_other_stream(content, fact, sent, store)) {
            diff.applied += 1;
        } else if is_kept_out(fact) || rejection.is_some_and(|rejection| !denies(rejection, fact)) {
            diff.refused.push(name);
        } else if let Some(rejection) = rejection {
            diff.refused_accepted.push((name.clone(), rejection.text.as_str().into()));
            diff.refused.push(name);
        } else if active.is_some() || warming.is_some() {
            diff.differing.push(name);
        } else {
            diff.missing.push(name);
        }
    }

    /// Whether another stream of the client has sent the content that the client uses.
    fn is_of_other_stream(
        &self,
        content: &DumpContent,
        fact: &ResourceFact,
        sent: &SentResources,
        store: &Store,
    ) -> bool {
        for stream in sent.streams_of.get(&fact.name).into_iter().flatten() {
            if *stream != fact.stream
                && let Some(other) = store.resource(*stream, &fact.type_url, &fact.name)
                && self.is_newest(content, &other, store)
            {
                return true;
            }
        }
        false
    }

    /// Whether an Envoy lists a content that was never in use: its dump has the first extension
    /// configuration that it was sent, also if it has refused the configuration.
    fn is_only_received(&self, fact: &ResourceFact) -> bool {
        let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
        self.dump.origin == DumpOrigin::ConfigDump
            && kind == Some(Kind::Ecds)
            && fact.refused
            && fact.in_force.is_none()
    }

    /// Whether a content equals the newest one that was sent.
    ///
    /// Compares the versions if one of the contents is unavailable.
    fn is_newest(&self, content: &DumpContent, fact: &ResourceFact, store: &Store) -> bool {
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
            // Envoy's dump adds defaults and health, and reorders localities.
            return addresses(&sent) == addresses(&any);
        }
        equal_except_secrets(&sent, &any)
    }
}

/// Returns the addresses in a ClusterLoadAssignment as texts.
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

/// Whether two values are equal except for redacted secrets.
fn equal_except_secrets(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(name, a)| y.get(name).is_some_and(|b| equal_except_secrets(a, b)))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| equal_except_secrets(a, b))
        }
        (Value::String(x), Value::String(y)) => x == y || is_redacted(x) || is_redacted(y),
        (a, b) => a == b,
    }
}

/// Whether a text is a placeholder of xdscope or Envoy.
fn is_redacted(text: &str) -> bool {
    text.starts_with("[redacted")
}
