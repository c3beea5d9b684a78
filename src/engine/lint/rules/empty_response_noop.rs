//! An empty response has no effect for its type.
//!
//! Why: Only SotW responses of listeners and clusters delete what they leave out. For other types
//! an empty response changes nothing.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=3 n=c []
//! ```
//!
//! Advice: Remove what refers to the resource; the client then drops the resource.
//!
//! Reference: xDS protocol, "Deleting Resources".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "empty-response-noop", "E-45", include_str!("empty_response_noop.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let named = response.track.kind.is_some() && !response.is_full_state() && !response.view.is_delta;
    if named && response.view.resources.is_empty() && response.outcome.removed.is_empty() {
        let text = "empty response: changes nothing".to_owned();
        ctx.report(&RULE, FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() });
    }
}
