//! A resource alternates between the contents of two control planes.
//!
//! Why: Two servers with different contents behind one address switch the client back and forth.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A] cp=one
//! < cds v=2 n=b [A~2] cp=two
//! < cds v=3 n=c [A] cp=one
//! ```
//!
//! Advice: Give the control planes the same contents, or keep each client at one of them.
//!
//! Reference: API reference, `DiscoveryResponse.control_plane`.

use crate::lint::prelude::*;

rule! {
    two-planes: Warn, rows "P";
    checks: Response(check)
}

use std::sync::Arc;

use crate::lint::memory::state::{MAX_SOURCE_ENTRIES, SessionResource};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(plane) = response.view.control_plane.filter(|plane| !plane.is_empty()) else { return };
    let (catalog, session) = (ctx.catalog(), ctx.stream.session.unwrap_or(usize::MAX));
    let Some(type_url) = catalog.strings().find(response.track.type_url.as_str()) else { return };
    let mut names = Vec::new();
    for name in response.outcome.added.iter().chain(&response.outcome.changed) {
        let slot = response.track.sent.get(catalog, *name);
        let Some(content) = slot.and_then(|slot| slot.blob).and_then(|blob| catalog.entry(blob).payload)
        else {
            continue;
        };
        if ctx.source_state.plane_contents.len() >= MAX_SOURCE_ENTRIES {
            ctx.source_state.plane_contents.clear();
        }
        let resource = SessionResource { session, type_url, name: *name };
        let known = ctx.source_state.plane_contents.entry(resource).or_default();
        let last = known.last().map(|(plane, content)| (plane.clone(), *content));
        if last == Some((Arc::clone(plane), content)) {
            continue;
        }
        known.push((plane.clone(), content));
        if let [.., (a, x), (b, y), (c, z)] = known.as_slice()
            && a == c
            && x == z
            && a != b
            && x != y
        {
            names.push(*name);
        }
        if known.len() > 4 {
            known.remove(0);
        }
    }
    if !names.is_empty() {
        let text =
            format!("the content changes to that of another control plane, and back to that of {plane}");
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
