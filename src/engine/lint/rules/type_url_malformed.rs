//! A type URL without the prefix `type.googleapis.com/` or without a full message name.
//!
//! Why: The type URL is the key of the whole conversation. A server that does not know it answers nothing, and
//! a client refuses what does not match.
//!
//! Example:
//! ```text
//! > type=envoy.config.cluster.v3.Cluster
//! ```
//!
//! Instead: write `type.googleapis.com/` and the full name of the message, as in
//! `type.googleapis.com/envoy.config.cluster.v3.Cluster`.
//!
//! Protocol: "Resource types"; row A-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "type-url-malformed",
    severity: Severity::Error,
    rows: "A-01",
    source: include_str!("type_url_malformed.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    check(case, Blame::Client, asking.track.type_url.as_str(), asking.track.kind.is_some());
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    check(case, Blame::Server, answer.track.type_url.as_str(), answer.track.kind.is_some());
}

fn check(case: &mut RuleContext<'_>, blame: Blame, url: &str, known: bool) {
    if !known && is_malformed(url) {
        let text =
            format!("`{url}` is no type URL: type.googleapis.com/ and a full message name are missing");
        case.raise(&RULE, Found { blame, text, ..Found::default() });
    }
}

/// Neither empty nor of the published form.
pub(super) fn is_malformed(url: &str) -> bool {
    let name = url.strip_prefix(crate::wire::event::TYPE_PREFIX);
    let dotted = |name: &str| name.split('.').count() > 1 && name.split('.').all(|part| !part.is_empty());
    !url.is_empty() && !name.is_some_and(dotted)
}
