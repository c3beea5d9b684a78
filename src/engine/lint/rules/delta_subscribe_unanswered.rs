//! A server neither sends a subscribed resource nor reports that it does not exist.
//!
//! Why: A server answers each subscribed name: with the resource, even if the client seems to hold
//! it, or in `removed_resources`.
//!
//! Example:
//! ```text
//! > sub=[x]
//! < n=1 [x@1]
//! > n=1
//! > sub=[x]
//! advance 15s
//! ```
//!
//! Advice: Send the resource on each subscription, and list missing resources in
//! `removed_resources`.
//!
//! Reference: xDS protocol, "Subscribing to Resources".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Warn,
    "delta-subscribe-unanswered",
    "F-14",
    include_str!("delta_subscribe_unanswered.rs"),
)
.ends(Ending::State);

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Waiting, check)];

use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>) {
    unanswered(ctx, &RULE, "subscribed, but neither sent nor removed", |ctx, name| {
        let is_stale = ctx.state.added_by_stale_requests.contains(&name);
        // A stated resource of the wildcard was not subscribed by name (docs/protocol.md#f-17).
        let names_it = ctx.current_track().is_some_and(|track| {
            track.names(ctx.catalog(), name, track.sent.get(ctx.catalog(), name).as_ref())
        });
        let is_empty_glob = || {
            let is_glob = xdscope_wire::xdstp::is_glob(ctx.text(name));
            is_glob && !super::xdstp_empty_glob_silent::has_members(ctx, name)
        };
        !is_stale && names_it && !is_empty_glob()
    });
}

/// Reports delta names that are overdue and that the rule covers.
pub(super) fn unanswered(
    ctx: &mut RuleContext<'_>,
    rule: &'static Rule,
    text: &str,
    about: impl Fn(&RuleContext<'_>, Sym) -> bool,
) {
    let delta = ctx.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = ctx.current_track().filter(|_| delta) else { return };
    let overdue = ctx.overdue_names(track, ctx.options.timers.answer, ctx.state.answers_checked_until);
    let overdue: Vec<_> = overdue.into_iter().filter(|overdue| about(ctx, overdue.name)).collect();
    let text = format!("{text} within {}s", ctx.options.timers.answer.as_secs());
    ctx.report_overdue(rule, (&text, None), overdue);
}
