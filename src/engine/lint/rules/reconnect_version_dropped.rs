//! A client reconnects without stating its version.
//!
//! Why: The first request of a later stream carries the newest version that the client has seen,
//! so that the server need not send it again. A restarted client, and a client of the first
//! edition of the protocol, state no version.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo]
//! < v=X n=A [foo]
//! > v=X n=A names=[foo]
//! 1 close
//! stream 2 sotw eds
//! > names=[foo]
//! ```
//!
//! Advice: Keep the version of each type per server, and send it in the first request after a
//! reconnect.
//!
//! Reference: xDS protocol, "ACK/NACK and resource type instance version".

use crate::lint::memory::state::MAX_SOURCE_ENTRIES;
use crate::lint::prelude::*;
use crate::session::StreamKey;

rule! {
    reconnect-version-dropped: Info, rows "E-02, L-03";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.sotw() else { return };
    if !request.outcome.first || !ctx.is_grpc() || !body.version_info.is_empty() {
        return;
    }
    let Some(before) = ctx.previous_track(&request.track.type_url) else { return };
    let Some(known) = before.verdicts.in_force.as_ref() else { return };
    // A stream for other names is not a reconnect: some clients open a stream for each secret.
    let mut names = body.resource_names.iter().map(|name| ctx.catalog().first_spelling(*name));
    let is_wildcard = request.track.subscribed.may_be_wildcard() || body.resource_names.is_empty();
    if !is_wildcard && !names.any(|name| before.subscribed.names.contains(name)) {
        return;
    }
    if !known.version.is_empty() {
        let text = format!("reconnected without a version, but acknowledged {} before", known.version);
        let evidence = [known.n];
        let draft = FindingDraft::new(Blame::Client, text, &[]).evidence(&evidence).guessed();
        let own = (ctx.stream.id, ctx.track_index);
        let key = (StreamKey::from_stream(ctx.stream), request.track.type_url.clone());
        let known = &mut ctx.source_state.without_version;
        let has_room = known.len() < MAX_SOURCE_ENTRIES || known.contains_key(&key);
        // A client that reconnects again and again has one finding.
        let first = if has_room { *known.entry(key).or_insert(own) } else { own };
        ctx.report_at(&RULE, draft, first);
    }
}
