//! The first request of a stream does not say who the client is.
//!
//! Why: Servers choose what a client gets by its node, and need to look at the first request only.
//!
//! Example:
//! ```text
//! > cds nonode
//! ```
//!
//! Instead: fill `node` in the first request of each stream, not only of the first stream.
//!
//! Protocol: "Basic protocol overview"; row E-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "node-missing",
    severity: Severity::Error,
    rows: "E-05",
    source: include_str!("node_missing.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let first = case.seq.is_some() && case.stream.first_request == case.seq;
    if first && case.is_certain() && asking.message.node().is_none() {
        let text = "first request of the stream without a node".to_owned();
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
