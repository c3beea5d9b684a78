//! A request both subscribes to and unsubscribes from a name.
//!
//! Why: The protocol does not define which of the two applies.
//!
//! Example:
//! ```text
//! > sub=[d] unsub=[d]
//! ```
//!
//! Advice: Put the name into one of the lists.
//!
//! Reference: API reference, `DeltaDiscoveryRequest`.

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "delta-sub-unsub-overlap", "F-12", include_str!("delta_sub_unsub_overlap.rs"))
        .ends(Ending::Message(CorrectMessage::Ack));

pub(super) static CHECKS: &[Check] = &[Check::Request(check)];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta().filter(|body| !body.unsubscribe.is_empty()) else { return };
    let leaves: crate::session::SymSet = body.unsubscribe.iter().copied().collect();
    let names: Vec<_> = body.subscribe.iter().copied().filter(|name| leaves.contains(name)).collect();
    if !names.is_empty() {
        let text = "subscribed and unsubscribed in one request".to_owned();
        ctx.report(&RULE, FindingDraft { text, names: &names, ..FindingDraft::default() });
    }
}
