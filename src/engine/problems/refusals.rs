//! Problems of refused responses and resources: one for each reason of the client.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lint::Blame;
use crate::nack::{RestUse, is_name_in};
use crate::session::{NackFact, PushedVersion, Refusal, RefusedVersion, Response, Stream, Track};
use crate::store::{RefusedBy, Store, TypeState};
use xdscope_wire::event::{Kind, Seq, Sym, Time, Variant};
use xdscope_wire::xdstp::named;

use super::fact::{Problem, ProblemFact, ProblemKind, RefusedPush, RefusedResources};
use super::states::{Start, fact, sorted};
use super::{MAX_EVIDENCE, findings};

/// Reasons of refusals of one type that are problems of their own.
const MAX_REASONS: usize = 8;

/// Returns the response with the refused content to which the client has given no answer.
pub(super) fn unanswered_again(refusal: &ProblemFact) -> Option<Seq> {
    match &refusal.problem {
        Problem::Refused(refused) => refused.unanswered,
        _ => None,
    }
}

/// Returns the problems of a type whose newest responses are refused, one for each reason; that of
/// the newest NACK comes first.
pub(super) fn refused(store: &Store, stream: &Stream, track: &Track) -> Vec<ProblemFact> {
    let (Some(open), Some(newest)) = (track.verdicts.refusal(), track.verdicts.nacks.back()) else {
        return Vec::new();
    };
    let times = usize::try_from(open.times).unwrap_or(usize::MAX);
    let standing = Standing::new(store, track, Some(newest.n));
    let reasons = by_reason(track.verdicts.nacks.iter().rev().take(times));
    let stands = |nacks: &[&NackFact]| standing.runs_among(nacks) > 0;
    let (mut reasons, mut over): (Vec<_>, Vec<_>) = reasons.into_iter().partition(|nacks| stands(nacks));
    if let [only] = &mut reasons[..] {
        // The refusal lasts since the first NACK after the last ACK (docs/protocol.md#e-26).
        only.extend(std::mem::take(&mut over).into_iter().flatten());
        only.sort_unstable_by_key(|nack| std::cmp::Reverse(nack.n));
    }
    // The other NACKs are over, refuse the content on earlier streams, or are forgotten.
    let listed: usize = reasons.iter().chain(&over).map(Vec::len).sum();
    let unlisted = times - listed;
    let problem = |(at, nacks): (usize, &Vec<&NackFact>)| {
        let unlisted = if at == 0 { unlisted } else { 0 };
        let since = match nacks.last() {
            Some(first) if unlisted == 0 => first.at,
            _ => open.since,
        };
        let series =
            Series { nacks, times: (nacks.len() + unlisted) as u64, since, open: standing.runs_among(nacks) };
        refused_push(store, stream, track, &series)
    };
    reasons.iter().enumerate().filter_map(problem).collect()
}

/// Groups NACKs, newest first, by their reason, at most [`MAX_REASONS`]: those with another reason
/// belong to the last group.
fn by_reason<'a>(nacks: impl Iterator<Item = &'a NackFact>) -> Vec<Vec<&'a NackFact>> {
    let mut groups: Vec<(String, Vec<&NackFact>)> = Vec::new();
    for nack in nacks {
        let reason = nack.reason();
        let known = groups.iter().position(|(known, _)| *known == reason);
        let place = known.unwrap_or(groups.len()).min(MAX_REASONS - 1);
        match groups.get_mut(place) {
            Some((_, group)) => group.push(nack),
            None => groups.push((reason, vec![nack])),
        }
    }
    groups.into_iter().map(|(_, nacks)| nacks).collect()
}

/// Runs of NACKs of one content for one reason, by the newest NACK of each.
struct Standing {
    /// The NACKs that the client has not taken back: the newest one of each run.
    runs: BTreeSet<Seq>,
}

impl Standing {
    /// `newest`: the newest NACK, if no later response was accepted.
    fn new(store: &Store, track: &Track, newest: Option<Seq>) -> Standing {
        let standing = track.standing_refusals(store.catalog()).into_iter();
        let mut standing: BTreeSet<Seq> = standing.map(|(refusal, _)| refusal.nack).collect();
        standing.extend(newest);
        let nacks: Vec<&NackFact> = all_nacks(track).collect();
        let runs = nacks.chunk_by(|a, b| a.is_repeat_of(b));
        let standing = runs.filter(|run| run.iter().any(|nack| standing.contains(&nack.n)));
        Standing { runs: standing.filter_map(|run| run.last().map(|nack| nack.n)).collect() }
    }

    /// Returns the number of runs that the client still refuses, among those of these NACKs.
    fn runs_among(&self, nacks: &[&NackFact]) -> usize {
        nacks.iter().filter(|nack| self.runs.contains(&nack.n)).count()
    }
}

