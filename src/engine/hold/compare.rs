use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::HeldFact;
use crate::diff::{Change, Options, compare};
use crate::store::Store;
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Kind, StreamId, Time, TypeUrl};
use xdscope_wire::{MessageBuilder, MessageShape};

/// Resources of one message that are compared; the others are counted.
const MAX_COMPARED: usize = 10_000;

/// Resources whose changed fields are listed; of the others only the names are.
const MAX_EXPLAINED: usize = 200;

/// A resource that a held message would change.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldResource {
    /// The name.
    pub name: Arc<str>,
    /// The changed fields; `None` if there are too many resources to list them.
    pub changes: Option<Vec<Change>>,
}

/// The difference between a held push and what its client has acknowledged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldDiff {
    /// The version that the client acknowledged last.
    pub base: Option<Arc<str>>,
    /// Resources that the client does not have.
    pub added: Vec<Arc<str>>,
    /// Resources with other content.
    pub changed: Vec<HeldResource>,
    /// Resources that the client would lose.
    pub removed: Vec<Arc<str>>,
    /// Resources with equal content.
    pub same: u64,
    /// Resources that were not compared.
    pub uncompared: u64,
}

impl HeldDiff {
    /// Returns the resources that the push would add, change and remove.
    pub fn counts(&self) -> [usize; 3] {
        [self.added.len(), self.changed.len(), self.removed.len()]
    }
}

/// The resources of a push by name, without secrets.
struct HeldContents {
    resources: Vec<(Arc<str>, Option<Bytes>)>,
    removed: Vec<Arc<str>>,
}

impl HeldContents {
    /// Reads a push with the redaction of a catalog, so that contents of both can be compared.
    fn read(shape: MessageShape, bytes: &[u8], like: &Catalog) -> HeldContents {
        let mut catalog = scratch(like);
        let mut builder = MessageBuilder::new(shape);
        builder.push(bytes, &mut catalog);
        let mut contents = HeldContents { resources: Vec::new(), removed: Vec::new() };
        let Ok(message) = builder.finish(&mut catalog) else { return contents };
        let Some(response) = message.response() else { return contents };
        let text = |sym| Arc::<str>::from(catalog.text(sym));
        for blob in response.resources.blobs().iter().take(MAX_COMPARED) {
            let entry = catalog.entry(*blob);
            let payload = entry.payload.and_then(|payload| catalog.bytes(payload));
            contents.resources.push((text(entry.name), payload));
        }
        contents.removed.extend(response.removed.iter().map(|name| text(*name)));
        contents
    }
}

/// A response of the type that a held push refers to, which passed while the push was held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedResponse {
    /// The type of the response: of the endpoints of held clusters, or of the routes of held
    /// listeners.
    pub type_url: TypeUrl,
    /// The version of the response; may be empty.
    pub version: Arc<str>,
}

/// Returns the newest response of the type that a held push refers to, if it passed since `since`.
///
/// A client that gets clusters after their endpoints asks for the endpoints again, and the clusters
/// wait for the answer.
pub fn passed_meanwhile(
    store: &Store,
    fact: &HeldFact,
    stream: StreamId,
    since: Time,
) -> Option<PassedResponse> {
    let (kind, api) = Kind::of_type_url(fact.type_url.as_str()).filter(|_| fact.is_push())?;
    let referred = match kind {
        Kind::Cds => Kind::Eds,
        Kind::Lds => Kind::Rds,
        _ => return None,
    };
    let type_url = referred.type_url(api)?;
    let state = store.state(stream, &type_url)?;
    let has_passed = state.traffic.last_push.is_some_and(|push| push.at >= since);
    has_passed.then(|| PassedResponse { version: state.versions.offered.unwrap_or_default(), type_url })
}

/// Compares a push that is held with what its client has on a stream.
///
/// `stream` is `None` if the stream is not known yet: the client then has nothing.
pub fn compare_held(store: &Store, schema: &Schema, fact: &HeldFact, stream: Option<StreamId>) -> HeldDiff {
    let catalog = store.catalog();
    let contents = HeldContents::read(fact.shape, &fact.bytes, catalog);
    let known = |name: &str| {
        let fact = store.resource(stream?, &fact.type_url, name)?;
        let in_force = fact.in_force?;
        in_force.content.and_then(|content| catalog.bytes(content))
    };
    let base = stream.and_then(|stream| store.acknowledged_version(stream, &fact.type_url));
    let mut diff = HeldDiff { base, ..HeldDiff::default() };
    diff.uncompared = fact.count.saturating_sub(contents.resources.len() as u64);
    for (name, new) in &contents.resources {
        let Some(old) = known(name) else {
            diff.added.push(name.clone());
            continue;
        };
        if new.as_ref() == Some(&old) {
            diff.same += 1;
            continue;
        }
        let changes = match new {
            Some(new) if diff.changed.len() < MAX_EXPLAINED => Some(changes(schema, &old, new)),
            _ => None,
        };
        match &changes {
            // The bytes differ, the meaning does not.
            Some(changes) if changes.is_empty() => diff.same += 1,
            _ => diff.changed.push(HeldResource { name: name.clone(), changes }),
        }
    }
    diff.removed = contents.removed;
    if states_everything(fact)
        && let Some(stream) = stream
    {
        let sent: HashSet<&str> = contents.resources.iter().map(|(name, _)| &**name).collect();
        let names = store.first_resource_names(stream, &fact.type_url, MAX_COMPARED);
        let lost = |name: &Arc<str>| !sent.contains(&**name) && known(name).is_some();
        diff.removed.extend(names.into_iter().filter(lost));
    }
    diff
}

/// Returns an empty catalog with the redaction of another one.
fn scratch(like: &Catalog) -> Catalog {
    Catalog::new(like.seed(), like.redactor().cloned(), Box::new(MemoryBodies::default()))
}

/// Returns a message as the store would keep it: without secrets.
pub fn without_secrets(fact: &HeldFact, like: &Catalog) -> Option<Vec<u8>> {
    let mut catalog = scratch(like);
    let mut builder = MessageBuilder::new(fact.shape);
    builder.push(&fact.bytes, &mut catalog);
    builder.finish(&mut catalog).ok()?.bytes(&catalog)
}

/// Whether a push without a resource removes the resource: SotW listeners and clusters.
fn states_everything(fact: &HeldFact) -> bool {
    let kind = Kind::of_type_url(fact.type_url.as_str()).map(|(kind, _)| kind);
    fact.shape == MessageShape::SotwResponse && matches!(kind, Some(Kind::Lds | Kind::Cds))
}

fn changes(schema: &Schema, old: &[u8], new: &[u8]) -> Vec<Change> {
    let tree = |bytes: &[u8]| -> Value { schema.tree("google.protobuf.Any", bytes, FieldNames::Original) };
    compare(&tree(old), &tree(new), &Options::default()).changes
}
