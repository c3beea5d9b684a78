//! A stream of the v2 transport API.
//!
//! Why: It was removed from Envoy and gRPC years ago; what is known of it here is for looking at old peers.
//!
//! Example:
//! ```text
//! stream 1 ads v2
//! ```
//!
//! Instead: move to the v3 services.
//!
//! Protocol: "API flow"; rows I-13, L-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "transport-v2",
    severity: Severity::Info,
    rows: "I-13, L-01",
    source: include_str!("transport_v2.rs"),
    on: &[On::Open(check)],
};

fn check(case: &mut RuleContext<'_>) {
    let method = case.stream.method.as_ref();
    if method.is_some_and(|method| method.transport == crate::wire::event::ApiVersion::V2) {
        let text = format!("v2 transport: {}", case.stream.open.method);
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
