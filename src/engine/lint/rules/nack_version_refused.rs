//! A NACK claims the version that it refuses.
//!
//! Why: The version of a NACK is the newest one in use. A server that goes by versions takes this for an ACK.
//!
//! Example:
//! ```text
//! < eds v=X n=A [foo]
//! > eds v=X n=A names=[foo] nack="bad"
//! ```
//!
//! Instead: keep the version of the last accepted response; leave it empty if there is none.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-23.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-version-refused",
    severity: Severity::Warn,
    rows: "E-23",
    source: include_str!("nack_version_refused.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(version) = claims_refused(asking).filter(|_| !asking.outcome.partial && case.is_certain())
    else {
        return;
    };
    let accepted = case.memo.acked.contains(version) || case.memo.claimed.as_ref() == Some(version);
    let before = case.prior(&asking.track.type_url).and_then(|before| before.verdicts.in_force.as_ref());
    if !accepted && before.is_none_or(|known| known.version != *version) {
        let text = format!("the NACK of {version} claims {version} as the version in use");
        let evidence: Vec<_> = asking.outcome.answers.into_iter().collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}

/// The version that a SotW NACK both refuses and states.
pub(super) fn claims_refused<'a>(asking: &RequestContext<'a>) -> Option<&'a crate::wire::event::VersionInfo> {
    let request = asking.sotw().filter(|_| asking.refuses())?;
    let version = asking.version_answered()?;
    (*version == request.version_info && !version.is_empty()).then_some(version)
}
