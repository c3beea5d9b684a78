//! A server neither sends a subscribed resource nor reports that it does not exist.
//!
//! Why: A server answers each subscribed name: with the resource, even if the client seems to hold
//! it, or in `removed_resources`. A server need not send what the client states to hold. If the
//! server sends stated resources again at the stated versions, it ignores
//! `initial_resource_versions`: a stated resource that such a server neither sends nor removes is
//! most likely gone, and the client keeps it. A wildcard or a glob that the client has given up and
//! requests again stands for the resources that the server has sent for it.
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
//! `removed_resources`, also those that the client states to hold.
//!
//! Reference: xDS protocol, "Subscribing to Resources".

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::findings::overdue::OverdueName;
use crate::lint::prelude::*;
use crate::session::{ClaimOutcome, Presence, Track};
use xdscope_wire::event::Sym;

rule! {
    delta-subscribe-unanswered: Warn, rows "F-14",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check), Response(note_stated), Alarm(Alarm::Claims, check_stated)
}

fn check(ctx: &mut RuleContext<'_>) {
    unanswered(ctx, &RULE, "subscribed, but neither sent nor removed", |ctx, overdue| {
        let name = overdue.name;
        let is_stale = ctx.state.requests.added_by_stale_requests.contains(&name);
        // A stated resource of the wildcard was not subscribed by name (docs/protocol.md#f-17).
        let is_named = ctx.current_track().is_some_and(|track| {
            track.names(ctx.catalog(), name, track.sent.get(ctx.catalog(), name).as_ref())
        });
        !is_stale
            && (is_named || overdue.is_member)
            && !super::xdstp_empty_glob_silent::is_empty_glob(ctx, name)
    });
}

/// Reports delta names that are overdue and that the rule covers.
pub(super) fn unanswered(
    ctx: &mut RuleContext<'_>,
    rule: &'static Rule,
    text: &str,
    is_covered: impl Fn(&RuleContext<'_>, &OverdueName) -> bool,
) {
    let Some(track) = ctx.current_track() else { return };
    if !ctx.is_delta() {
        return;
    }
    let limit = ctx.options.timers.answer;
    let mut overdue = ctx.overdue_names(track, limit, ctx.state.checked.answers_checked_until);
    overdue.retain(|overdue| is_covered(ctx, overdue));
    ctx.report_overdue(rule, &format!("{text} within {}s", limit.as_secs()), None, overdue);
}

/// Counts the stated resources that the server sends again unchanged.
fn note_stated(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let resent = response.outcome.claimed_resent.len();
    if resent > 0 {
        ctx.state.versions.claims_resent += resent;
        ctx.arm(Alarm::Claims, ctx.at.after(ctx.options.timers.answer));
    }
}

/// Reports stated resources that are most likely gone: the server sends the others again unchanged.
fn check_stated(ctx: &mut RuleContext<'_>) {
    let limit = ctx.options.timers.answer;
    let Some(track) = ctx.current_track() else { return };
    if !ctx.has_full_history() {
        return;
    }
    // The server may send the stated resources in several responses.
    let Some(newest) = track.traffic.last_push.as_ref() else { return };
    let due = newest.at.after(limit);
    if ctx.at < due {
        return ctx.arm(Alarm::Claims, due);
    }
    let names = unmentioned(ctx, track);
    // A server that sends few of many stated resources again does not send all of them.
    if names.is_empty() || names.len() > ctx.state.versions.claims_resent {
        return;
    }
    let text = "most likely left behind: the server sent other stated resources again at the stated \
                versions, and neither sent nor removed this one";
    let evidence = track.carried.claims.stated_by.as_slice();
    let draft = FindingDraft::new(Blame::Server, text, &names).evidence(evidence).guessed();
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::Unmentioned, newest.at));
}

/// Returns the stated resources that the client continues with, and that no response has
/// mentioned.
fn unmentioned(ctx: &RuleContext<'_>, track: &Track) -> Vec<Sym> {
    let catalog = ctx.catalog();
    let kept = track.carried.claims.iter().filter(|(_, outcome)| *outcome == ClaimOutcome::Kept);
    let is_kept = |name: &Sym| {
        let entry = track.sent.get(catalog, *name);
        let is_kept = entry.is_some_and(|entry| entry.state == Presence::Kept);
        is_kept && track.covers(catalog, *name, entry.as_ref()) && track.waiting.get(*name).is_none()
    };
    kept.map(|(claim, _)| claim.name).filter(is_kept).collect()
}
