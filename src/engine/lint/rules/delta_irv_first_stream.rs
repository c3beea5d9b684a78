//! Initial versions on the first stream of a client.
//!
//! Why: A client that has just started holds nothing. It may be older than this capture, or keep its cache on
//! disk.
//!
//! Example:
//! ```text
//! stream 1 delta cds
//! > sub=[a] irv={a:1}
//! ```
//!
//! Instead: nothing, if the client ran before the capture.
//!
//! Protocol: "Incremental xDS"; row F-16.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-irv-first-stream",
    severity: Severity::Info,
    rows: "F-16",
    source: include_str!("delta_irv_first_stream.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.delta().filter(|_| asking.outcome.first && case.is_certain()) else { return };
    let first = case.store.engine().before(case.stream).next().is_none();
    if first && !request.initial_resource_versions.is_empty() {
        let names: Vec<_> = request.initial_resource_versions.keys().copied().collect();
        let text = "initial_resource_versions on the first stream of the client".to_owned();
        case.raise(&RULE, Found { text, names: &names, guess: true, ..Found::default() });
    }
}
