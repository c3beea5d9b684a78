//! A cluster or listener waits for endpoints or routes that do not arrive or are not requested.
//!
//! Why: Clusters and listeners warm before they are used: until their endpoints or routes arrive,
//! the old ones stay in use, and at start-up nothing works. Envoy needs the endpoints of an
//! updated cluster again, even if they have not changed. After its timeout (15 s, unless
//! `initial_fetch_timeout` says otherwise), an Envoy from version 1.32 on goes on with the
//! endpoints that it has from an ADS stream, and the wait is over. An earlier Envoy, or one that
//! gets endpoints from another stream, uses the cluster without endpoints then. What else an Envoy
//! has accepted is in use without the missing resource after the timeout, too. An Envoy requests
//! listeners once its clusters are ready: one that has clusters for more than 30 s and has never
//! requested listeners likely waits for the secrets of its clusters, if these come from a server
//! that is not visible, with an `initial_fetch_timeout` of 0 s.
//! Without such secrets the finding is info: all listeners may be in the bootstrap. A client that
//! follows references and never requests the endpoints of a cluster on its ADS stream waits for
//! nothing. The order of separate streams is uncertain: there the finding is info, although the
//! missing resource is a problem. A config dump that has all resources of its client shows which
//! listeners are in use without routes.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [c{eds}]
//! > cds v=1 n=a
//! > eds names=[c]
//! advance 15s
//! ```
//!
//! Advice: Send the endpoints of each new or changed cluster, and the routes of each new listener.
//! If the client does not request endpoints, look at its log and at the name in the cluster. If it
//! does not request listeners, look at the server of the secrets, and at the secrets in
//! `/config_dump` of the admin interface.
//!
//! Reference: xDS protocol, "Resource warming".

use std::collections::BTreeMap;
use std::mem::take;
use std::time::Duration;

use super::support::{and_more, missing_in_dump, sort_unique};
use crate::lint::findings::finding::NO_LISTENERS;
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::findings::traffic_gaps::ORDER_UNCERTAIN;
use crate::lint::memory::track::MAX_NAMES;
use crate::lint::prelude::*;
use crate::session::OtherNeed;
use crate::store::{ClientNeeds, NeededResource, WarmingFact};
use xdscope_wire::event::{Kind, Seq, Sym, Time};
use xdscope_wire::text::shown_name;

rule! {
    warming-stuck: Warn, rows "H-04, H-05",
    ends(Ending::State), about(Subject::Warming);
    checks: Open(check_dump), Alarm(Alarm::Warming, check), Alarm(Alarm::Listeners, check_listeners)
}

/// Time from the first clusters from which on a client without listeners is worth a note, although
/// nothing shows what the client waits for: all of its listeners may be in its bootstrap.
const LISTENERS_MISSING: Duration = Duration::from_secs(120);
/// Resources of other servers that a text lists.
const MAX_LISTED_NEEDS: usize = 3;

/// Reports what a dump shows in use without its routes: the wait for these has ended.
fn check_dump(ctx: &mut RuleContext<'_>) {
    let missing = missing_in_dump(&ctx.stream.open, Kind::Rds, "is in use without", "RDS");
    let Some(text) = missing else { return };
    let text = format!("{text}: its requests get 404");
    ctx.report(&RULE, FindingDraft { cause: Some("dump"), ..FindingDraft::new(Blame::Server, text, &[]) });
}