/// Returns the NACKs of a type, and those of earlier streams that the client continues with,
/// oldest first.
fn all_nacks(track: &Track) -> impl Iterator<Item = &NackFact> {
    track.carried.refusals.nacks().iter().chain(&track.verdicts.nacks)
}

/// NACKs for one reason.
struct Series<'a> {
    /// Newest first; never empty.
    nacks: &'a [&'a NackFact],
    /// How many there are, with those that are not kept.
    times: u64,
    since: Time,
    /// Contents that the client still refuses.
    open: usize,
}

/// Returns the problem of a push that the client refuses, maybe again and again.
fn refused_push(store: &Store, stream: &Stream, track: &Track, series: &Series<'_>) -> Option<ProblemFact> {
    let nack = *series.nacks.first()?;
    let (version, in_force) = refused_version(store, stream, track, nack);
    // A dump has no pushes: what warms in it is no answer to the refusal.
    let pending = if stream.is_dump() { None } else { track.responses.pending().next() };
    let is_again =
        |response: &&Response| !response.version.is_empty() && *response.version.as_str() == *nack.version;
    let unanswered = pending.filter(is_again).map(|response| response.seq);
    let explained =
        series.nacks.iter().find(|other| !other.implied && other.is_same_content(nack)).unwrap_or(&nack);
    let refused = RefusedPush {
        version,
        implied: nack.implied,
        is_explained: !explained.implied,
        times: series.times,
        open: series.open,
        first: series.since,
        is_resent: series.times > 1 && series.nacks.iter().all(|earlier| earlier.is_same_content(nack)),
        in_force,
        knows_in_force: stream.knows_in_force(track) && nack.refused.is_some(),
        message: if explained.message.trim().is_empty() { None } else { Some(explained.message.clone()) },
        faults: store.nack_faults(&explained.message, explained.refused),
        is_file: stream.variant() == Some(Variant::File),
        is_guess: nack.may_refuse.is_some(),
        unanswered,
        unused: unused_others(stream, track, nack),
        users: users_of_extension(store, stream, track, nack),
        broken: None,
        by_version: Vec::new(),
    };
    let state = if refused.is_file { TypeState::Rejected } else { TypeState::Nack };
    let start = Start { state, at: series.since, n: nack.n };
    let mut times: Vec<Time> = series.nacks.iter().map(|nack| nack.at).collect();
    times.reverse();
    let refusals = series.nacks.iter().flat_map(|nack| nack.refused.into_iter().chain([nack.n]));
    let evidence = unanswered.into_iter().chain(refusals);
    Some(ProblemFact {
        blame: Blame::Both,
        last: (series.times > 1).then_some(nack.at),
        count: series.times,
        period: findings::period(&times),
        messages: sorted(evidence.take(MAX_EVIDENCE).collect()),
        ..fact(stream, track, start, Problem::Refused(refused))
    })
}

/// Delta: returns the number of clusters or listeners that a NACK does not name, and that the
/// client does not use because they came with a refused one.
fn unused_others(stream: &Stream, track: &Track, nack: &NackFact) -> usize {
    let is_delta = stream.variant().is_some_and(Variant::is_delta);
    if !is_delta || !matches!(track.kind, Some(Kind::Cds | Kind::Lds)) {
        return 0;
    }
    let is_unused =
        |refusal: &Refusal| refusal.nack == nack.n && !refusal.is_named && refusal.rest == RestUse::NotUsed;
    track.refused.names().filter_map(|name| track.refused.get(name)).filter(is_unused).count()
}

/// Returns the listeners of the client that wait for an extension configuration which a NACK
/// refuses.
fn users_of_extension(store: &Store, stream: &Stream, track: &Track, nack: &NackFact) -> Vec<Arc<str>> {
    if track.kind != Some(Kind::Ecds) {
        return Vec::new();
    }
    let (engine, catalog) = (store.engine(), store.catalog());
    let is_refused =
        |name: Sym| track.refused.get(name).is_some_and(|refusal| refusal.nack == nack.n && refusal.is_named);
    let mut users = Vec::new();
    for (_, other) in engine.open_of_kind(stream, Kind::Lds) {
        for listeners in other.known_tracks().filter(|track| track.kind == Some(Kind::Lds)) {
            for (name, entry) in listeners.sent.entries(catalog) {
                let needs = engine.needs().of_content(catalog, entry.blob);
                let mut needs = needs.iter().filter(|need| need.kind == Kind::Ecds);
                if entry.is_present() && needs.any(|need| is_refused(need.name)) {
                    users.push(store.text(name));
                }
            }
        }
    }
    users.sort_unstable();
    users.dedup();
    users
}

