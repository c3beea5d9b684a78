//! A response on a stream on which nothing has been asked yet.
//!
//! Why: The client speaks first: the request says who it is and what it wants. What comes before is an answer
//! to nobody.
//!
//! Example:
//! ```text
//! stream 1 sotw cds
//! < v=1 n=a [A]
//! ```
//!
//! Instead: wait for the first request of the stream.
//!
//! Protocol: "Basic protocol overview"; row E-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "response-before-request",
    severity: Severity::Error,
    rows: "E-01",
    source: include_str!("response_before_request.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let first = case.stream.requests == 0 && !case.is_aggregated();
    if first && case.is_grpc() && case.is_certain() && !answer.track.partial {
        let text = "response before any request".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
