//! The newest nonce with another version and no error: a refusal to old servers, unclear to current ones.
//!
//! Why: Only `error_detail` makes a NACK. A server that goes by it takes this for an acceptance of nobody knows
//! what.
//!
//! Example:
//! ```text
//! < eds v=Y n=B [foo~2]
//! > eds v=X n=B names=[foo]
//! ```
//!
//! Instead: accept with the version of the response, or refuse with `error_detail`; send changed names with the
//! verdict.
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows E-22, D-02, E-27, L-08, L-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "implicit-nack",
    severity: Severity::Warn,
    rows: "E-22, D-02, E-27, L-08, L-10",
    source: include_str!("implicit_nack.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.outcome.implied {
        let version = asking.version_answered().map_or("", |version| version.as_str());
        let said = asking.sotw().map_or("", |request| request.version_info.as_str());
        let text = format!("version {said} with the nonce of {version}, and no error_detail");
        let evidence: Vec<_> = asking.outcome.answers.into_iter().collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
