//! The payload of a resource is not a message of its type.
//!
//! Why: The bytes end in the middle of a field, or have a value that the type does not allow. The
//! client cannot read the resource and rejects it.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [ok raw:CjN0eXBl…]   # a payload that ends in the middle of a field
//! ```
//!
//! Advice: Check how the server serializes the resource, and whether its type URL is right.
//!
//! Reference: protobuf, "Encoding".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "payload-undecodable", "A-18", include_str!("payload_undecodable.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use crate::engine::session::key;
use crate::wire::content::BlobId;
use crate::wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let types = ctx.options.types.as_ref();
    let is_known = |type_url: Sym| {
        let name = catalog.text(type_url).rsplit('/').next().unwrap_or_default();
        types.is_some_and(|known| known(name))
    };
    let is_unreadable = |id: &&BlobId| {
        let entry = catalog.entry(**id);
        let Some(payload) = entry.payload else { return false };
        // The check of constraints has tried to read the resource.
        let checked = ctx.source_state.constraint_violations.get(&payload);
        checked.is_some_and(Option::is_none) && is_known(entry.type_url)
    };
    let unreadable = response.view.resources.blobs().iter().filter(is_unreadable);
    let mut names: Vec<Sym> =
        response.scan.unreadable.iter().chain(unreadable).map(|id| key(catalog, *id)).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        let text = "the payload cannot be decoded as its type".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
