//! A client does not request a name or a type again that it needs.
//!
//! Why: Subscriptions do not outlive their stream. A name that is not requested again is no longer
//! updated. The finding is a warning if a cluster, a listener or a scope that the client uses
//! refers to the name, or, for a client of gRPC, the routes of its channels, also if the client has
//! given the name up in the middle of a stream, or, with the wildcard, clusters of its routes; if
//! the client had a wildcard for listeners or clusters, and does not request the type at all; and
//! if the client requests nothing on a new stream: the client gets no updates, and the server owes
//! nothing. A name to which no cluster, listener or route refers any more is left out. Otherwise
//! the finding is info: what the name is needed for is unknown, or the client has started anew
//! and may request listeners later. A name that another open stream of the client requests is
//! exempt. So is a client that ended the stream by itself and may need less: one that neither
//! states a version on the new stream nor requests a type of the ended one again.
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

use std::collections::{BTreeMap, HashSet};
use std::mem::replace;
use std::sync::Arc;

use super::support::{and_more, listed, listed_names, sort_unique, type_label, user_nouns};
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::session::{SETTLE_TIME, Stream, Track, Wildcard};
use crate::store::{ClientNeeds, UnsubscribedNames, UnsubscribedNeed};
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Dir, Kind, Seq, Sym, TypeUrl};
use xdscope_wire::text::shown_name;
use xdscope_wire::xdstp::is_structured;

rule! {
    not-resubscribed: Info, rows "P",
    ends(Ending::State), worded(Sentence::WithNames);
    checks:
        Open(opened), Alarm(Alarm::Opened, check_stream), Alarm(Alarm::Settled, check),
        Alarm(Alarm::Settled, check_types), Alarm(Alarm::Unsubscribed, check_in_use)
}

/// Types that a text lists; the others are counted.
const MAX_LISTED_TYPES: usize = 3;

/// Sets the timer of a stream that may continue with an earlier one.
fn opened(ctx: &mut RuleContext<'_>) {
    let may_go_on = ctx.stream.peers.node.is_none() || ctx.stream.chain.reconnect_of.is_some();
    if may_go_on && ctx.is_grpc() {
        ctx.arm(Alarm::Opened, ctx.stream.opened.after(SETTLE_TIME));
    }
}

/// Reports a new stream on which the client requests nothing.
fn check_stream(ctx: &mut RuleContext<'_>) {
    let (store, stream) = (ctx.store, ctx.stream);
    let Some((before, tracks)) = store.ended().before_unrequested(stream) else { return };
    let labels: Vec<&str> = tracks.iter().map(|track| type_label(&track.type_url)).collect();
    let more = and_more(labels.len().saturating_sub(MAX_LISTED_TYPES));
    let types = labels.iter().take(MAX_LISTED_TYPES).copied().collect::<Vec<_>>().join(", ");
    let who = match (&stream.peers.node_id, &before.peers.node_id) {
        (None, Some(node)) => format!("{} at its host ", shown_name(node)),
        _ => String::new(),
    };
    let text = format!(
        "has requested nothing on stream {}, and {who}was subscribed to {types}{more} on stream {}; \
         the server owes nothing",
        stream.id.0, before.id.0,
    );
    let draft = FindingDraft {
        severity: Some(Severity::Warn),
        cause: Some("stream"),
        guess: stream.peers.node_id.is_none(),
        ..FindingDraft::new(Blame::Client, text, &[])
    };
    let state = LastingState::UnrequestedStream;
    ctx.report_lasting(&RULE, draft, Lasting::new(state, stream.opened));
}

