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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "type-url-mismatch", "E-28, F-31, G-08", include_str!("type_url_mismatch.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(first) = response.scan.other_type.first() else { return };
    let catalog = ctx.catalog();
    let names: Vec<_> =
        response.scan.other_type.iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
    let inner = catalog.text(catalog.entry(*first).type_url);
    let text = format!("{inner} in a response of {}", response.track.type_url);
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}
