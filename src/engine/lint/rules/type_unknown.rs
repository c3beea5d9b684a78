//! A type that is not among the descriptors.
//!
//! Why: Versions and nonces are followed all the same, but names and contents stay closed, so rules about names
//! are silent for it.
//!
//! Example:
//! ```text
//! > type.googleapis.com/istio.workload.Address
//! ```
//!
//! Instead: give xdscope the descriptors of the type with --protoset or --proto; if the type should be a
//! published one, look at its spelling.
//!
//! Protocol: "Resource types"; row A-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "type-unknown",
    severity: Severity::Info,
    rows: "A-01",
    source: include_str!("type_unknown.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.outcome.first {
        check(case, Blame::Client, asking.track);
    }
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.outcome.order == 0 && answer.track.traffic.requests == 0 {
        check(case, Blame::Server, answer.track);
    }
}

fn check(case: &mut RuleContext<'_>, blame: Blame, track: &crate::engine::session::Track) {
    let url = track.type_url.as_str();
    if track.kind.is_some() || url.is_empty() || super::type_url_malformed::is_malformed(url) {
        return;
    }
    let name = url.strip_prefix(crate::wire::event::TYPE_PREFIX).unwrap_or(url);
    if !case.options.types.as_ref().is_some_and(|known| known(name)) {
        let text = format!("{name} is not among the descriptors: its resources are shown as bytes");
        case.raise(&RULE, Found { blame, text, ..Found::default() });
    }
}
