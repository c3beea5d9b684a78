//! Polling over REST mixes types on one path.
//!
//! Why: There is no aggregated service over REST: each type has its own path.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! > eds names=[foo]
//! ```
//!
//! Instead: poll each type on its own path, or use gRPC for ADS.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-ads",
    severity: Severity::Error,
    rows: "D-05",
    source: include_str!("rest_ads.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    check(case, asking.track, Blame::Client);
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    check(case, answer.track, Blame::Server);
}

fn check(case: &mut RuleContext<'_>, track: &crate::engine::session::Track, blame: Blame) {
    let Some(path) = case.stream.method.as_ref().and_then(|method| method.kind) else { return };
    if track.polled && !track.type_url.is_empty() && track.kind != Some(path) {
        let text = format!("type {} on the REST path of {}", track.type_url, path.label());
        case.raise(&RULE, Found { blame, text, ..Found::default() });
    }
}
