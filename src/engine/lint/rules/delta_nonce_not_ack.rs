//! A delta request carries a nonce, and is no verdict.
//!
//! Why: In delta a nonce makes a request the verdict on a response; every other request leaves it empty (the
//! opposite of SotW).
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! > n=1
//! > n=1 sub=[b]
//! ```
//!
//! Instead: leave the nonce empty in requests that only change the subscription.
//!
//! Protocol: "Incremental xDS"; rows F-06, L-15.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-nonce-not-ack",
    severity: Severity::Warn,
    rows: "F-06, L-15",
    source: include_str!("delta_nonce_not_ack.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::RequestClass;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.is(RequestClass::SettledNonce) {
        let text = format!("nonce {} has its verdict already", asking.nonce());
        let evidence: Vec<_> = asking.outcome.about.iter().map(|about| about.seq).collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
