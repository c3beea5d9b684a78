//! Resources of Kubernetes objects in each client, and whether they are in force.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use xdscope_schema::Schema;
use xdscope_schema::owners::{Owner, owners_of};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};

use super::Outcome;
use crate::nack;
use crate::owners::{owners_of_content, owners_of_resource};
use crate::store::{
    FirstPushFact, PendingNameFact, ResourceFact, ResourceState, SentContent, StateFact, Store, WarmingFact,
};

/// A resource that an object made, in one client.
#[derive(Clone, Debug)]
pub struct MadeResource {
    /// The object.
    pub owner: Owner,
    /// The resource.
    pub fact: ResourceFact,
    /// The resources that the resource waits for, if it warms.
    pub warming: Option<WarmingFact>,
    /// The outcome in the client.
    pub outcome: Outcome,
}

/// The message since which a resource is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MadeSince {
    /// The first push of the content.
    Push(FirstPushFact),
    /// The first request of a resource that was not sent.
    Request {
        /// The request.
        n: Seq,
        /// Time of the request.
        at: Time,
    },
}

/// A client and a resource, by stream, type and name.
type ResourceKey = (StreamId, TypeUrl, Arc<str>);

/// Calls `see` for each resource of these states and each of its owners that `is_wanted` accepts,
/// in the order of the states; resources without content come last.
///
/// The owners are those of the newest content and of the content in force. A resource that a client
/// does not have has the owners of the resource in other clients.
pub fn visit_made(
    store: &Store,
    states: &[StateFact],
    is_wanted: impl Fn(&Owner) -> bool,
    see: &mut dyn FnMut(MadeResource),
) {
    let known = KnownOwners::new(store.catalog());
    let mut warming: HashMap<ResourceKey, WarmingFact> = HashMap::new();
    for fact in store.warming() {
        // The longest wait comes first.
        warming.entry((fact.stream, fact.type_url.clone(), fact.name.clone())).or_insert(fact);
    }
    let mut see_resource = |owner: &Owner, fact: &ResourceFact, state: &StateFact| {
        let key = (fact.stream, fact.type_url.clone(), fact.name.clone());
        let warming = warming.get(&key).cloned();
        let outcome = Outcome::of(fact, state, warming.as_ref());
        see(MadeResource { owner: owner.clone(), fact: fact.clone(), warming, outcome });
    };
    let mut by_name: HashMap<(TypeUrl, Arc<str>), Vec<Owner>> = HashMap::new();
    let mut without_content = Vec::new();
    for state in states {
        for fact in store.resources(state.summary.stream, &state.summary.type_url) {
            let in_force = fact.in_force.as_ref().and_then(|known| known.content);
            if fact.content.is_none() && in_force.is_none() {
                without_content.push((fact, state));
                continue;
            }
            let newest = known.of(fact.content.or(in_force), &fact);
            let used = known.of(in_force.or(fact.content), &fact);
            let earlier = used.iter().filter(|owner| !newest.contains(owner));
            for owner in newest.iter().chain(earlier).filter(|owner| is_wanted(owner)) {
                let same_name = by_name.entry((fact.type_url.clone(), fact.name.clone())).or_default();
                if !same_name.contains(owner) {
                    same_name.push(owner.clone());
                }
                see_resource(owner, &fact, state);
            }
        }
    }
    for (fact, state) in without_content {
        match by_name.get(&(fact.type_url.clone(), fact.name.clone())) {
            Some(owners) => owners.iter().for_each(|owner| see_resource(owner, &fact, state)),
            None => {
                let owners = known.of(None, &fact);
                owners
                    .iter()
                    .filter(|owner| is_wanted(owner))
                    .for_each(|owner| see_resource(owner, &fact, state));
            }
        }
    }
}

/// Returns the message since which each resource is as it is, in one pass over the rows; `None` if
/// an earlier stream had the message, or if the message is not kept.
pub fn made_since(store: &Store, resources: &[MadeResource]) -> Vec<Option<MadeSince>> {
    let contents: Vec<SentContent<'_>> = resources.iter().map(shown_content).collect();
    let mut found: Vec<Option<MadeSince>> = Vec::new();
    for (resource, push) in resources.iter().zip(store.first_pushes(&contents)) {
        let fact = &resource.fact;
        let is_waiting = fact.state == ResourceState::Waiting || fact.is_missing();
        let since = match push {
            Some(push) if !is_waiting => Some(MadeSince::Push(push)),
            _ => {
                let pending = PendingNameFact::find(store, fact.stream, &fact.type_url, &fact.name);
                pending.map(|pending| MadeSince::Request { n: pending.requests.first, at: pending.requested })
            }
        };
        found.push(since);
    }
    found
}

/// Returns the content that the outcome is about: the refused one, that in force, else the newest.
fn shown_content(resource: &MadeResource) -> SentContent<'_> {
    let MadeResource { fact, outcome, .. } = resource;
    let content = match (outcome, &fact.refusal, &fact.in_force) {
        (Outcome::Refused, Some(refusal), _) => refusal.content,
        (Outcome::Gone, _, _) => None,
        (Outcome::InForce, _, Some(known)) => known.content.or(fact.content),
        _ => fact.content,
    };
    SentContent { stream: fact.stream, type_url: &fact.type_url, name: &fact.name, content }
}

/// A resource that a NACK names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedByNack {
    /// The type.
    pub type_url: TypeUrl,
    /// The name.
    pub name: Arc<str>,
    /// The objects that the resource was made from.
    pub owners: Vec<Owner>,
}

/// Returns the resources because of which clients refused others with them, each once.
pub fn refused_because_of(store: &Store, schema: &Schema, resources: &[MadeResource]) -> Vec<NamedByNack> {
    let mut nacks: BTreeSet<(Seq, StreamId, &TypeUrl)> = BTreeSet::new();
    for MadeResource { fact, .. } in resources.iter().filter(|made| made.outcome == Outcome::Refused) {
        if let Some(refusal) = &fact.refusal
            && !refusal.is_named
        {
            nacks.insert((refusal.nack, fact.stream, &fact.type_url));
        }
    }
    let mut named: BTreeSet<NamedByNack> = BTreeSet::new();
    for (n, stream, type_url) in nacks {
        let faults = nack::of_message(store, schema, n).map(|nack| nack.entries).unwrap_or_default();
        for name in faults.into_iter().filter_map(|fault| fault.name) {
            if let Some(fact) = store.resource(stream, type_url, &name.value) {
                let owners = owners_of_resource(store.catalog(), &fact);
                named.insert(NamedByNack { type_url: fact.type_url, name: fact.name, owners });
            }
        }
    }
    named.into_iter().collect()
}

/// Owners by content, each content read once: clients share most of them.
struct KnownOwners<'a> {
    catalog: &'a Catalog,
    by_content: RefCell<HashMap<BlobId, Rc<[Owner]>>>,
}

impl<'a> KnownOwners<'a> {
    fn new(catalog: &'a Catalog) -> KnownOwners<'a> {
        KnownOwners { catalog, by_content: RefCell::default() }
    }

    /// Returns the owners of a content of a resource, or those in the name of a resource without
    /// content.
    fn of(&self, content: Option<BlobId>, fact: &ResourceFact) -> Rc<[Owner]> {
        let Some(content) = content else { return owners_of(&[], &fact.name).into() };
        let mut known = self.by_content.borrow_mut();
        known.entry(content).or_insert_with(|| owners_of_content(self.catalog, content).into()).clone()
    }
}