fn check(ctx: &mut RuleContext<'_>) {
    let engine = ctx.store.engine();
    let Some(before) = ctx.stream.chain.reconnect_of.and_then(|id| engine.stream(id)) else { return };
    if before.is_ended_by_client() {
        return;
    }
    let streams = engine.open_in_session(ctx.stream).chain(engine.open_of_node(ctx.stream));
    let streams: Vec<&Stream> = streams.collect();
    let used = ClientNeeds::new(ctx.store, ctx.stream).unsubscribed(&used_names(ctx));
    let used: HashSet<(Kind, Sym)> = used.iter().map(|need| (need.key.kind, need.key.name)).collect();
    for track in &before.tracks {
        // `ads-type-url-missing` covers requests without a type: they request nothing.
        if track.type_url.is_empty() {
            continue;
        }
        let now: Vec<_> = streams.iter().filter_map(|stream| stream.find(&track.type_url)).collect();
        if !track.completeness.names_known || now.iter().any(|now| !now.completeness.names_known) {
            continue;
        }
        let is_settled = |name: Sym| now.iter().any(|now| is_settled(ctx, now, name));
        let mut names: Vec<Sym> = track.subscribed.names.iter().filter(|name| !is_settled(*name)).collect();
        if let Some(kind) = track.kind
            && !names.is_empty()
        {
            // Those in use are a finding of their own.
            names.retain(|name| !used.contains(&(kind, *name)));
            if let Some(known) = ClientNeeds::new(ctx.store, ctx.stream).names_referred_to(kind) {
                names.retain(|name| known.contains(name) || is_structured(ctx.text(*name)));
            }
        }
        if !names.is_empty() {
            let text = format!(
                "{} {} requested on stream {}, but not on stream {} within 5s",
                type_label(&track.type_url),
                listed_names(ctx, &names),
                before.id.0,
                ctx.stream.id.0
            );
            let draft = FindingDraft::new(Blame::Client, text, &names).guessed();
            ctx.report(&RULE, FindingDraft { part: track.type_url.as_str(), ..draft });
        }
    }
}

/// Whether the client has requested a name on a new stream, has given it up there, or states its
/// version: `delta-reconnect-irv-unsubscribed` covers such a name.
fn is_settled(ctx: &RuleContext<'_>, track: &Track, name: Sym) -> bool {
    track.covers(ctx.catalog(), name, track.sent.get(ctx.catalog(), name).as_ref())
        || track.subscription.released.has(name)
        || track.carried.claims.get(name).is_some()
}

/// Returns the names that the client has requested and requests no longer, without given up ones to
/// which no resource is known to refer: most of those are of removed resources.
fn used_names(ctx: &RuleContext<'_>) -> UnsubscribedNames {
    let mut names = ClientNeeds::new(ctx.store, ctx.stream).unsubscribed_names();
    if ctx.options.links.is_some() {
        let (catalog, client, graphs) = (ctx.catalog(), ctx.client(), &ctx.source_state.graphs);
        names.retain(|key, given_up| {
            given_up.is_none() || graphs.is_used(catalog, &client, *key) != Some(false)
        });
    }
    names
}

/// Reports names that resources in force refer to, and that the client does not request.
fn check_in_use(ctx: &mut RuleContext<'_>) {
    let names = used_names(ctx);
    let needs = ClientNeeds::new(ctx.store, ctx.stream).unsubscribed(&names);
    let (due, waiting): (Vec<_>, Vec<_>) =
        needs.into_iter().partition(|need| need.since.after(SETTLE_TIME) <= ctx.at);
    if let Some(next) = waiting.iter().map(|need| need.since).min() {
        ctx.arm(Alarm::Unsubscribed, next.after(SETTLE_TIME));
    }
    let key = |need: &UnsubscribedNeed| (need.key.kind, need.key.name, need.since);
    let now = due.iter().map(key).collect();
    let reported = replace(&mut ctx.stream_state.reported_unsubscribed, now);
    let mut groups: BTreeMap<OwedNames, Vec<UnsubscribedNeed>> = BTreeMap::new();
    for need in due.into_iter().filter(|need| !reported.contains(&key(need))) {
        let owed = OwedNames { kind: need.key.kind, is_given_up: need.given_up.is_some() };
        groups.entry(owed).or_default().push(need);
    }
    for (owed, needs) in groups {
        report_in_use(ctx, owed, &needs);
    }
}

/// Names of one type that the client should request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OwedNames {
    kind: Kind,
    /// Whether the client has given them up on the stream, or not requested them again.
    is_given_up: bool,
}