/// Returns the version that a NACK refuses, and the one that the client keeps.
///
/// On a delta stream, and without a version of the response, the refused one is that of the first
/// resource that the NACK names, or whose removal it refuses; on a delta stream the client keeps a
/// version of that resource.
fn refused_version(
    store: &Store,
    stream: &Stream,
    track: &Track,
    nack: &NackFact,
) -> (PushedVersion, Option<Arc<str>>) {
    let in_force = store.version_in_use(track).map(|version| Arc::from(version.as_str()));
    let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
    if nack.refused.is_none() {
        return (PushedVersion::Unknown, if is_delta { None } else { in_force });
    }
    let whole = || PushedVersion::Whole(nack.version.clone());
    if !is_delta && !nack.version.is_empty() {
        return (whole(), in_force);
    }
    let refused = store.refused_of_track(stream, track, nack.n);
    let held = if is_delta { held_version(store, track, nack) } else { None };
    let is_named = |refused: &RefusedBy| is_name_in(&nack.message, &refused.name);
    if let Some((pushed, version, is_held_named)) = held
        && refused.as_ref().is_none_or(|refused| is_held_named && !is_named(refused))
    {
        return (pushed, Some(version));
    }
    match refused {
        Some(RefusedBy { name, version, is_removal, in_force: own, more, .. }) => {
            let pushed = match is_removal {
                true => PushedVersion::Removal { name, more },
                false => PushedVersion::Resource { name, version, more },
            };
            (pushed, if is_delta { own } else { in_force })
        }
        None if is_delta && nack.version.is_empty() => (PushedVersion::Empty, None),
        None => (whole(), in_force),
    }
}

/// Returns the resource of a refused delta response that the client has at the refused version,
/// that version, and whether the NACK has its name: one that it names comes first.
fn held_version(store: &Store, track: &Track, nack: &NackFact) -> Option<(PushedVersion, Arc<str>, bool)> {
    let is_held = |refused: &&RefusedVersion| {
        let name = named(store.catalog(), &refused.name);
        let entry = name.and_then(|name| store.used_by_client(track, name));
        entry.is_some_and(|entry| store.catalog().text(entry.version) == &*refused.version)
    };
    let is_named = |refused: &RefusedVersion| is_name_in(&nack.message, &refused.name);
    let mut held = nack.resources.iter().filter(is_held);
    let first = held.clone().find(|refused| is_named(refused)).or_else(|| held.next())?;
    let RefusedVersion { name, version } = first.clone();
    let more = nack.resources.len() - 1;
    let pushed = PushedVersion::Resource { name, version: version.clone(), more };
    Some((pushed, version, is_named(first)))
}

/// Returns the problems of refused resources whose content no later response has corrected,
/// although the client has accepted a later response (docs/protocol.md#f-34): one for each reason.
pub(super) fn still_refused(store: &Store, stream: &Stream, track: &Track) -> Vec<ProblemFact> {
    let mut refusals = track.standing_refusals(store.catalog());
    if !store.ended().is_settled_by(stream, track) {
        // The problem of the stream before tells the refusals that were open at its end.
        let was_open = |name| track.refused_before(name).is_some_and(|earlier| earlier.was_open);
        refusals.retain(|(_, name)| !was_open(*name));
    }
    let nacks = all_nacks(track).filter(|nack| refusals.iter().any(|(refusal, _)| refusal.nack == nack.n));
    let standing = Standing::new(store, track, None);
    let is_unknown_client = stream.client_kind().is_none();
    let problem = |nacks: Vec<&NackFact>| {
        let is_own = |refusal: &Refusal| nacks.iter().any(|nack| nack.n == refusal.nack);
        let mut own = refusals.iter().filter(|(refusal, _)| is_own(refusal));
        let (refusal, name) = *own.next()?;
        let nack = *nacks.iter().find(|nack| nack.n == refusal.nack)?;
        let refused = RefusedResources {
            first: store.still_refused(stream, track, name, &refusal, own.count()),
            response: refusal.response,
            is_earlier: track.verdicts.nack(nack.n).is_none(),
            open: standing.runs_among(&nacks),
            message: Some(nack.message.clone()).filter(|text| !text.trim().is_empty()),
            faults: store.nack_faults(&nack.message, nack.refused),
            is_named: refusal.is_named,
            is_guess: nack.may_refuse.is_some()
                || !stream.knows_in_force(track)
                || (!refusal.is_named && is_unknown_client),
        };
        let start = Start { state: TypeState::Nack, at: nack.at, n: nack.n };
        Some(ProblemFact {
            kind: ProblemKind::StillRefused,
            blame: Blame::Both,
            messages: sorted(vec![refusal.response, nack.n]),
            ..fact(stream, track, start, Problem::StillRefused(refused))
        })
    };
    by_reason(nacks).into_iter().filter_map(problem).collect()
}