fn check(ctx: &mut RuleContext<'_>) {
    let (at, limit) = (ctx.at, ctx.options.timers.warm);
    let Some(track) = ctx.current_track() else { return };
    ctx.settle_lasting(track, &[Sym::EMPTY]);
    let mut due = Vec::new();
    let mut next = None;
    let reported = take(&mut ctx.state.references.reported_warming);
    let reported_unrequested = take(&mut ctx.state.references.reported_unrequested);
    let warming = ctx.store.warming_of_track_at(ctx.stream, track, at).into_iter();
    // `xdstp-malformed` covers names that no resource can have.
    let warming = warming.filter(|fact| !fact.is_owed_by_client() && !fact.is_in_vain());
    let warming = warming.chain(ctx.store.used_without_at(ctx.stream, track, at));
    // Those within the limit set the next timer.
    let unrequested = ctx.store.unrequested_of_track(ctx.stream, track, (at, Duration::ZERO));
    for fact in warming.chain(unrequested) {
        let name = ctx.sym(&fact.name);
        let condition = fact.condition(ctx.stream.opened);
        if !condition.is_overdue(at, limit) {
            let due = condition.due(limit);
            next = Some(next.map_or(due, |next: Time| next.min(due)));
            continue;
        }
        let cached_from = cached_from(&fact).filter(|from| *from > at);
        next = next.into_iter().chain(cached_from).min();
        let (before, now) = match fact.is_owed_by_client() {
            true => (&reported_unrequested, &mut ctx.state.references.reported_unrequested),
            false => (&reported, &mut ctx.state.references.reported_warming),
        };
        let is_reported = before.get(&name) == Some(&fact.response);
        now.insert(name, fact.response);
        let is_certain = track.is_warming_certain(ctx.catalog(), fact.response, name);
        if !is_reported && is_certain && ctx.has_all_since(fact.response) {
            due.push(fact);
        }
    }
    if let Some(next) = next {
        ctx.arm(Alarm::Warming, next);
    }
    let (unrequested, due): (Vec<_>, Vec<_>) = due.into_iter().partition(WarmingFact::is_owed_by_client);
    report(ctx, &unrequested, Blame::Client);
    let mut batches: BTreeMap<_, Vec<WarmingFact>> = BTreeMap::new();
    for fact in due {
        let interrupted = ctx.interrupted(&RULE, ctx.sym(&fact.name), fact.since);
        let by = fact.caused_by.as_ref().map(|cause| cause.by.clone());
        let key = (interrupted, fact.is_update, fact.is_used_without, fact.is_order_uncertain(), by);
        batches.entry(key).or_default().push(fact);
    }
    for batch in batches.values() {
        report(ctx, batch, Blame::Server);
    }
}

/// Returns the time from which an Envoy continues with the endpoints that it has, after it has
/// accepted an update that needs them again (docs/protocol.md#h-05).
fn cached_from(fact: &WarmingFact) -> Option<Time> {
    let is_cached = !fact.is_used_without && fact.needs.iter().all(|need| need.is_cached);
    if !is_cached || fact.withheld.is_some() {
        return None;
    }
    let over = |need: &NeededResource| Some(need.since.after(need.timeout?).after(Duration::from_millis(1)));
    let over = fact.needs.iter().map(over).collect::<Option<Vec<_>>>()?;
    over.into_iter().max()
}

/// Reports resources that wait for what one side owes.
fn report(ctx: &mut RuleContext<'_>, batch: &[WarmingFact], blame: Blame) {
    let (names, mut evidence): (Vec<Sym>, Vec<Seq>) =
        batch.iter().map(|fact| (ctx.sym(&fact.name), fact.response)).unzip();
    evidence.dedup();
    let since = |fact: &WarmingFact| match blame {
        Blame::Client => fact.condition(ctx.stream.opened).due_from,
        _ => fact.since,
    };
    let Some(since) = batch.iter().map(since).min() else { return };
    let needs = batch.iter().flat_map(|fact| &fact.needs).map(|need| ctx.sym(&need.name));
    let needs = needs.take(MAX_NAMES).collect();
    let what = needed(batch);
    let is_one = names.len() == 1;
    // A server controls the order within one stream only (docs/protocol.md#h-12).
    let is_uncertain = blame == Blame::Server && batch.iter().all(WarmingFact::is_order_uncertain);
    let (state, cause, text, past) = if blame == Blame::Client {
        let its = if is_one { "its" } else { "their" };
        let is_given_up = batch.iter().all(|fact| fact.given_up().is_some());
        let fault = if is_given_up { "given up" } else { "not requested" };
        let text = format!("the client has {fault} {its} {what}");
        let past = format!("the client had {fault} {its} {what} for {{}}");
        (LastingState::Unrequested(needs), Some("not requested"), text, past)
    } else {
        let order = if is_uncertain { ORDER_UNCERTAIN } else { "" };
        let note = note(batch);
        let wait = match (batch.iter().any(|fact| fact.is_used_without), is_one) {
            (true, true) => "is in use without",
            (true, false) => "are in use without",
            (false, true) => "waits for",
            (false, false) => "wait for",
        };
        // Nothing has waited for resources that do not exist.
        let is_absent =
            |fact: &WarmingFact| fact.is_used_without && fact.needs.iter().any(|need| need.is_absent);
        let waited = match (batch.iter().any(is_absent), is_one) {
            (true, true) => "was in use without",
            (true, false) => "were in use without",
            (false, _) => "waited for",
        };
        let past = format!("{waited} {what} for {{}}{note}{order}");
        (LastingState::Warming(needs), None, format!("{wait} {what}{note}{order}"), past)
    };
    let severity = is_uncertain.then_some(Severity::Info);
    let draft = FindingDraft::new(blame, text, &names).evidence(&evidence).severity(severity);
    let caused_by = batch.first().and_then(|fact| fact.caused_by.as_ref());
    let draft = FindingDraft { cause, ..draft }.caused_by(caused_by);
    ctx.report_lasting(&RULE, draft, Lasting { state, since, past: Some(past) });
}

