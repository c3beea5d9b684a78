//! A response holds a name twice.
//!
//! Why: The protocol does not define which of the two applies. Clients should reject the response.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo foo]
//! ```
//!
//! Advice: Send each name once.
//!
//! Reference: xDS protocol, "Duplicate Resource Names".

use super::support::sort_unique;
use crate::lint::prelude::*;
use crate::session::{SymSet, nameless};
use xdscope_wire::Profile;
use xdscope_wire::event::Sym;

rule! {
    duplicate-resource-name: Error, rows "E-43, F-29, L-21",
    ends(Ending::Names);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let mut names: Vec<_> = names(response);
    names.extend(removed_twice(ctx, response));
    sort_unique(&mut names);
    if !names.is_empty() {
        let text = "more than once in one response";
        let severity = (ctx.profile() == Profile::P002).then_some(Severity::Warn);
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).severity(severity));
    }
}

/// Returns the names that occur twice, without entries that have no name.
fn names(response: &ResponseContext<'_>) -> Vec<Sym> {
    let named = |name: &&Sym| nameless(**name).is_none();
    response.outcome.duplicates.iter().filter(named).copied().collect()
}

/// Returns the names that a delta response removes twice.
fn removed_twice(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let removed = response.view.removed.iter().map(|name| ctx.catalog().first_spelling(*name));
    let mut seen = SymSet::default();
    removed.filter(|name| !seen.insert(*name)).collect()
}
