//! Heartbeats of listeners or clusters that leave out some of them.
//!
//! Why: In these types what is left out of a response is deleted. Whether that holds for a response of
//! heartbeats is open, and some clients delete.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [wrap(A@1 ttl=5s) wrap(B@1 ttl=5s)]
//! < cds v=1 n=b [wrap(A@1 unset ttl=5s)]
//! ```
//!
//! Instead: name every resource in each LDS and CDS response, heartbeats too.
//!
//! Protocol: "TTL"; row G-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-heartbeat-partial-state",
    severity: Severity::Warn,
    rows: "G-10",
    source: include_str!("sotw_heartbeat_partial_state.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let (catalog, track) = (case.catalog(), answer.track);
    if !answer.full() || !answer.heartbeat() || track.sent.count() <= answer.view.resources.len() {
        return;
    }
    let said: crate::engine::session::SymSet =
        answer.view.resources.blobs().iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
    let left = track
        .sent
        .slots(catalog)
        .into_iter()
        .filter(|(name, slot)| slot.is_present() && !said.contains(name));
    let left = left.filter(|(name, slot)| track.covers(catalog, *name, Some(slot)));
    let names: Vec<_> = left.map(|(name, _)| name).collect();
    if !names.is_empty() {
        let text = "left out of a response of heartbeats: some clients delete it".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