/// Returns why Envoy waits for endpoints that it has.
fn note(facts: &[WarmingFact]) -> &'static str {
    let is_resend = |need: &&NeededResource| need.kind == Kind::Eds && need.is_resend;
    let resent: Vec<_> = facts.iter().flat_map(|fact| &fact.needs).filter(is_resend).collect();
    if resent.is_empty() {
        ""
    } else if resent.iter().all(|need| need.is_cached) {
        "; Envoy needs them again after an update, and goes on with the old ones after its timeout"
    } else {
        "; Envoy needs them again after an update"
    }
}

/// Describes the resources that are waited for: `endpoints and secrets`.
fn needed(facts: &[WarmingFact]) -> String {
    let mut kinds: Vec<Kind> = facts.iter().flat_map(|fact| &fact.needs).map(|need| need.kind).collect();
    sort_unique(&mut kinds);
    let words: Vec<&str> = kinds.into_iter().map(resources_of).collect();
    words.join(" and ")
}

fn resources_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Eds => "endpoints",
        Kind::Rds => "routes",
        Kind::Srds => "scoped routes",
        Kind::Vhds => "virtual hosts",
        Kind::Sds => "secrets",
        _ => "filter configurations",
    }
}

/// Reports an Envoy that has had clusters for long, and has never requested listeners.
fn check_listeners(ctx: &mut RuleContext<'_>) {
    let (Some(track), Some(since)) = (ctx.current_track(), ctx.state.references.clusters_since) else {
        return;
    };
    if track.sent.count() == 0 || !owes_listeners(ctx) {
        return;
    }
    let mut unseen = ClientNeeds::new(ctx.store, ctx.stream).unseen(track);
    unseen.retain(|need| need.key.kind == Kind::Sds && need.timeout.is_none());
    let is_blocked = !unseen.is_empty();
    let missing_at = since.after(LISTENERS_MISSING);
    if !is_blocked && ctx.at < missing_at {
        return ctx.arm(Alarm::Listeners, missing_at);
    }
    // A cluster that warms explains why the client requests no listeners.
    if !is_blocked && !ctx.store.warming_of_track(ctx.stream, track).is_empty() {
        return;
    }
    let reason = match is_blocked {
        true => format!("likely waits for {}", unseen_needs(ctx, &unseen)),
        false => "unless all listeners are in its bootstrap".to_owned(),
    };
    let text = format!("client has clusters and requests no listeners: {reason}");
    let past = Some(format!("client had clusters and requested no listeners for {{}}: {reason}"));
    let severity = (!is_blocked).then_some(Severity::Info);
    let draft = FindingDraft::new(Blame::Client, text, &[]).severity(severity).guessed();
    let draft = FindingDraft { cause: Some(NO_LISTENERS), ..draft };
    ctx.report_lasting(&RULE, draft, Lasting { state: LastingState::UnrequestedListeners, since, past });
}

/// Whether a client is expected to request listeners, and has not: an Envoy with a wildcard
/// subscription to clusters on ADS, all messages of which are known.
fn owes_listeners(ctx: &RuleContext<'_>) -> bool {
    let is_wildcard = ctx.current_track().is_some_and(|track| track.subscribed.is_wildcard());
    let is_known = ctx.has_full_history() && !ctx.stream.open.partial;
    if !ctx.is_envoy() || !is_wildcard || !is_known || !ctx.is_grpc() {
        return false;
    }
    let mut earlier = ctx.store.engine().ended_before(ctx.stream).flat_map(|stream| &stream.tracks);
    [Kind::Lds, Kind::Rds, Kind::Srds].iter().all(|kind| ctx.tracks_of(*kind).is_empty())
        && !earlier.any(|track| track.kind == Some(Kind::Lds) && track.traffic.requests > 0)
}

/// Returns `SDS default, SDS ROOTCA from cluster sds-grpc, not behind this tap`.
fn unseen_needs(ctx: &RuleContext<'_>, needs: &[OtherNeed]) -> String {
    let name =
        |need: &OtherNeed| format!("{} {}", need.key.kind.label(), shown_name(ctx.text(need.key.name)));
    let listed: Vec<String> = needs.iter().take(MAX_LISTED_NEEDS).map(name).collect();
    let more = and_more(needs.len().saturating_sub(MAX_LISTED_NEEDS));
    let server = match needs.first().filter(|need| need.cluster != Sym::EMPTY) {
        Some(need) => format!("cluster {}", shown_name(ctx.text(need.cluster))),
        None => "another server".to_owned(),
    };
    format!("{}{more} from {server}, which is not behind this tap", listed.join(", "))
}
