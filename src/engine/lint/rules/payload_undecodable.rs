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

use crate::lint::prelude::*;

rule! {
    payload-undecodable: Error, rows "A-18",
    ends(Ending::Content);
    checks: Response(check)
}

use crate::session::key;
use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let unreadable = response.view.resources.blobs().iter().filter(|id| catalog.is_unreadable(**id));
    let mut names: Vec<Sym> =
        response.scan.unreadable.iter().chain(unreadable).map(|id| key(catalog, *id)).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        let text = "the payload cannot be decoded as its type".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
