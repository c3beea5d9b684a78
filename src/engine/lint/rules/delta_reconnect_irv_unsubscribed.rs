//! The client says that it has a resource, and does not subscribe to it.
//!
//! Why: No subscription survives a stream. What is in `initial_resource_versions` and not subscribed to will
//! never be updated.
//!
//! Example:
//! ```text
//! > sub=[wa wb] irv={wa:1 wb:1 wc:1}
//! ```
//!
//! Instead: subscribe again to everything that is held.
//!
//! Protocol: "Incremental xDS"; row F-18.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-reconnect-irv-unsubscribed",
    severity: Severity::Warn,
    rows: "F-18",
    source: include_str!("delta_reconnect_irv_unsubscribed.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.delta().filter(|_| asking.outcome.first) else { return };
    let prior = case.prior(&asking.track.type_url);
    let covered = |name: crate::wire::event::Sym| {
        let slot = prior.and_then(|before| before.sent.get(case.catalog(), name));
        let aliases =
            slot.and_then(|slot| slot.blob).map_or(&[][..], |blob| case.catalog().entry(blob).aliases);
        asking.track.covers(case.catalog(), name, None)
            || aliases.iter().any(|alias| asking.track.want.names.contains(*alias))
    };
    let claimed = request.initial_resource_versions.keys().copied();
    let names: Vec<_> = claimed.filter(|name| !covered(*name)).collect();
    if !names.is_empty() {
        let text = "held, by initial_resource_versions, and not subscribed to".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
