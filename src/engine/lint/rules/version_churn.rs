//! The version changed, but nothing else did.
//!
//! Why: Each new version makes the client check all resources again and answer.
//!
//! Severity: `info`; `warn` if the server answers one ACK after the other with a new version, ten
//! times in a row: an exchange that never ends. On a delta stream, where each resource has its own
//! version, the rule is about such exchanges only.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=2 n=b [foo]
//! ```
//!
//! Advice: Change the version only when content changes.
//!
//! Reference: xDS protocol, "ACK/NACK and resource type instance version".

use crate::lint::prelude::*;
use crate::session::key;
use xdscope_wire::content::BlobId;

rule! {
    version-churn: Info, rows "E-16";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(before) = &ctx.state.responses.newest else { return };
    let (old_version, seq) = (before.version.clone(), before.seq);
    let has_other_cause = response.is_heartbeat() || ctx.state.requests.has_new_names;
    let run = ctx.exchange_loop(response);
    // `request-repeat` covers a client that subscribes again.
    let is_pushed_once = response.view.is_delta && (run.is_none() || ctx.state.requests.has_resubscribed);
    if has_other_cause || is_pushed_once || !ctx.has_all_since(seq) || !has_other_version(ctx, response) {
        return;
    }
    if super::sotw_needless_update::same_content(ctx, response) && !response.view.resources.is_empty() {
        if let Some(run) = run {
            let text = "each ACK is followed by another version without a change of contents or names";
            return ctx.report_loop(&RULE, run, FindingDraft::new(Blame::Server, text, &[]));
        }
        let text = format!(
            "version {old_version} became {} without a change of contents or names",
            response.view.version
        );
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).evidence(&[seq]));
    }
}

/// Whether the response has another version than the one before; on a delta stream, whether each
/// of its resources has.
fn has_other_version(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> bool {
    let Some(before) = &ctx.state.responses.newest else { return false };
    if !response.view.is_delta {
        return before.version != *response.view.version;
    }
    let catalog = ctx.catalog();
    let is_other = |id: &BlobId| {
        let known = before.list.find(catalog, key(catalog, *id));
        known.is_some_and(|known| catalog.entry(known).version != catalog.entry(*id).version)
    };
    response.view.resources.blobs().iter().all(is_other)
}
