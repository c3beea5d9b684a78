//! A server sends an unchanged response.
//!
//! Why: A server sends a response only when something has changed. An unchanged response costs
//! both sides.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=1 n=b [foo]
//! ```
//!
//! Advice: After a verdict wait for a change or for new names.
//!
//! Reference: xDS protocol, "When to send an update".

use super::support::version_text;
use crate::lint::prelude::*;
use xdscope_wire::event::Time;

rule! {
    sotw-needless-update: Warn, rows "E-29",
    ends(Ending::Message(CorrectMessage::Response));
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !repeats(ctx, response) || has_recent_request(ctx, response) {
        return;
    }
    let Some(before) = ctx.state.responses.newest.as_ref().map(|before| before.seq) else { return };
    // Envoy needs the endpoints again after an update of their cluster: docs/protocol.md#h-05
    if !response.outcome.needed_again.is_empty() {
        return;
    }
    // `empty-response-noop` covers loops of empty responses.
    if super::empty_response_noop::is_empty(response) && ctx.exchange_loop(response).is_some() {
        return;
    }
    // `nack-resend-loop` covers what the client has refused.
    if ctx.state.responses.rejected.back().is_some_and(|refused| refused.seq == before) {
        return;
    }
    let text = format!("version {} sent again without a change", version_text(response.view.version));
    let cause = ctx.cause_in_parents();
    let evidence = [before];
    let draft = FindingDraft::new(Blame::Server, text, &[]).evidence(&evidence);
    ctx.report(&RULE, draft.caused_by(cause.as_ref()));
}

/// Whether version and contents equal those of the previous response, without new names since.
pub(super) fn repeats(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> bool {
    let Some(before) = &ctx.state.responses.newest else { return false };
    // A response may restart TTLs, or end them: docs/protocol.md#g-04
    let sets_ttls = !(response.scan.ttl.is_empty() && ctx.state.ttl.ttl_versions.is_empty());
    if response.view.is_delta || response.is_heartbeat() || sets_ttls || ctx.state.requests.has_new_names {
        return false;
    }
    before.version == *response.view.version
        && ctx.is_grpc()
        && ctx.has_all_since(before.seq)
        && same_content(ctx, response)
}

/// Whether names and contents equal those of the previous response.
pub(super) fn same_content(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> bool {
    let Some(before) = &ctx.state.responses.newest else { return false };
    // A response may report an error for a resource that it leaves out (docs/protocol.md#m-14).
    if !response.view.resource_errors.is_empty() {
        return false;
    }
    if before.list.fingerprint() == response.view.resources.fingerprint() {
        return true;
    }
    let catalog = ctx.catalog();
    response.is_unchanged()
        && before.list.len() == response.view.resources.len()
        && response.outcome.duplicates.is_empty()
        && response.names(catalog).all(|name| before.list.find(catalog, name).is_some())
}

/// Whether a recently requested name is still missing.
///
/// The response may answer that request, and may have crossed the previous response.
fn has_recent_request(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> bool {
    let is_recent = |at: Time| ctx.at.since(at) < ctx.options.timers.answer;
    response.track.waiting.iter().any(|(_, asked)| is_recent(asked.since))
}
