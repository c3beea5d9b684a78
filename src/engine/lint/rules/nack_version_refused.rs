//! A NACK states the rejected version as the version in use.
//!
//! Why: The version of a NACK is the newest one in use. A server that compares versions reads the
//! request as an ACK.
//!
//! Example:
//! ```text
//! < eds v=X n=A [foo]
//! > eds v=X n=A names=[foo] nack="bad"
//! ```
//!
//! Advice: Keep the version of the last accepted response, or leave the version empty.
//!
//! Reference: xDS protocol, "ACK and NACK semantics summary".

use crate::lint::prelude::*;

rule! {
    nack-version-refused: Warn, rows "E-23",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(version) = claims_refused(request).filter(|_| !request.track.completeness.has_lost) else {
        return;
    };
    let accepted =
        ctx.state.acked_versions.contains(version) || request.track.version_in_force() == Some(version);
    let before =
        ctx.previous_track(&request.track.type_url).and_then(|before| before.verdicts.in_force.as_ref());
    if !accepted && before.is_none_or(|known| known.version != *version) {
        let text = format!("the NACK of version {version} states {version} as the version in use");
        let evidence: Vec<_> = request.outcome.answers.into_iter().collect();
        ctx.report(&RULE, FindingDraft { text, evidence: &evidence, ..FindingDraft::default() });
    }
}

/// Returns the version that a SotW NACK both refuses and states.
pub(super) fn claims_refused<'a>(
    request: &RequestContext<'a>,
) -> Option<&'a xdscope_wire::event::VersionInfo> {
    let body = request.sotw().filter(|_| request.is_nack())?;
    let version = request.answered_version()?;
    (*version == body.version_info && !version.is_empty()).then_some(version)
}
