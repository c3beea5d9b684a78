//! A server sends again, unchanged, what the client rejected.
//!
//! Why: The client will reject the same content again. The loop costs both sides and hides the
//! reason among its repetitions. A response with another cause makes no loop: new names of
//! the client, another resource, a push of other types, or one push long after the NACK.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds n=a names=[foo] nack="bad"
//! < eds v=2 n=b [foo]
//! ```
//!
//! Advice: After a NACK wait until the content changes before sending the type again.
//!
//! Reference: xDS protocol, "When to send an update".

use std::time::Duration;

use super::support::version_text;
use crate::lint::memory::track::SentResponse;
use crate::lint::prelude::*;
use crate::session::{NackFact, Track, hollow, key};
use xdscope_wire::event::{Seq, Sym};

rule! {
    nack-resend-loop: Warn, rows "E-30, F-34",
    ends(Ending::Loop(CorrectMessage::Ack));
    checks: Response(check)
}

/// Time after a NACK in which a response is a reaction to the NACK.
const REACTION: Duration = Duration::from_secs(5);

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_empty = response.view.resources.is_empty() || response.is_heartbeat();
    if is_empty || ctx.state.responses.rejected.is_empty() || has_other_cause(ctx, response.track) {
        return;
    }
    if response.view.is_delta { check_delta(ctx, response) } else { check_sotw(ctx, response) }
}

fn check_sotw(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let blobs = response.view.resources.blobs().iter();
    let mut refused = blobs.filter(|id| response.track.refused.contains(key(catalog, **id))).peekable();
    // A heartbeat does not send the content again.
    if refused.peek().is_some() && refused.all(|id| hollow(catalog, *id)) {
        return;
    }
    let Some(seq) = rejected_with_content(ctx, response) else { return };
    // The client may have accepted the content in a gap.
    if ctx.has_all_since(seq) {
        let text = format!(
            "version {} has the content that the client rejected before",
            version_text(response.view.version)
        );
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).evidence(&[seq]));
    }
}

/// Returns the rejected response that had the content of this one.
fn rejected_with_content(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Option<Seq> {
    let is_equal = |old: &&SentResponse| old.list.fingerprint() == response.view.resources.fingerprint();
    if let Some(old) = ctx.state.responses.rejected.iter().find(is_equal) {
        return Some(old.seq);
    }
    let newest = ctx.state.responses.newest.as_ref()?.seq;
    let is_newest_rejected = ctx.state.responses.rejected.back().is_some_and(|old| old.seq == newest);
    let is_same = is_newest_rejected && super::sotw_needless_update::same_content(ctx, response);
    is_same.then_some(newest)
}

/// Whether the response has another cause than the NACK.
fn has_other_cause(ctx: &RuleContext<'_>, track: &Track) -> bool {
    let Some(nack) = track.verdicts.nacks.back() else { return false };
    let has_new_names = ctx.state.requests.has_changed_names || track.subscription.changed_at > nack.at;
    let is_single = track.verdicts.refusal().is_none_or(|open| open.times == 1);
    let is_late = is_single && ctx.at.since(nack.at) > REACTION;
    has_new_names || is_late || has_pushed_others(ctx, track, nack)
}

/// Whether the response changes another resource than the refused ones.
fn has_other_news(response: &ResponseContext<'_>) -> bool {
    let outcome = response.outcome;
    let news = outcome.added.iter().chain(&outcome.changed).chain(&outcome.removed);
    // A refused resource may come again after its removal.
    let mut others = news.filter(|name| !response.track.refused.contains(**name));
    others.any(|name| !outcome.restored.contains(name))
}

/// Whether the server has pushed resources of another type since the NACK, unasked: a change of the
/// control plane makes it push all types.
fn has_pushed_others(ctx: &RuleContext<'_>, own: &Track, nack: &NackFact) -> bool {
    let mut others = ctx.stream.tracks.iter().filter(|track| track.type_url != own.type_url);
    others.any(|track| {
        let is_pushed = track.traffic.last_push.as_ref().is_some_and(|push| push.n > nack.n.0);
        is_pushed && track.traffic.last_asking.is_none_or(|asked| asked < nack.n)
    })
}

/// Delta is judged per resource: the version and the content are those of the NACK.
fn check_delta(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // The client may have accepted the content in a gap.
    let Some(rejected) = ctx.state.responses.rejected.back().map(|rejected| rejected.seq) else { return };
    if !ctx.has_all_since(rejected) || has_other_news(response) {
        return;
    }
    let is_refused = |name: &&Sym| response.track.refused.contains(**name);
    let mut names: Vec<Sym> = response.outcome.repeated.iter().filter(is_refused).copied().collect();
    names.extend(restored_refused(ctx, response));
    if !names.is_empty() {
        let text = "sent again at the version that the client rejected";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).evidence(&[rejected]));
    }
}

/// Returns the resources that the client refused in a response, that were removed since, and that
/// come again with the same content.
fn restored_refused(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let track = response.track;
    if ctx.state.responses.rejected.is_empty() || track.verdicts.nacks.is_empty() {
        return Vec::new();
    }
    let is_named = |name: Sym| {
        let text = ctx.text(name);
        // A server sends again what the client requests again (docs/protocol.md#f-14).
        let requested = track.subscription.changed_at;
        let is_about = |nack: &NackFact| {
            let is_listed = nack.resources.iter().any(|refused| *refused.name == *text);
            is_listed && (nack.resources.len() == 1 || nack.message.contains(text))
        };
        track.verdicts.nacks.iter().filter(|nack| nack.at >= requested).any(is_about)
    };
    let was_refused = |name: &&Sym| {
        let entry = track.sent.get(ctx.catalog(), **name);
        let Some(blob) = entry.and_then(|entry| entry.blob) else { return false };
        ctx.state.responses.rejected.iter().any(|old| old.list.blobs().contains(&blob)) && is_named(**name)
    };
    response.outcome.added.iter().filter(was_refused).copied().collect()
}
