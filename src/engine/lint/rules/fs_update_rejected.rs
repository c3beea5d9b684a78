//! An update of a file cannot be used, but the content before it could.
//!
//! Why: The update cannot be read, holds a name twice, or breaks a constraint of the API. The
//! client keeps its previous configuration and reports the problem only in its log, because files
//! have no NACK.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < v=1 [c]
//! < raw=/w==
//! ```
//!
//! Advice: Check a file before it replaces the current one.
//!
//! Reference: xDS protocol, "Filesystem subscriptions".

use crate::lint::exchange::undecodable;
use crate::lint::findings::lasting::Lasting;
use crate::lint::prelude::*;
use crate::session::key;
use xdscope_schema::list_violations;
use xdscope_wire::Message;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Sym;

rule! {
    fs-update-rejected: Warn, rows "C-05",
    ends(Ending::State), about(Subject::UnusedFile);
    checks: Message(check_message), Response(check_response)
}

fn check_message(ctx: &mut RuleContext<'_>, message: &Message) {
    if ctx.is_file() && undecodable(message).is_some() && ctx.stream_state.has_valid_content {
        let text = "the update cannot be read; the previous content stays in force";
        let draft = FindingDraft { cause: Some("unreadable"), ..FindingDraft::new(Blame::Server, text, &[]) };
        ctx.report_lasting(&RULE, draft, Lasting::unused_file(ctx.at));
    }
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !ctx.is_file() {
        return;
    }
    let is_rejected = response.track.verdicts.open_nack().is_some();
    let has_valid_content = ctx.stream_state.has_valid_content;
    if is_rejected && let Some((fault, names)) = mismatch(ctx, response) {
        if has_valid_content {
            let text = format!("the update {fault}; the previous content stays in force");
            let draft =
                FindingDraft { cause: Some("message"), ..FindingDraft::new(Blame::Server, text, &names) };
            ctx.report_lasting(&RULE, draft, Lasting::unused_file(ctx.at));
        }
        return;
    }
    let is_broken = |id: &BlobId| ctx.violations(*id).is_some_and(|violations| !violations.is_empty());
    let broken: Vec<BlobId> = response.view.resources.blobs().iter().copied().filter(is_broken).collect();
    let Some(first) = broken.first() else {
        ctx.stream_state.has_valid_content |= !is_rejected;
        return;
    };
    if !has_valid_content {
        return;
    }
    let violations = ctx.violations(*first).map(|violations| list_violations(violations)).unwrap_or_default();
    let text = format!(
        "the update breaks a constraint of the API; the previous content stays in force: {violations}"
    );
    let names: Vec<Sym> = broken.iter().map(|id| key(ctx.catalog(), *id)).collect();
    let draft = FindingDraft { cause: Some("constraint"), ..FindingDraft::new(Blame::Server, text, &names) };
    if is_rejected {
        ctx.report_lasting(&RULE, draft, Lasting::unused_file(ctx.at));
    } else {
        ctx.report(&RULE, draft.guessed());
    }
}

/// Returns how the resources of a response do not fit together, with their names.
fn mismatch(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Option<(&'static str, Vec<Sym>)> {
    if !response.outcome.duplicates.is_empty() {
        return Some(("has a name twice", response.outcome.duplicates.clone()));
    }
    let other_type: Vec<Sym> = response.scan.other_type.iter().map(|id| key(ctx.catalog(), *id)).collect();
    (!other_type.is_empty()).then_some(("has a resource of another type", other_type))
}
