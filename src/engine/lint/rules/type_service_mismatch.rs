//! A type URL that is not the type of the single-type method it stands on.
//!
//! Why: The method decides what is served. A server that goes by the method answers another question than was
//! asked.
//!
//! Example:
//! ```text
//! stream 1 sotw cds
//! > eds names=[foo]
//! ```
//!
//! Instead: use the method of the type, or ADS. The v2 and v3 forms of the same type are fine.
//!
//! Protocol: "Resource types"; row A-14.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "type-service-mismatch",
    severity: Severity::Error,
    rows: "A-14",
    source: include_str!("type_service_mismatch.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    check(case, asking.track, Blame::Client);
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    check(case, answer.track, Blame::Server);
}

fn check(case: &mut RuleContext<'_>, track: &crate::engine::session::Track, blame: Blame) {
    let Some(method) = case.stream.method.as_ref().and_then(|method| method.kind) else { return };
    let url = track.type_url.as_str();
    // A collection of the type goes by the same method (row A-13).
    let base = url.strip_suffix("Collection").unwrap_or(url);
    let kind = crate::wire::event::Kind::of_type_url(base).map(|(kind, _)| kind);
    if case.is_grpc() && kind != Some(method) && !url.is_empty() {
        let text = format!("type {url} on the method of {}", method.label());
        case.raise(&RULE, Found { blame, text, ..Found::default() });
    }
}
