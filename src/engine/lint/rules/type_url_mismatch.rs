//! A resource has another type than its response.
//!
//! Why: The type URL of a response and those of its resources must agree. Clients reject the whole
//! response.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [type:lds L]
//! ```
//!
//! Advice: Send each resource in a response of its own type.
//!
//! Reference: API reference, `DiscoveryResponse.type_url`.

use crate::lint::prelude::*;
use crate::session::{key, type_of_name};
use xdscope_wire::content::BlobId;

rule! {
    type-url-mismatch: Error, rows "E-28, F-31, G-08",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // `ads-type-url-missing` covers a response without a type. No server has sent a dump.
    if response.track.type_url.is_empty() || ctx.stream.is_dump() {
        return;
    }
    let catalog = ctx.catalog();
    // `xdstp-type-mismatch` covers names whose type is that of the payload.
    let is_of_name = |id: &BlobId| {
        let entry = catalog.entry(*id);
        type_of_name(catalog.text(entry.name)).is_some_and(|url| url.as_str() == catalog.text(entry.type_url))
    };
    let other: Vec<BlobId> = response.scan.other_type.iter().copied().filter(|id| !is_of_name(id)).collect();
    let Some(first) = other.first() else { return };
    let names: Vec<_> = other.iter().map(|id| key(catalog, *id)).collect();
    let inner = catalog.text(catalog.entry(*first).type_url);
    let stated = Some(response.view.type_url).filter(|url| !url.is_empty());
    let text = format!("{inner} in a response of {}", stated.unwrap_or(&response.track.type_url));
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}
