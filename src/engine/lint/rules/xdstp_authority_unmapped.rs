//! A resource refers to an authority without a server.
//!
//! Why: The configuration of the client maps authorities to servers. A name whose authority is not
//! mapped has no source, so whatever needs the resource waits in vain.
//!
//! Example:
//! ```text
//! $ xdscope get cp:15010 xdstp://a/T/x --xdstp-authority a=cp:15010
//! < n=1 ["xdstp://a/T/x"=>"xdstp://b/T/x"@1]
//! ```
//!
//! Advice: Map the authority with --xdstp-authority b=HOST:PORT, or in `authorities` of the
//! bootstrap.
//!
//! Reference: xRFC TP1, "Transport network addressing".

use std::collections::BTreeMap;

use super::support::locators;
use crate::lint::prelude::*;
use xdscope_wire::Open;
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::Name;

rule! {
    xdstp-authority-unmapped: Warn, rows "K-24";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(mapped) = ctx.stream.open.fact(Open::AUTHORITIES) else { return };
    let mut unmapped = BTreeMap::<String, Vec<Sym>>::new();
    let mut note = |resource: Sym, uri: &str| {
        let Some(target) = Name::parse(uri) else { return };
        // An alternative is requested only when the first source fails.
        let is_alternative = ctx.source_state.alternatives.contains_key(&target.canonical());
        if !is_alternative && !mapped.split(',').any(|authority| authority == target.authority) {
            unmapped.entry(target.authority.to_owned()).or_default().push(resource);
        }
    };
    for (redirect, locator) in &response.scan.redirects {
        note(*redirect, &locator.uri);
    }
    for (list, entries) in &response.scan.collections {
        for locator in locators(entries) {
            note(*list, &locator.uri);
        }
    }
    if ctx.stream.open.fact(Open::FOLLOWS).is_some() {
        let new: Vec<Sym> = response.new_names().collect();
        for (resource, refs) in ctx.references_of(response.track, &new) {
            for target in refs.iter() {
                note(resource, ctx.text(target.name));
            }
        }
    }
    for (authority, mut names) in unmapped {
        names.dedup();
        let text =
            format!("refers to the authority `{authority}`, for which a server is missing: not followed");
        let draft = FindingDraft::new(Blame::Client, text, &names);
        ctx.report(&RULE, FindingDraft { part: &authority, ..draft });
    }
}
