//! A client does not request a name again after a reconnect.
//!
//! Why: Subscriptions do not outlive their stream. A name that is not requested again is no longer
//! updated.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo bar]
//! < v=1 n=a [foo bar]
//! > v=1 n=a names=[foo bar]
//! 1 close
//! stream 2 sotw eds
//! > v=1 names=[foo]
//! advance 6s
//! ```
//!
//! Advice: Request everything again that the client still needs.
//!
//! Reference: xDS protocol, "Incremental xDS".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "not-resubscribed", "P", include_str!("not_resubscribed.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Settled, check)];

fn check(ctx: &mut RuleContext<'_>) {
    let Some(before) = ctx.stream.reconnect_of.and_then(|id| ctx.store.engine().stream(id)) else { return };
    if !ctx.has_full_history() || before.open.partial || before.gaps > 0 {
        return;
    }
    let catalog = ctx.catalog();
    for track in &before.tracks {
        let now = ctx.stream.find(&track.type_url);
        let wanted = |name: &crate::wire::event::Sym| {
            now.is_some_and(|now| now.covers(catalog, *name, now.sent.get(catalog, *name).as_ref()))
        };
        let names: Vec<_> = track.subscribed.names.iter().filter(|name| !wanted(name)).collect();
        if !names.is_empty() {
            let text = format!(
                "{} requested on stream {}, but not since",
                super::support::type_label(&track.type_url),
                before.id.0
            );
            let part = track.type_url.as_str();
            ctx.report(
                &RULE,
                FindingDraft { text, names: &names, part, guess: true, ..FindingDraft::default() },
            );
        }
    }
}
