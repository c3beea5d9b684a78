//! A response that the client has neither accepted nor refused.
//!
//! Why: Each response gets a verdict as soon as the client has one. A server may hold back further updates
//! until then. Envoy withholds the verdict of a CDS response while clusters warm.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! advance 6s
//! ```
//!
//! Instead: look at the client: is it stuck, or does it wait for resources that do not come?
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows E-04, F-36.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "response-unanswered",
    severity: Severity::Info,
    rows: "E-04, F-36",
    source: include_str!("response_unanswered.rs"),
    on: &[On::Alarm(Alarm::Unanswered, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let Some(track) = case.own_track() else { return };
    let limit = case.options.timers.ack;
    let delta = case.stream.variant().is_some_and(|variant| variant.is_delta());
    // SotW: the verdict on the newest response settles the older ones too.
    let waited = match delta {
        true => track.responses.pending().next(),
        false => track.responses.pending().last(),
    };
    let Some(waited) = waited.filter(|_| case.whole()) else { return };
    if case.at.since(waited.at) < limit {
        return case.arm(Alarm::Unanswered, waited.at.after(limit));
    }
    let text =
        format!("response {} without a verdict for {}s", super::shown(&waited.version), limit.as_secs());
    let evidence = [waited.seq];
    case.raise(&RULE, Found { text, evidence: &evidence, part: waited.nonce.as_str(), ..Found::default() });
}
