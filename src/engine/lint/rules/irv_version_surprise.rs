//! The client says that it has a version that it was never sent last.
//!
//! Why: After a reconnect the client names the version that it holds: the one it accepted last, or one it was
//! sent since. Another one shows that its cache and its words differ.
//!
//! Example:
//! ```text
//! stream 2 delta cds
//! > sub=[wb] irv={wb:9}
//! ```
//!
//! Instead: look at the client's cache.
//!
//! Protocol: "Incremental xDS"; row F-34.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "irv-version-surprise",
    severity: Severity::Info,
    rows: "F-34",
    source: include_str!("irv_version_surprise.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.delta().filter(|_| asking.outcome.first) else { return };
    let Some(prior) = case.prior(&asking.track.type_url).filter(|_| case.is_certain()) else { return };
    let catalog = case.catalog();
    let surprises = |name: crate::wire::event::Sym, version: crate::wire::event::Sym| {
        let known = [prior.sent.get(catalog, name), prior.accepted.get(catalog, name)];
        known.iter().flatten().next().is_some() && known.iter().flatten().all(|slot| slot.version != version)
    };
    let claims = request.initial_resource_versions.iter();
    let names: Vec<_> = claims.filter(|(name, v)| surprises(**name, **v)).map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "held at a version that was neither sent nor accepted last".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
