//! The client refused a response that breaks no constraint of the API.
//!
//! Why: Every resource of it was held against the constraints that the API states, and none is broken. Clients refuse for
//! other reasons too: a reference that leads nowhere, an extension that they lack, a rule of their own. Their message says which.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c]
//! > cds n=1 nack="unknown extension"
//! ```
//!
//! Instead: read the client's message; look at the release of the client and what it was built with.
//!
//! Protocol: "xDS API validation"; row J-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-unexplained",
    severity: Severity::Info,
    rows: "J-03",
    source: include_str!("nack_unexplained.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if case.options.constraints.is_none() || !asking.refuses() {
        return;
    }
    let Some(sent) = asking.outcome.answers.and_then(|seq| case.memo.pending(seq)) else { return };
    let (catalog, seq) = (case.catalog(), sent.seq);
    let mut payloads = sent.list.blobs().iter().filter_map(|id| catalog.entry(*id).payload);
    // Fine only where each was looked at.
    let fine = payloads.all(|payload| {
        let broken = case.world.broken.get(&payload).and_then(Option::as_ref);
        broken.is_some_and(|broken| broken.is_empty())
    });
    if fine {
        let text = "refused, though it breaks no constraint that the API states".to_owned();
        case.raise(&RULE, Found { text, evidence: &[seq], ..Found::default() });
    }
}
