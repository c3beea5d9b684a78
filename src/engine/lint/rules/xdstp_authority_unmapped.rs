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

use crate::lint::prelude::*;

rule! {
    xdstp-authority-unmapped: Warn, rows "K-24";
    checks: Response(check)
}

use std::collections::BTreeMap;

use super::super::structured::{ListEntry, Locator};
use xdscope_wire::Open;
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::Name;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let stream = ctx.stream;
    let Some(mapped) = stream.open.fact(Open::AUTHORITIES) else { return };
    let mut unmapped = BTreeMap::<String, Vec<Sym>>::new();
    let mut lead = |of: Sym, uri: &str| {
        let Some(name) = Name::parse(uri) else { return };
        // An alternative is requested only when the first source fails.
        let alternative = ctx.source_state.alternatives.contains_key(&name.canonical());
        if !alternative && !mapped.split(',').any(|one| one == name.authority) {
            unmapped.entry(name.authority.to_owned()).or_default().push(of);
        }
    };
    for (of, locator) in &response.scan.redirects {
        lead(*of, &locator.uri);
    }
    for (of, entries) in &response.scan.collections {
        entries.iter().filter_map(locator).for_each(|locator| lead(*of, &locator.uri));
    }
    if stream.open.fact(Open::FOLLOWS).is_some() {
        let new: Vec<Sym> = response.outcome.added.iter().chain(&response.outcome.changed).copied().collect();
        for (of, refs) in ctx.references_of(response.track, &new) {
            refs.iter().for_each(|to| lead(of, ctx.text(to.name)));
        }
    }
    for (authority, mut names) in unmapped {
        names.dedup();
        let text =
            format!("refers to the authority `{authority}`, for which a server is missing: not followed");
        ctx.report(&RULE, FindingDraft { text, names: &names, part: &authority, ..FindingDraft::default() });
    }
}

fn locator(entry: &ListEntry) -> Option<&Locator> {
    match entry {
        ListEntry::Locator(locator) => Some(locator),
        _ => None,
    }
}
