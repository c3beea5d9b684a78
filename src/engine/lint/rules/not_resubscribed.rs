//! A client does not request a name again after a reconnect.
//!
//! Why: Subscriptions do not outlive their stream. A name that is not requested again is no longer
//! updated. A client that ended the stream by itself is exempt, and so is a name that another open
//! stream of the client requests.
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
    Rule::new(Severity::Info, "not-resubscribed", "P", include_str!("not_resubscribed.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Settled, check)];

use crate::session::Stream;
use xdscope_wire::event::{Side, Sym};

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

/// Whether the client ended the stream without an error: it may need nothing of it any more.
fn is_ended_by_client(stream: &Stream) -> bool {
    stream.closed.as_ref().is_some_and(|(_, end)| {
        let is_ok = end.status.as_ref().is_none_or(|(code, _)| code.0 == 0);
        end.by == Some(Side::Client) && end.reset.is_none() && is_ok
    })
}
