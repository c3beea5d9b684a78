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
use xdscope_wire::event::VersionInfo;

rule! {
    nack-version-refused: Warn, rows "E-23",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(version) = claims_refused(request) else { return };
    if request.track.completeness.has_lost {
        return;
    }
    let is_accepted = ctx.state.versions.acked_versions.contains(version)
        || request.track.version_in_force() == Some(version);
    let before = ctx.previous_track(&request.track.type_url);
    let in_force = before.and_then(|before| before.verdicts.in_force.as_ref());
    if !is_accepted && in_force.is_none_or(|known| known.version != *version) {
        let text = format!("the NACK of version {version} states {version} as the version in use");
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(request.answered()));
    }
}

/// Returns the version that a SotW NACK both refuses and states.
pub(super) fn claims_refused<'a>(request: &RequestContext<'a>) -> Option<&'a VersionInfo> {
    let (body, version) = (request.sotw()?, request.answered_version()?);
    (request.is_nack() && *version == body.version_info && !version.is_empty()).then_some(version)
}
