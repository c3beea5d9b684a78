//! A request has the newest nonce and another version, but no `error_detail`.
//!
//! Why: Older servers read such a request as a NACK; for current servers it is unclear, because
//! only `error_detail` makes a NACK.
//!
//! Over REST a client such as Envoy has no other way to reject a response: its next poll states the
//! version before, without `error_detail`, and its log says why.
//!
//! Example:
//! ```text
//! < eds v=Y n=B [foo~2]
//! > eds v=X n=B names=[foo]
//! ```
//!
//! A verdict on the response later withdraws the finding: it becomes a note.
//!
//! Advice: Accept with the version of the response, or reject with `error_detail`. Send changed
//! names together with the verdict.
//!
//! Reference: xDS protocol, "NACK".

use crate::lint::prelude::*;
use crate::session::Status;
use xdscope_wire::text::shown_name;

rule! {
    implicit-nack: Warn, rows "E-22, D-02, E-27, L-08, L-10",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.outcome.implied {
        let version = shown_name(request.answered_version().map_or("", |version| version.as_str()));
        let stated = shown_name(request.sotw().map_or("", |body| body.version_info.as_str()));
        let text = match request.track.polled {
            true => format!("version {version} rejected: the next poll states version {stated}"),
            false => format!("version {stated} with the nonce of version {version}, but no error_detail"),
        };
        let draft = FindingDraft::new(Blame::Client, text, &[]).evidence(request.answered());
        ctx.state.open_findings.implicit_nack = ctx.report(&RULE, draft);
        return;
    }
    // The response has its verdict now: the client changed its names before.
    let finding = ctx.state.open_findings.implicit_nack.take();
    if let (Some(finding), Some(response)) = (finding, request.outcome.referenced)
        && response.was == Status::NackedByVersion
        && request.outcome.answers == Some(response.seq)
    {
        let word = if request.is_nack() { "rejected" } else { "accepted" };
        let seq = ctx.seq.map(|seq| format!(" in #{}", seq.0)).unwrap_or_default();
        ctx.findings.withdraw(finding, &format!("; {word} with a verdict{seq}"));
    }
}
