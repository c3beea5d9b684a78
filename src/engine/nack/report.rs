//! A refusal with all that belongs to it: what screen 6 and `log --body` tell of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::engine::store::{AcceptedFact, NackFact, Store, Verdict, VersionFact};
use crate::schema::Schema;
use crate::wire::content::BlobId;
use crate::wire::event::{Kind, Seq, StreamId, TypeUrl};

use super::{ClientKind, Extracted, Nack, RefusedPush, read};

/// Bytes of a resource that is looked into for what its refusal means, and of one that is shown.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;
const MAX_SHOWN_BYTES: u64 = 4 << 20;
/// Resources at fault whose content is shown.
const MAX_RESOURCES: usize = 3;

/// The ACK that ended a refusal.
pub type Recovery = AcceptedFact;

/// One version refused once or several times in a row.
#[derive(Clone, Debug, Default)]
pub struct NackReport {
    pub nack: Nack,
    /// Whose words these are, by the text or by the node.
    pub client: Option<ClientKind>,
    /// What this client does with the rest of the push.
    pub partly: Option<&'static str>,
    /// Resources of the refused push; `None` if it is not held any more.
    pub pushed: Option<u64>,
    /// How many of them no fault is known of; only where all faults have a name.
    pub others: Option<u64>,
    /// The same error each time.
    pub same_error: bool,
    /// The server sent the same resources each time; `None` if that is not known, or it was refused once.
    pub same_push: Option<bool>,
    /// Times between the pushes.
    pub gaps: Vec<Duration>,
    /// The resources at fault, the first few.
    pub subjects: Vec<RefusedResource>,
    pub recovery: Option<Recovery>,
}

/// A resource at fault, as refused and as last accepted.
#[derive(Clone, Debug)]
pub struct RefusedResource {
    pub name: Extracted,
    /// Paths of its fields that the NACK names, with the reasons.
    pub faults: Vec<(Extracted, String)>,
    /// What the descriptors demand of the first of these fields: `duration.gt = 0s`.
    pub rules: Vec<String>,
    /// `None` if it is not held, or is not in the push.
    pub refused: Option<Value>,
    /// The newest content accepted before it.
    pub good: Option<(VersionFact, Value)>,
}

/// The push that a NACK refused, in a store.
struct StoredPush<'a> {
    store: &'a Store,
    schema: &'a Schema,
    type_url: &'a TypeUrl,
    names: Vec<Arc<str>>,
    contents: Vec<BlobId>,
}

impl StoredPush<'_> {
    fn tree(&self, id: BlobId, limit: u64) -> Option<Value> {
        let catalog = self.store.catalog();
        let small = u64::from(catalog.blob(id).size) <= limit;
        let bytes = small.then(|| catalog.bytes(id)).flatten()?;
        Some(self.schema.any_to_json(&bytes))
    }
}

impl RefusedPush for StoredPush<'_> {
    fn type_url(&self) -> &str {
        self.type_url.as_str()
    }
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }
    fn body(&self, index: usize) -> Option<Value> {
        self.tree(*self.contents.get(index)?, MAX_SEARCHED_BYTES)
    }
}

fn stored_push<'a>(
    store: &'a Store,
    schema: &'a Schema,
    type_url: &'a TypeUrl,
    n: Option<Seq>,
) -> StoredPush<'a> {
    let (names, contents) = n.and_then(|n| store.pushed(n)).unwrap_or_default().into_iter().unzip();
    StoredPush { store, schema, type_url, names, contents }
}

/// Reads the NACK that message `n` is. `None` if it is none, or has no text.
pub fn of_message(store: &Store, schema: &Schema, n: Seq) -> Option<Nack> {
    let fact = store.line(store.row_of(n)?)?;
    let (_, text) = fact.error.as_ref()?;
    Some(read(text, &stored_push(store, schema, &fact.type_url, fact.answers), schema))
}

/// All about the refusals `nacks` of one version, oldest first.
pub fn nack_report(
    store: &Store,
    schema: &Schema,
    stream: StreamId,
    type_url: &TypeUrl,
    nacks: &[NackFact],
) -> NackReport {
    let Some(last) = nacks.last() else { return NackReport::default() };
    let push = stored_push(store, schema, type_url, last.refused);
    let nack = read(&last.message, &push, schema);
    let node = store.stream(stream).and_then(|stream| stream.node);
    let client = nack.client.or_else(|| ClientKind::of_user_agent(&node?.user_agent));
    let pushes: Vec<Seq> = nacks.iter().filter_map(|nack| nack.refused).collect();
    let pairs = || pushes.iter().zip(pushes.iter().skip(1));
    let time = |n: Seq| store.row_of(n).and_then(|row| store.line(row)).map(|line| line.at);
    let gaps = pairs().filter_map(|(a, b)| Some(time(*b)?.since(time(*a)?)));
    let mut named: Vec<&str> =
        nack.entries.iter().flat_map(|entry| &entry.name).map(|n| n.value.as_str()).collect();
    let all_named = named.len() == nack.entries.len();
    named.sort_unstable();
    named.dedup();
    let pushed = push.names.len() as u64;
    NackReport {
        client,
        partly: client
            .and_then(|client| client.partly(Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind))),
        pushed: (pushed > 0).then_some(pushed),
        others: (pushed > 0 && all_named).then(|| pushed.saturating_sub(named.len() as u64)),
        same_error: nacks.iter().all(|nack| nack.message == last.message),
        same_push: pairs().map(|(a, b)| store.same_push(*a, *b)).reduce(|a, b| Some(a? && b?)).flatten(),
        gaps: gaps.collect(),
        subjects: subjects(&nack, &push, stream, last),
        recovery: store.accepted_after(stream, type_url, last.n),
        nack,
    }
}

fn subjects(nack: &Nack, push: &StoredPush<'_>, stream: StreamId, last: &NackFact) -> Vec<RefusedResource> {
    let mut subjects: Vec<RefusedResource> = Vec::new();
    for entry in &nack.entries {
        let Some(name) = &entry.name else { continue };
        let fault = entry.field.clone().map(|field| (field, entry.reason.clone()));
        if let Some(known) = subjects.iter_mut().find(|subject| subject.name.value == name.value) {
            known.faults.extend(fault);
        } else if subjects.len() < MAX_RESOURCES {
            subjects.push(subject(name, fault, push, stream, last));
        }
    }
    subjects
}

fn subject(
    name: &Extracted,
    fault: Option<(Extracted, String)>,
    push: &StoredPush<'_>,
    stream: StreamId,
    last: &NackFact,
) -> RefusedResource {
    let at = push.names.iter().rposition(|known| **known == *name.value);
    let refused = at.and_then(|at| push.tree(*push.contents.get(at)?, MAX_SHOWN_BYTES));
    let pushed = last.refused.unwrap_or(last.n);
    let good =
        push.store.versions(stream, push.type_url, &name.value).into_iter().find(|version| {
            version.first < pushed && matches!(version.verdict, Some((Verdict::Accepted, ..)))
        });
    let good =
        good.and_then(|version| Some((version.clone(), push.tree(version.content?, MAX_SHOWN_BYTES)?)));
    let rules = fault.as_ref().zip(refused.as_ref());
    let rules = rules.map(|((field, _), body)| push.schema.rules_at(body, &field.value)).unwrap_or_default();
    RefusedResource { name: name.clone(), faults: fault.into_iter().collect(), rules, refused, good }
}
