//! A client rejected a response.
//!
//! Why: A NACK is a fact and not a breach of the protocol. The client states the reason, and keeps
//! its previous configuration.
//!
//! Example:
//! ```text
//! < cds v=42 n=a [reviews]
//! > cds v=41 n=a nack="connect_timeout: value must be greater than 0s"
//! ```
//!
//! Advice: Read the message of the client. `xdscope status` shows the version in force.
//!
//! Reference: xDS protocol, "NACK".

use crate::lint::prelude::*;

rule! {
    nack: Info, rows "E-21, F-05",
    ends(Ending::OfContent), about(Subject::Nack);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.is_nack() {
        return;
    }
    let message = request.error().map_or("", |error| &error.message);
    let version = request.answered_version().map_or("", |version| version.as_str());
    let message = match message.trim() {
        "" => " without a reason".to_owned(),
        message => {
            let faults = ctx.store.stated_nack_faults(message, request.outcome.answers);
            format!(": {faults}")
        }
    };
    let text = match version {
        "" => format!("rejected{message}"),
        version => format!("version {version} rejected{message}"),
    };
    let nack = request.track.verdicts.nacks.back().filter(|nack| Some(nack.n) == ctx.seq);
    let reason = nack.map(|nack| nack.reason().into());
    // The content may be wrong, or the client too strict.
    let draft = FindingDraft::new(Blame::Both, text, &[]).evidence(request.answered());
    ctx.report(&RULE, FindingDraft { part: version, reason, ..draft });
}
