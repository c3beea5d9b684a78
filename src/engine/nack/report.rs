//! A report on the NACKs of a version, for the NACK screen and `log --body`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::constraints::BrokenConstraints;
use crate::owners::owners_of_content;
use crate::store::{AcceptedFact, NackFact, Store, Verdict, VersionFact};
use xdscope_schema::Schema;
use xdscope_schema::owners::Owner;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Seq, StreamId, TypeUrl};

use super::effect::{InUse, NackEffect, effects, in_use_of};
use super::{ClientKind, Extracted, Nack, NamedFields, PartialUse, RefusedPush, read};

/// Maximum size of a resource to search for faults.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;
/// Maximum size of a resource to show.
const MAX_SHOWN_BYTES: u64 = 4 << 20;
/// Maximum number of faulty resources with content.
const MAX_RESOURCES: usize = 3;
/// Maximum number of earlier streams of the client that are searched for an accepted content.
const MAX_EARLIER_STREAMS: usize = 4;

/// The ACK that ended a series of NACKs.
pub type Recovery = AcceptedFact;

/// A report on consecutive NACKs of one version.
#[derive(Clone, Debug, Default)]
pub struct NackReport {
    /// The parsed text of the newest NACK.
    pub nack: Nack,
    /// The implementation of the client, by the text or the node.
    pub client: Option<ClientKind>,
    /// How the client uses the rest of the response.
    pub partial_use: Option<PartialUse>,
    /// Whether the stream is a delta stream.
    pub is_delta: bool,
    /// Number of resources in the rejected response. `None` if the response is no longer available.
    pub pushed: Option<u64>,
    /// Number of resources without a known fault. `None` unless all faults have a name.
    pub others: Option<u64>,
    /// Whether all NACKs have the same error.
    pub same_error: bool,
    /// Whether the server sent the same resources each time. `None` if unknown or for a single
    /// NACK.
    pub same_push: Option<bool>,
    /// Times between the NACKs.
    pub gaps: Vec<Duration>,
    /// The first few faulty resources.
    pub subjects: Vec<RefusedResource>,
    /// The effects on traffic.
    pub effects: Vec<NackEffect>,
    /// The ACK that ended the NACKs, if any.
    pub recovery: Option<Recovery>,
}

/// A faulty resource with the rejected and the last accepted content.
#[derive(Clone, Debug)]
pub struct RefusedResource {
    /// Name of the resource.
    pub name: Extracted,
    /// Paths of the fields that the NACK names, with the reasons.
    pub faults: Vec<(Extracted, String)>,
    /// The constraints on the first of these fields that is not a guess, if it has any.
    pub rules: Option<FieldRules>,
    /// The Kubernetes objects that the rejected content was made from.
    pub owners: Vec<Owner>,
    /// All constraints that the rejected content breaks.
    pub broken: BrokenConstraints,
    /// The rejected content. `None` if unavailable or not in the response.
    pub refused: Option<Value>,
    /// The newest content that the client accepted before.
    pub good: Option<(VersionFact, Value)>,
    /// The version that the client uses.
    pub in_use: InUse,
    /// The earlier stream of the client with the accepted content; `None` for the stream of the
    /// NACK.
    pub good_stream: Option<StreamId>,
}

/// A field and its constraints, such as `duration.gt = 0s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRules {
    /// Path of the field.
    pub field: String,
    /// The constraints.
    pub rules: Vec<String>,
}

/// The rejected response in a store.
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
        if u64::from(catalog.blob(id).size) > limit {
            return None;
        }
        Some(self.schema.any_to_json(&catalog.bytes(id)?))
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

/// Parses the text of NACK `n`. Returns `None` if the message is not a NACK or has no text.
pub fn of_message(store: &Store, schema: &Schema, n: Seq) -> Option<Nack> {
    let fact = store.line(store.row_of(n)?)?;
    let (_, text) = fact.error.as_ref()?;
    Some(read(text, &stored_push(store, schema, &fact.type_url, fact.answers), schema))
}

/// Returns the report on `nacks` of one version, oldest first.
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
    let gaps = nacks.windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect();
    let names = nack.entries.iter().filter_map(|fault| fault.name.as_ref());
    let mut named: Vec<&str> = names.map(|name| name.value.as_str()).collect();
    let all_named = named.len() == nack.entries.len();
    named.sort_unstable();
    named.dedup();
    let pushed = push.names.len() as u64;
    let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
    let variant = store.stream(stream).and_then(|stream| stream.variant);
    NackReport {
        client,
        is_delta: variant.is_some_and(|variant| variant.is_delta()),
        partial_use: PartialUse::by_client(client, kind, &last.message, push.names.len()),
        pushed: if pushed > 0 { Some(pushed) } else { None },
        others: if pushed > 0 && all_named { Some(pushed.saturating_sub(named.len() as u64)) } else { None },
        same_error: nacks.iter().all(|nack| nack.has_reason_of(last)),
        same_push: are_same_pushes(store, nacks),
        gaps,
        subjects: refused_resources(&nack, &push, stream, last),
        effects: effects(&nack, &push, store, stream, type_url, last),
        recovery: recovery(&nack, store, stream, type_url, nacks),
        nack,
    }
}

