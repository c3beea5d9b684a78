//! A structured name of another type than the message.
//!
//! Why: The name says its type; with another type URL beside it nobody knows which holds. Collections of the
//! type are fine.
//!
//! Example:
//! ```text
//! stream 1 delta cds
//! > sub=["xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/foo"]
//! ```
//!
//! Instead: ask for each name under its own type.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-04.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-type-mismatch",
    severity: Severity::Error,
    rows: "K-04",
    source: include_str!("xdstp_type_mismatch.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let names = super::structured(case, &asking.outcome.added);
    check(case, asking.track, Blame::Client, names);
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = super::delivered(case, answer);
    check(case, answer.track, Blame::Server, names);
}

fn check(
    case: &mut RuleContext<'_>,
    track: &crate::engine::session::Track,
    blame: Blame,
    names: Vec<super::Structured<'_>>,
) {
    let Some(own) = track.type_url.as_str().strip_prefix(crate::wire::event::TYPE_PREFIX) else { return };
    let other = |kind: &str| kind != own && kind.strip_suffix("Collection") != Some(own);
    let names: Vec<_> = names.into_iter().filter(|(_, name)| other(name.kind)).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = format!("the name is of another type than {own}");
        case.raise(&RULE, Found { blame, text, names: &names, ..Found::default() });
    }
}
