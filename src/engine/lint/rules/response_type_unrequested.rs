//! A response of a type that was never asked for on the stream.
//!
//! Why: Each type is a conversation of its own, and the client begins it.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > cds
//! < lds v=1 n=a [l]
//! ```
//!
//! Instead: answer the types that were asked for.
//!
//! Protocol: "Aggregated Discovery Service"; row I-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "response-type-unrequested",
    severity: Severity::Error,
    rows: "I-01",
    source: include_str!("response_type_unrequested.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let named = !answer.track.type_url.is_empty();
    if case.is_aggregated()
        && answer.track.traffic.requests == 0
        && !answer.track.partial
        && case.is_certain()
        && named
    {
        let text = format!("{} was never asked for on this stream", super::label(&answer.track.type_url));
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
