//! A client has two aggregated streams to one server.
//!
//! Why: One stream per client is the rule: only on one stream can a server order updates. Hot restarts, several
//! channels in one process, and many authorities look the same.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > cds
//! stream 2 ads
//! > cds
//! advance 6s
//! ```
//!
//! Instead: look whether it is one client, and whether its old stream should have ended.
//!
//! Protocol: "Aggregated Discovery Service"; rows I-03, K-25.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ads-multiple-streams",
    severity: Severity::Info,
    rows: "I-03, K-25",
    source: include_str!("ads_multiple_streams.rs"),
    on: &[On::Alarm(Alarm::Settled, check)],
};

fn check(case: &mut Case<'_>) {
    let named = case.stream.node.as_ref().is_some_and(|node| !node.id.is_empty());
    if !case.is_aggregated() || !named {
        return;
    }
    let before = case.store.engine().before(case.stream);
    let others: Vec<_> = before.filter(|stream| stream.closed.is_none()).map(|stream| stream.id.0).collect();
    if let Some(other) = others.first() {
        let text = format!("aggregated stream beside stream {other} of the same client, for 5s and more");
        case.raise(&RULE, Found { text, guess: true, ..Found::default() });
    }
}