/// Reports names that resources in use refer to.
fn report_in_use(ctx: &mut RuleContext<'_>, owed: OwedNames, needs: &[UnsubscribedNeed]) {
    let OwedNames { kind, is_given_up } = owed;
    let mut names: Vec<Sym> = needs.iter().map(|need| need.key.name).collect();
    let mut users: Vec<Sym> = needs.iter().map(|need| need.user.name).collect();
    let mut evidence: Vec<Seq> = needs.iter().filter_map(|need| need.given_up).collect();
    sort_unique(&mut names);
    sort_unique(&mut users);
    sort_unique(&mut evidence);
    let Some(since) = needs.iter().map(|need| need.since).min() else { return };
    let user = needs.first().map(|need| need.user.kind);
    let (text, past) = in_use_texts(ctx, owed, &names, user, &users);
    // A request that xdscope has held back or changed is none of the client.
    let is_cause = |facts: &&Arc<InterventionFacts>| {
        let of_kind = Kind::of_type_url(facts.type_url.as_str()).map(|(kind, _)| kind);
        facts.dir == Dir::Req && of_kind == Some(kind)
    };
    let cause = ctx.stream.interventions.iter().rev().find(is_cause);
    let draft = FindingDraft {
        severity: Some(Severity::Warn),
        evidence: &evidence,
        cause: Some(kind.label()),
        part: if is_given_up { "given up" } else { "" },
        ..FindingDraft::new(Blame::Client, text, &names)
    };
    let state = LastingState::Unsubscribed(kind);
    ctx.report_lasting(&RULE, draft.caused_by(cause), Lasting { state, since, past: Some(past) });
}

/// Returns the sentence about names that resources in use refer to, and the one once that has
/// ended.
fn in_use_texts(
    ctx: &RuleContext<'_>,
    OwedNames { kind, is_given_up }: OwedNames,
    names: &[Sym],
    user_kind: Option<Kind>,
    users: &[Sym],
) -> (String, String) {
    // Clusters and listeners refer to secrets and filters.
    let user_kind = if matches!(kind, Kind::Sds | Kind::Ecds) { None } else { user_kind };
    let (noun, nouns) = user_nouns(user_kind);
    let verb = if users.len() == 1 { "uses" } else { "use" };
    let pronoun = if names.len() == 1 { "it" } else { "them" };
    let users = listed(ctx, noun, nouns, users);
    let what = format!("{} {}", kind.label(), listed_names(ctx, names));
    let (fault, past) = match is_given_up {
        true => (format!("has unsubscribed from {what}"), format!("had unsubscribed from {what} for {{}}")),
        false => (
            format!("has not subscribed to {what} on its new stream"),
            format!("had not subscribed to {what} on its new stream for {{}}"),
        ),
    };
    (format!("{fault}; {users} {verb} {pronoun}, without updates"), past)
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
            if known.insert(track.type_url.clone())
                && had_wildcard(track)
                && !ctx.stream.may_need_less_than(before)
            {
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
    let is_known = track.completeness.names_known && !track.type_url.is_empty();
    has_wildcard && is_known && (track.is_of_full_state() || track.traffic.pushes > 0)
}

fn report_type(ctx: &mut RuleContext<'_>, before: &Stream, track: &Track) {
    // An Envoy requests listeners once it has its clusters. Without versions it may have restarted.
    let may_come = track.kind == Some(Kind::Lds) && !ctx.stream.all_tracks().any(Track::states_versions);
    let severity = (track.is_of_full_state() && !may_come).then_some(Severity::Warn);
    let text = format!(
        "has not subscribed to {0} on its new stream, and was subscribed to all of {0} on stream {1}; \
         the server owes nothing",
        type_label(&track.type_url),
        before.id.0,
    );
    let draft = FindingDraft::new(Blame::Client, text, &[]).severity(severity).guessed();
    let draft = FindingDraft { part: track.type_url.as_str(), ..draft };
    let state = LastingState::NotResubscribed(track.type_url.clone());
    ctx.report_lasting(&RULE, draft, Lasting::new(state, ctx.stream.opened));
}
