//! A glob in a SotW request.
//!
//! Why: Globs live from additions and removals, which only delta can say. A SotW server may know nothing of
//! them.
//!
//! Example:
//! ```text
//! stream 1 sotw lds
//! > names=["xdstp://a/T/x/*"]
//! ```
//!
//! Instead: use the delta variant for globs.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-26.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-glob-sotw",
    severity: Severity::Info,
    rows: "K-26",
    source: include_str!("xdstp_glob_sotw.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.sotw().filter(|_| !asking.track.subscription.globs.is_empty()) else { return };
    let glob = |name: &crate::wire::event::Sym| {
        asking.track.subscription.globs.contains(name) && asking.outcome.added.contains(name)
    };
    let names: Vec<_> = request.resource_names.iter().copied().filter(glob).collect();
    if !names.is_empty() {
        let text = "glob on a SotW stream".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
