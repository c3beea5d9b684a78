//! A poll has the response of the previous poll.
//!
//! Why: In long polling the server holds a request until something changes. Unchanged responses
//! are needless load.
//!
//! Example:
//! ```text
//! stream 1 rest cds
//! >
//! < v=1 [A]
//! > v=1
//! < v=1 [A]
//! ```
//!
//! Advice: Hold the request open until there is a change, or answer 304.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use crate::lint::prelude::*;

rule! {
    rest-unchanged-response: Warn, rows "D-07",
    ends(Ending::Message(CorrectMessage::Response));
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(before) = &ctx.state.responses.newest else { return };
    // A poll without the version, as the first one of a process is, asks for the content.
    let has_version = response.track.traffic.reported_version.as_ref() == Some(&before.version);
    if response.track.polled
        && has_version
        && before.version == *response.view.version
        && response.is_unchanged()
        && !ctx.state.requests.has_changed_names
        && ctx.has_all_since(before.seq)
    {
        let text = format!("unchanged since the previous poll, version {}", response.view.version);
        let evidence = [before.seq];
        let draft = FindingDraft::new(Blame::Server, text, &[]).evidence(&evidence);
        ctx.report(&RULE, draft);
    }
}