/// Whether all refused responses have equal resources. `None` for a single response, and if one of
/// them was dropped.
fn are_same_pushes(store: &Store, nacks: &[NackFact]) -> Option<bool> {
    let pushes: Vec<Seq> = nacks.iter().filter_map(|nack| nack.refused).collect();
    let mut all_same = None;
    for pair in pushes.windows(2) {
        let is_same = store.same_push(pair[0], pair[1])?;
        all_same = Some(all_same.unwrap_or(true) && is_same);
    }
    all_same
}

/// Returns the ACK of a later version, unless the client still refuses one of the resources.
///
/// On a delta stream, that is a version of the first faulty resource.
fn recovery(
    nack: &Nack,
    store: &Store,
    stream: StreamId,
    type_url: &TypeUrl,
    nacks: &[NackFact],
) -> Option<Recovery> {
    let last = nacks.last()?;
    let state = store.state(stream, type_url)?;
    let is_newest = state.verdicts.nacks.last().map(|nack| nack.n) == Some(last.n);
    if state.is_refusing(nacks, is_newest) {
        return None;
    }
    let name = match nack.entries.iter().find_map(|fault| fault.name.as_ref()) {
        Some(name) if !last.resources.is_empty() => name,
        _ => return store.accepted_after(stream, type_url, last),
    };
    let versions = store.versions(stream, type_url, &name.value).into_iter().rev();
    let mut later = versions.filter(|version| Some(version.first) > last.refused);
    later.find_map(|version| {
        let by = version.verdict.filter(|by| by.verdict == Verdict::Accepted)?;
        Some(Recovery { n: by.n, at: by.at, version: version.version })
    })
}

/// Returns the resources that a NACK names, each with its faults.
fn refused_resources(
    nack: &Nack,
    push: &StoredPush<'_>,
    stream: StreamId,
    last: &NackFact,
) -> Vec<RefusedResource> {
    let mut faults: Vec<(&Extracted, Vec<(Extracted, String)>)> = Vec::new();
    for fault in &nack.entries {
        let Some(name) = &fault.name else { continue };
        let field = fault.field.clone().map(|field| (field, fault.reason.clone()));
        if let Some((_, known)) = faults.iter_mut().find(|(known, _)| known.value == name.value) {
            known.extend(field);
        } else if faults.len() < MAX_RESOURCES {
            faults.push((name, field.into_iter().collect()));
        }
    }
    let resources = faults.into_iter();
    resources.map(|(name, faults)| refused_resource(name, faults, push, stream, last)).collect()
}

/// Compares the refused content of a resource with the last good version.
fn refused_resource(
    name: &Extracted,
    faults: Vec<(Extracted, String)>,
    push: &StoredPush<'_>,
    stream: StreamId,
    last: &NackFact,
) -> RefusedResource {
    let mut resource = RefusedResource {
        name: name.clone(),
        faults,
        rules: None,
        owners: Vec::new(),
        broken: BrokenConstraints::default(),
        refused: None,
        good: None,
        good_stream: None,
        in_use: in_use_of(push.store, stream, push.type_url, &name.value),
    };
    if let Some(index) = push.names.iter().rposition(|known| **known == *name.value)
        && let Some(content) = push.contents.get(index).copied()
    {
        let named = NamedFields::read(&last.message, &push.names, &name.value);
        resource.broken = BrokenConstraints::check(push.store, push.schema, content, Some(&named));
        resource.owners = owners_of_content(push.store.catalog(), content);
        resource.refused = push.tree(content, MAX_SHOWN_BYTES);
    }
    // A rule explains the NACK only if the text names its field.
    if let Some(body) = &resource.refused
        && let Some((field, _)) = resource.faults.iter().find(|(field, _)| !field.guessed)
    {
        let rules = push.schema.rules_at(body, &field.value);
        if !rules.is_empty() {
            resource.rules = Some(FieldRules { field: field.value.clone(), rules });
        }
    }
    let pushed = last.refused.unwrap_or(last.n);
    let earlier = push.store.earlier_streams(stream).into_iter().take(MAX_EARLIER_STREAMS);
    for candidate in [stream].into_iter().chain(earlier) {
        if let Some(good) = good_version(push, candidate, &name.value, pushed, candidate == stream) {
            resource.good = Some(good);
            resource.good_stream = if candidate == stream { None } else { Some(candidate) };
            break;
        }
    }
    resource
}

/// Returns the last good version of a resource on a stream, before the refused response, with its
/// body. `is_own`: on the stream of the NACK the version in force counts as good, too.
fn good_version(
    push: &StoredPush<'_>,
    stream: StreamId,
    name: &str,
    pushed: Seq,
    is_own: bool,
) -> Option<(VersionFact, Value)> {
    let mut in_force = None;
    if is_own && let Some(fact) = push.store.resource(stream, push.type_url, name) {
        in_force = fact.in_force.map(|known| known.version);
    }
    let good = push.store.versions(stream, push.type_url, name).into_iter().find(|version| {
        let is_accepted = version.verdict.is_some_and(|by| by.verdict == Verdict::Accepted);
        // The client may refuse a version that it has.
        let is_held = in_force.as_ref() == Some(&version.version);
        version.first < pushed && (is_accepted || is_held)
    })?;
    let body = push.tree(good.content?, MAX_SHOWN_BYTES)?;
    Some((good, body))
}
