//! A request without a nonce, though the client has used one before.
//!
//! Why: After the first verdict every request carries the newest nonce; without it the server can't tell to
//! which response it belongs, and may take it for a new subscription. While nothing was acknowledged it is
//! tolerated, and noted as info.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! > eds v=1 names=[foo bar]
//! ```
//!
//! Instead: repeat the newest nonce in every request, also in those that only change names.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-08.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-nonce-empty",
    severity: Severity::Error,
    rows: "E-08",
    source: include_str!("sotw_nonce_empty.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::RequestClass;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if !asking.is(RequestClass::NonceDropped) || !case.is_grpc() {
        return;
    }
    // The newest response has none (row E-07): there is nothing else to echo.
    if asking.track.responses.last().is_some_and(|newest| newest.nonce.is_empty()) {
        return;
    }
    let acked = asking.track.verdicts.in_force.is_some() || asking.track.verdicts.has_unseen;
    let severity = (!acked).then_some(Severity::Info);
    let text = "request without a nonce, after one was used".to_owned();
    case.raise(&RULE, Found { text, severity, ..Found::default() });
}
