//! The owners of the resources that problems and findings are about.

use std::sync::Arc;

use xdscope_schema::owners::Owner;
use xdscope_wire::event::{StreamId, TypeUrl};

use crate::lint::Finding;
use crate::owners::owners_of_resource;
use crate::problems::ProblemFact;
use crate::store::Store;

/// Resources of a problem whose owners are looked up.
const MAX_NAMES: usize = 16;

/// Returns the owners of the resources that a problem is about, each once.
pub fn owners_of_problem(store: &Store, problem: &ProblemFact) -> Vec<Owner> {
    owners_of_names(store, problem.stream, &problem.type_url, &problem.resource_names())
}

/// Returns the owners of the resource that a finding is about; none of a finding about several.
pub fn owners_of_finding(store: &Store, finding: &Finding) -> Vec<Owner> {
    match &finding.names[..] {
        [_] => owners_of_names(store, finding.stream, &finding.type_url, &finding.names),
        _ => Vec::new(),
    }
}

/// Returns the owners of the first resources with these names, each once.
fn owners_of_names(store: &Store, stream: StreamId, type_url: &TypeUrl, names: &[Arc<str>]) -> Vec<Owner> {
    let mut owners: Vec<Owner> = Vec::new();
    for name in names.iter().take(MAX_NAMES) {
        let Some(fact) = store.resource(stream, type_url, name) else { continue };
        for owner in owners_of_resource(store.catalog(), &fact) {
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
    }
    owners
}
