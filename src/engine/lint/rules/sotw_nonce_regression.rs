//! A request goes back to a nonce older than one the client has used.
//!
//! Why: By using a newer nonce the client has shown that it has the newer response. Going back makes the server
//! take a settled response for the current one. Crossing is no excuse: a client's own requests keep their
//! order.
//!
//! Example:
//! ```text
//! > eds v=X n=A names=[foo]
//! < eds v=Y n=B [foo~2]
//! > eds v=Y n=B names=[foo]
//! > eds v=Y n=A names=[foo bar]
//! ```
//!
//! Instead: always send the newest nonce of the type.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-nonce-regression",
    severity: Severity::Error,
    rows: "E-10",
    source: include_str!("sotw_nonce_regression.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::RequestClass;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.is(RequestClass::OlderNonce) {
        let text = format!("nonce {} is older than one used before", asking.nonce());
        let evidence: Vec<_> = asking.outcome.about.iter().map(|about| about.seq).collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
