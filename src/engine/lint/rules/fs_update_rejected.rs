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

use crate::lint::prelude::*;

rule! {
    fs-update-rejected: Warn, rows "C-05",
    ends(Ending::State), about(Subject::UnusedFile);
    checks: Message(check_message), Response(check_response)
}

use crate::lint::findings::lasting::Lasting;
use crate::session::key;
use xdscope_schema::list_violations;
use xdscope_wire::event::Variant;

fn check_message(ctx: &mut RuleContext<'_>, message: &xdscope_wire::Message) {
    if ctx.stream.variant() != Some(Variant::File) {
        return;
    }
    if super::super::exchange::undecodable(message).is_none() {
        return;
    }
    if ctx.stream_state.has_valid_content {
        let text = "the update cannot be read; the previous content stays in force".to_owned();
        let found = FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() };
        let found = FindingDraft { cause: Some("unreadable"), ..found };
        ctx.report_lasting(&RULE, found, Lasting::unused_file(ctx.at));
    }
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if ctx.stream.variant() != Some(Variant::File) {
        return;
    }
    let catalog = ctx.catalog();
    let is_rejected = response.track.verdicts.open_nack().is_some();
    let mismatch = if !response.outcome.duplicates.is_empty() {
        Some(("has a name twice", response.outcome.duplicates.clone()))
    } else if !response.scan.other_type.is_empty() {
        let other = response.scan.other_type.iter();
        Some(("has a resource of another type", other.map(|id| key(catalog, *id)).collect()))
    } else {
        None
    };
    if let Some((what, names)) = mismatch.filter(|_| is_rejected) {
        if ctx.stream_state.has_valid_content {
            let text = format!("the update {what}; the previous content stays in force");
            let cause = Some("message");
            let found = FindingDraft { cause, ..FindingDraft::new(Blame::Server, text, &names) };
            ctx.report_lasting(&RULE, found, Lasting::unused_file(ctx.at));
        }
        return;
    }
    let breaks = |id: &&xdscope_wire::content::BlobId| {
        let payload = catalog.entry(**id).payload;
        let broken =
            payload.and_then(|payload| ctx.source_state.constraint_violations.get(&payload)?.as_ref());
        broken.is_some_and(|broken| !broken.is_empty())
    };
    let bad: Vec<_> =
        response.view.resources.blobs().iter().filter(breaks).map(|id| key(catalog, *id)).collect();
    if bad.is_empty() {
        ctx.stream_state.has_valid_content |= !is_rejected;
    } else if ctx.stream_state.has_valid_content {
        let first = response.view.resources.blobs().iter().find(breaks);
        let payload = first.and_then(|id| catalog.entry(*id).payload);
        let broken =
            payload.and_then(|payload| ctx.source_state.constraint_violations.get(&payload)?.as_ref());
        let broken = broken.map(|broken| list_violations(broken)).unwrap_or_default();
        let text = format!(
            "the update breaks a constraint of the API; the previous content stays in force: {broken}"
        );
        let cause = Some("constraint");
        let found =
            FindingDraft { cause, guess: !is_rejected, ..FindingDraft::new(Blame::Server, text, &bad) };
        match is_rejected {
            true => ctx.report_lasting(&RULE, found, Lasting::unused_file(ctx.at)),
            false => drop(ctx.report(&RULE, found)),
        }
    }
}
