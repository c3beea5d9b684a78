//! A client states a version that it was neither sent last nor accepted last.
//!
//! Why: After a reconnect a client states the versions that it holds. A version that does not fit
//! shows that the cache of the client and its statement differ.
//!
//! Example:
//! ```text
//! stream 2 delta cds
//! > sub=[wb] irv={wb:9}
//! ```
//!
//! Advice: Check the cache of the client.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;
use crate::session::{Presence, ResourceEntry};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Sym;
use xdscope_wire::text::shown_name;

rule! {
    irv-version-surprise: Info, rows "F-34";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta() else { return };
    if !request.outcome.first {
        return;
    }
    let Some(prior) = ctx.previous_track(&request.track.type_url) else { return };
    let catalog = ctx.catalog();
    let surprises = |name: Sym, version: Sym| {
        let known: Vec<ResourceEntry> = [prior.sent.get(catalog, name), prior.accepted.get(catalog, name)]
            .into_iter()
            .flatten()
            .collect();
        let is_other = |entry: &ResourceEntry| is_gone(entry) || entry.version != version;
        // A stream before the last one may have sent what the last one still owed.
        let claim = request.track.carried.claims.get(name);
        let is_owed = claim.is_some_and(|(claim, _)| claim.known == Some(version));
        !known.is_empty() && known.iter().all(|entry| prior.is_current(entry) && is_other(entry)) && !is_owed
    };
    let claims = body.initial_resource_versions.iter().map(|(name, version)| (*name, *version));
    let surprises: Vec<(Sym, Sym)> = claims.filter(|(name, version)| surprises(*name, *version)).collect();
    let Some((first, stated)) = surprises.first().copied() else { return };
    let stated = shown_name(catalog.text(stated));
    let sent = known_state(catalog, prior.sent.get(catalog, first));
    let accepted = known_state(catalog, prior.accepted.get(catalog, first));
    let text = match sent == accepted {
        true => format!("states version {stated}, but {sent} was sent and accepted last"),
        false => format!("states version {stated}, but {sent} was sent last and {accepted} accepted last"),
    };
    let names: Vec<Sym> = surprises.into_iter().map(|(name, _)| name).collect();
    ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &names));
}

/// Returns `version 3`, `its removal` or `no version`.
fn known_state(catalog: &Catalog, entry: Option<ResourceEntry>) -> String {
    match entry {
        Some(entry) if is_gone(&entry) => "its removal".to_owned(),
        Some(entry) => format!("version {}", shown_name(catalog.text(entry.version))),
        None => "no version".to_owned(),
    }
}

/// Whether a resource was removed, or does not exist.
fn is_gone(entry: &ResourceEntry) -> bool {
    matches!(entry.state, Presence::Removed | Presence::Absent(_))
}
