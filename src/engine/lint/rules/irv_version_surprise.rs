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

rule! {
    irv-version-surprise: Info, rows "F-34";
    checks: Request(check)
}

use crate::session::{Presence, ResourceEntry};

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta().filter(|_| request.outcome.first) else { return };
    let Some(prior) = ctx.previous_track(&request.track.type_url) else {
        return;
    };
    let catalog = ctx.catalog();
    let surprises = |name: xdscope_wire::event::Sym, version: xdscope_wire::event::Sym| {
        let known = [prior.sent.get(catalog, name), prior.accepted.get(catalog, name)];
        let is_current = known.iter().flatten().all(|slot| prior.is_current(slot));
        is_current
            && known.iter().flatten().next().is_some()
            && known.iter().flatten().all(|slot| is_gone(slot) || slot.version != version)
            // A stream before the last one may have sent what the last one still owed.
            && request.track.carried.claims.get(name).is_none_or(|(claim, _)| claim.known != Some(version))
    };
    let claims = body.initial_resource_versions.iter();
    let names: Vec<_> = claims.filter(|(name, v)| surprises(**name, **v)).map(|(name, _)| *name).collect();
    if let [first, ..] = names[..] {
        let known = |slot: Option<ResourceEntry>| match slot {
            Some(slot) if is_gone(&slot) => "its removal".to_owned(),
            Some(slot) => format!("version {}", xdscope_wire::text::shown_name(catalog.text(slot.version))),
            None => "no version".to_owned(),
        };
        let stated = body.initial_resource_versions.get(&first).map_or("", |version| catalog.text(*version));
        let (sent, accepted) =
            (known(prior.sent.get(catalog, first)), known(prior.accepted.get(catalog, first)));
        let stated = xdscope_wire::text::shown_name(stated);
        let text = match sent == accepted {
            true => format!("states version {stated}, but {sent} was sent and accepted last"),
            false => {
                format!("states version {stated}, but {sent} was sent last and {accepted} accepted last")
            }
        };
        ctx.report(&RULE, FindingDraft { text, names: &names, ..FindingDraft::default() });
    }
}

/// Whether a resource was removed, or does not exist.
fn is_gone(slot: &ResourceEntry) -> bool {
    matches!(slot.state, Presence::Removed | Presence::Absent(_))
}
