//! A request built on a response that was not the newest any more.
//!
//! Why: Requests and responses cross; the server drops such a request and waits for one with the new nonce.
//! This is normal, and never a NACK.
//!
//! Example:
//! ```text
//! < eds v=X n=A [foo]
//! > eds v=X n=A names=[foo]
//! < eds v=Y n=B [foo~2]
//! > eds v=X n=A names=[foo bar]
//! ```
//!
//! Instead: nothing; the names must be said again with the verdict on the newer response.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-stale-nonce",
    severity: Severity::Info,
    rows: "E-09",
    source: include_str!("sotw_stale_nonce.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::RequestClass;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.is(RequestClass::StaleNonce) && asking.outcome.answers.is_none() {
        let text = format!("nonce {} is not the newest: the request is stale", asking.nonce());
        let evidence: Vec<_> = asking.outcome.about.iter().map(|about| about.seq).collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
