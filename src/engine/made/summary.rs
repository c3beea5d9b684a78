//! Owners, and what became of all that they made.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use xdscope_schema::owners::{Owner, OwnerSource};
use xdscope_wire::event::{StreamId, TypeUrl};

use super::{MadeResource, OutcomeCounts};

/// An owner, and what became of its resources.
#[derive(Clone, Debug)]
pub struct OwnerSummary {
    /// The owner. Its source is the name only if no resource states the owner.
    pub owner: Owner,
    /// Number of resources, by type and name.
    pub resources: u64,
    /// Number of clients with one of them, by node.
    pub clients: u64,
    /// The resources in each client.
    pub counts: OutcomeCounts,
}

/// Counts the resources of each owner.
#[derive(Default)]
pub struct OwnerSummaries(BTreeMap<String, GrowingSummary>);

struct GrowingSummary {
    owner: Owner,
    resources: HashSet<(TypeUrl, Arc<str>)>,
    clients: HashSet<Client>,
    counts: OutcomeCounts,
}

/// A client: its node, else its stream.
#[derive(PartialEq, Eq, Hash)]
enum Client {
    Node(Arc<str>),
    Stream(StreamId),
}

impl OwnerSummaries {
    /// Counts a resource.
    pub fn add(&mut self, resource: &MadeResource) {
        let MadeResource { owner, fact, outcome, .. } = resource;
        let summary = self.0.entry(owner.path()).or_insert_with(|| GrowingSummary {
            owner: owner.clone(),
            resources: HashSet::new(),
            clients: HashSet::new(),
            counts: OutcomeCounts::default(),
        });
        if owner.source == OwnerSource::Metadata {
            summary.owner.source = OwnerSource::Metadata;
        }
        summary.resources.insert((fact.type_url.clone(), fact.name.clone()));
        summary.clients.insert(match &fact.node {
            Some(node) => Client::Node(node.clone()),
            None => Client::Stream(fact.stream),
        });
        summary.counts.add(*outcome);
    }

    /// Returns the owners, those with the worst outcome first.
    pub fn finish(self) -> Vec<OwnerSummary> {
        let mut summaries: Vec<OwnerSummary> = Vec::new();
        for growing in self.0.into_values() {
            let GrowingSummary { owner, resources, clients, counts } = growing;
            let (resources, clients) = (resources.len() as u64, clients.len() as u64);
            summaries.push(OwnerSummary { owner, resources, clients, counts });
        }
        summaries.sort_by_key(|summary| summary.counts.worst());
        summaries
    }
}
