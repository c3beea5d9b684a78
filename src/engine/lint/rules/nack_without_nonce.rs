//! A refusal that does not say of what.
//!
//! Why: A NACK carries the nonce of the response it refuses. Without it the server can't know which one is
//! meant.
//!
//! Example:
//! ```text
//! > eds names=[foo] nack="bad"
//! ```
//!
//! Instead: put the nonce of the refused response into `response_nonce`.
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows E-21, F-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-without-nonce",
    severity: Severity::Error,
    rows: "E-21, F-05",
    source: include_str!("nack_without_nonce.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let certain = !asking.outcome.partial || !asking.outcome.first;
    if asking.error().is_some() && asking.nonce().is_empty() && case.is_grpc() && certain {
        let text = "error_detail without a nonce".to_owned();
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
