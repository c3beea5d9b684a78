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

use std::sync::Arc;

use crate::lint::memory::state::{MAX_SOURCE_ENTRIES, SessionResource};
use crate::lint::prelude::*;

rule! {
    two-planes: Warn, rows "P";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(plane) = response.view.control_plane else { return };
    if plane.is_empty() {
        return;
    }
    let (catalog, session) = (ctx.catalog(), ctx.stream.chain.session.unwrap_or(usize::MAX));
    let Some(type_url) = catalog.strings().find(response.track.type_url.as_str()) else { return };
    let mut names = Vec::new();
    for name in response.new_names() {
        let blob = response.track.sent.get(catalog, name).and_then(|entry| entry.blob);
        let Some(content) = blob.and_then(|blob| catalog.entry(blob).payload) else { continue };
        if ctx.source_state.plane_contents.len() >= MAX_SOURCE_ENTRIES {
            ctx.source_state.plane_contents.clear();
        }
        let resource = SessionResource { session, type_url, name };
        let known = ctx.source_state.plane_contents.entry(resource).or_default();
        let sent = (Arc::clone(plane), content);
        if known.last() == Some(&sent) {
            continue;
        }
        known.push(sent);
        if let [.., first, second, third] = known.as_slice()
            && first == third
            && first.0 != second.0
            && first.1 != second.1
        {
            names.push(name);
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
