//! Initial versions in a request that is not the first of its type.
//!
//! Why: `initial_resource_versions` tells a server on a new stream what the client has. Later the server knows.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1]
//! > n=1
//! > sub=[c] irv={a:1}
//! ```
//!
//! Instead: fill it in the first request of each type on a stream, and only there.
//!
//! Protocol: "Incremental xDS"; row F-15.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-irv-late",
    severity: Severity::Error,
    rows: "F-15",
    source: include_str!("delta_irv_late.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.delta().filter(|_| !asking.outcome.first && case.is_certain()) else { return };
    if !request.initial_resource_versions.is_empty() {
        let names: Vec<_> = request.initial_resource_versions.keys().copied().collect();
        let text = "initial_resource_versions after the first request".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
