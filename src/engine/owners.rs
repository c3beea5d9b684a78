//! The owners of resources in a session ([`xdscope_schema::owners`]).

use xdscope_schema::owners::{Owner, owners_of};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::Seq;

use crate::store::{ResourceFact, Store};

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
