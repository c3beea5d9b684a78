//! The client refused a response.
//!
//! Why: A fact, not a breach: the client says why, and what it had before stays in force.
//!
//! Example:
//! ```text
//! < cds v=42 n=a [reviews]
//! > cds v=41 n=a nack="connect_timeout: value must be greater than 0s"
//! ```
//!
//! Instead: read the client's message; `xdscope status` tells which version is in force.
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows E-21, F-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack",
    severity: Severity::Info,
    rows: "E-21, F-05",
    source: include_str!("nack.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if !asking.refuses() {
        return;
    }
    let message = asking.error().map_or("", |error| &error.message);
    let version = asking.version_answered().map_or("", |version| version.as_str());
    let text = match version {
        "" => format!("refused: {message}"),
        version => format!("version {version} refused: {message}"),
    };
    let evidence: Vec<_> = asking.outcome.answers.into_iter().collect();
    case.raise(&RULE, Found { text, evidence: &evidence, part: version, ..Found::default() });
}
