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

use super::support::sort_unique;
use crate::lint::prelude::*;
use crate::session::key;
use xdscope_wire::event::Sym;

rule! {
    payload-undecodable: Error, rows "A-18",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let unreadable = response.view.resources.blobs().iter().filter(|id| catalog.is_unreadable(**id));
    let mut names: Vec<Sym> =
        response.scan.unreadable.iter().chain(unreadable).map(|id| key(catalog, *id)).collect();
    sort_unique(&mut names);
    ctx.report_names(&RULE, Blame::Server, "the payload cannot be decoded as its type", &names);
}
