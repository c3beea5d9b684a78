//! The version changed, but nothing else did.
//!
//! Why: Each new version makes the client check all resources again and answer.
//!
//! Severity: `info`; `warn` if the server answers one ACK after the other with a new version, ten
//! times in a row: an exchange that never ends.
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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "version-churn", "E-16", include_str!("version_churn.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(before) = &ctx.state.newest else { return };
    let (was, seq) = (before.version.clone(), before.seq);
    let muted = response.is_heartbeat() || ctx.state.has_new_names || !ctx.has_all_since(seq);
    if response.view.is_delta || was == *response.view.version || muted {
        return;
    }
    if super::sotw_needless_update::same_content(ctx, response) && !response.view.resources.is_empty() {
        if let Some(run) = ctx.exchange_loop(response) {
            let text =
                "each ACK is followed by another version without a change of contents or names".to_owned();
            let draft = FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() };
            return ctx.report_loop(&RULE, run, draft);
        }
        let text =
            format!("version {was} became {} without a change of contents or names", response.view.version);
        let evidence = [seq];
        ctx.report(
            &RULE,
            FindingDraft { blame: Blame::Server, text, evidence: &evidence, ..FindingDraft::default() },
        );
    }
}
