//! The owners of resources in a session ([`xdscope_schema::owners`]), and what an owner made.

mod made;
mod outcome;
mod pattern;
mod problems;
mod summary;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use xdscope_schema::owners::{Owner, owners_of};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::Seq;

use crate::store::{ResourceFact, Store};

pub use made::{MadeResource, MadeSince, NamedByNack, made_since, refused_because_of, visit_made};
pub use outcome::{Outcome, OutcomeCounts};
pub use pattern::OwnerPattern;
pub use problems::{owners_of_finding, owners_of_problem};
pub use summary::{OwnerSummaries, OwnerSummary};

/// Returns the owners of the newest content of a resource. Of a resource without content, the name
/// may tell the owner.
pub fn owners_of_resource(catalog: &Catalog, fact: &ResourceFact) -> Vec<Owner> {
    match fact.content {
        Some(content) => owners_of_content(catalog, content),
        None => owners_of(&[], &fact.name),
    }
}

/// Returns the owners of the resources in a response, resource by resource.
pub fn owners_of_message(store: &Store, n: Seq) -> impl Iterator<Item = Owner> {
    let message = store.message(n);
    let list = message.as_ref().and_then(|message| message.resources());
    let contents = list.map_or_else(Vec::new, |list| list.blobs().to_vec());
    contents.into_iter().flat_map(|content| owners_of_content(store.catalog(), content))
}

/// Returns the owners of a content.
pub fn owners_of_content(catalog: &Catalog, content: BlobId) -> Vec<Owner> {
    let entry = catalog.entry(content);
    let any = catalog.bytes(entry.payload.unwrap_or(content));
    owners_of(any.as_deref().unwrap_or_default(), catalog.text(entry.name))
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
