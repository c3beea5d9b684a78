//! A response that the client never answered: it went on to a newer one.
//!
//! Why: Each response gets a verdict. A client may jump to the newest nonce, but whether it used the response
//! in between is then unknown.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! < cds v=2 n=b [A~2]
//! > cds v=2 n=b
//! ```
//!
//! Instead: nothing, if the client is known to look at the newest response only.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-04.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ack-skipped",
    severity: Severity::Info,
    rows: "E-04",
    source: include_str!("ack_skipped.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let skipped = &asking.outcome.skipped;
    if !skipped.is_empty() && case.is_grpc() && case.whole() {
        let numbers: Vec<String> = skipped.iter().take(4).map(|seq| format!("#{}", seq.0)).collect();
        let text = format!("no verdict on {}: a newer response was answered", numbers.join(", "));
        case.raise(&RULE, Found { text, evidence: skipped, ..Found::default() });
    }
}
