//! A request on a refused response that looks like its acceptance.
//!
//! Why: After a NACK the response stays refused. A later request with its nonce and its version, but without
//! the error, may be read as an ACK.
//!
//! Example:
//! ```text
//! < eds v=1 n=2 [B]
//! > eds v=1 n=2 names=[A B] nack="B is invalid"
//! > eds v=1 n=2 names=[A B]
//! ```
//!
//! Instead: repeat `error_detail`, or wait for the next response with changed names.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-26.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-then-plain-request",
    severity: Severity::Info,
    rows: "E-26",
    source: include_str!("nack_then_plain_request.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::Status;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(about) = asking.outcome.about.filter(|about| about.was == Status::Nacked) else { return };
    let Some(request) = asking.sotw().filter(|request| request.error_detail.is_none()) else { return };
    let refused = asking.version_answered().filter(|version| !version.is_empty());
    if refused == Some(&request.version_info) {
        let text = format!("nonce and version of the refused {}, without the error", request.version_info);
        let evidence = [about.seq];
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
