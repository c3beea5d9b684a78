//! A client does not request a name again after a reconnect.
//!
//! Why: Subscriptions do not outlive their stream. A name that is not requested again is no longer
//! updated. A client that ended the stream by itself is exempt, and so is a name that another open
//! stream of the client requests. If the client had a wildcard for listeners or clusters, and does
//! not request the type at all, the finding is a warning: the client gets no updates, and the
//! server owes nothing. A client that has started anew may request listeners later: there the
//! finding is info.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo bar]
//! < v=1 n=a [foo bar]
//! > v=1 n=a names=[foo bar]
//! 1 close status=14
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
    Rule::new(Severity::Info, "not-resubscribed", "P", include_str!("not_resubscribed.rs"))
        .ends(Ending::State);

pub(super) static CHECKS: &[Check] =
    &[Check::Alarm(Alarm::Settled, check), Check::Alarm(Alarm::Settled, check_types)];

use std::collections::HashSet;

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::session::{Stream, Track, Wildcard};
use xdscope_wire::event::{Kind, Side, Sym, TypeUrl};

fn check(ctx: &mut RuleContext<'_>) {
    let Some(before) = ctx.stream.reconnect_of.and_then(|id| ctx.store.engine().stream(id)) else { return };
    if is_ended_by_client(before) {
        return;
    }
    let catalog = ctx.catalog();
    let streams: Vec<&Stream> = ctx.store.engine().open_in_session(ctx.stream).collect();
    for track in &before.tracks {
        // `ads-type-url-missing` covers requests without a type: they request nothing.
        if track.type_url.is_empty() {
            continue;
        }
        let now: Vec<_> = streams.iter().filter_map(|stream| stream.find(&track.type_url)).collect();
        if !track.names_known || now.iter().any(|now| !now.names_known) {
            continue;
        }
        let is_requested = |name: &Sym| {
            now.iter().any(|now| {
                let is_covered = now.covers(catalog, *name, now.sent.get(catalog, *name).as_ref());
                // The client has requested the name on the new stream, and given it up there.
                is_covered || now.subscription.released.has(*name)
            })
        };
        // `delta-reconnect-irv-unsubscribed` covers names whose version the client states.
        let is_stated = |name: &Sym| now.iter().any(|now| now.carried.claims.get(*name).is_some());
        let names = track.subscribed.names.iter();
        let names: Vec<_> = names.filter(|name| !is_requested(name) && !is_stated(name)).collect();
        if !names.is_empty() {
            let text = format!(
                "{} requested on stream {}, but not on stream {} within 5s",
                super::support::type_label(&track.type_url),
                before.id.0,
                ctx.stream.id.0
            );
            let part = track.type_url.as_str();
            ctx.report(
                &RULE,
                FindingDraft { text, names: &names, part, guess: true, ..FindingDraft::default() },
            );
        }
    }
}

/// Reports types with a wildcard that the client does not request at all on its new stream.
fn check_types(ctx: &mut RuleContext<'_>) {
    // A lost request may have asked for the type.
    if !ctx.has_full_history() {
        return;
    }
    let (store, stream) = (ctx.store, ctx.stream);
    let Some(open) = store.engine().open_of_client(stream) else { return };
    let requested = open.flat_map(|(_, stream)| &stream.tracks);
    let requested = requested.filter(|track| track.traffic.requests > 0);
    let mut known: HashSet<TypeUrl> = requested.map(|track| track.type_url.clone()).collect();
    for before in store.engine().ended_before(stream) {
        for track in before.tracks.iter().filter(|track| track.traffic.requests > 0) {
            if known.insert(track.type_url.clone()) && had_wildcard(track) && !is_ended_by_client(before) {
                report_type(ctx, before, track);
            }
        }
    }
}

/// Whether the client is known to have had a wildcard at the end of the stream, and to have used
/// it: a type of another plane may have no resources.
fn had_wildcard(track: &Track) -> bool {
    let has_wildcard = matches!(track.subscribed.wildcard, Wildcard::Legacy | Wildcard::Explicit);
    // `ads-type-url-missing` covers requests without a type: they request nothing.
    let is_known = track.names_known && !track.type_url.is_empty();
    has_wildcard && is_known && (track.is_of_full_state() || track.traffic.pushes > 0)
}

fn report_type(ctx: &mut RuleContext<'_>, before: &Stream, track: &Track) {
    // An Envoy requests listeners once it has its clusters. Without versions it may have restarted.
    let may_come = track.kind == Some(Kind::Lds) && !ctx.stream.tracks.iter().any(Track::states_versions);
    let severity = (track.is_of_full_state() && !may_come).then_some(Severity::Warn);
    let text = format!(
        "has not subscribed to {0} on its new stream, and was subscribed to all of {0} on stream {1}; \
         the server owes nothing",
        super::support::type_label(&track.type_url),
        before.id.0,
    );
    let part = track.type_url.as_str();
    let draft = FindingDraft { text, part, severity, guess: true, ..FindingDraft::default() };
    let state = LastingState::NotResubscribed(track.type_url.clone());
    ctx.report_lasting(&RULE, draft, Lasting { state, since: ctx.stream.opened, past: None });
}

/// Whether the client ended the stream without an error: it may need nothing of it any more.
fn is_ended_by_client(stream: &Stream) -> bool {
    stream.closed.as_ref().is_some_and(|(_, end)| {
        let is_ok = end.status.as_ref().is_none_or(|(code, _)| code.0 == 0);
        end.by == Some(Side::Client) && end.reset.is_none() && is_ok
    })
}
