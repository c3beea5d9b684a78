//! Refusals that several nodes state for one cause, as one problem.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::lint::{Blame, Finding};
use crate::nack::without_random_words;
use crate::session::{PushedVersion, Refusal, Track};
use crate::store::{RefusedBy, Store};
use xdscope_wire::event::{Seq, TypeUrl};

use super::fact::{Problem, ProblemFact, ProblemPlace, RefusedPush};
use super::states::sorted;
use super::{MAX_EVIDENCE, findings};

#[derive(PartialEq, Eq, Hash)]
struct RefusalCause {
    kind: &'static str,
    type_url: TypeUrl,
    server: Option<String>,
    /// The words of the client, without those that Envoy makes up for each process. The refused
    /// version if the client gives no reason.
    reason: String,
    /// A hash of the names of the refused resources.
    resources: u64,
    /// The resource that stays refused, which the sentence about the problem names.
    still_refused: Option<RefusedBy>,
    blame: Blame,
    caused_by: Option<Arc<str>>,
    is_closed: bool,
    is_guess: bool,
}

impl RefusalCause {
    /// Returns the cause of a refusal. `None` for other problems, and without a node.
    fn find(store: &Store, fact: &ProblemFact) -> Option<RefusalCause> {
        fact.node.as_ref()?;
        let (version, still_refused) = match &fact.problem {
            Problem::Refused(refused) => (refused.version.to_string(), None),
            Problem::StillRefused(refused) => (String::new(), Some(refused.first.clone())),
            _ => return None,
        };
        let stream = store.engine().stream(fact.stream)?;
        let nack = fact.at?;
        Some(RefusalCause {
            kind: fact.kind.word(),
            type_url: fact.type_url.clone(),
            server: stream.open.server.clone(),
            reason: match fact.quote() {
                Some(text) => without_random_words(text.trim()).into_owned(),
                None => version,
            },
            resources: stream.find(&fact.type_url).map_or(0, |track| resources_hash(track, nack)),
            still_refused,
            blame: fact.blame,
            caused_by: fact.diverged.as_ref().map(|facts| facts.by.clone()),
            is_closed: fact.closed.is_some(),
            is_guess: fact.is_guess(),
        })
    }
}

/// Returns a hash of the resources that a NACK names, or of all that it refuses if it names none.
fn resources_hash(track: &Track, nack: Seq) -> u64 {
    let is_named =
        |refusal: Option<Refusal>| refusal.is_some_and(|refusal| refusal.nack == nack && refusal.is_named);
    let names = track.refused.names().filter(|name| is_named(track.refused.get(*name)));
    let removed = track.refused.removed_names().filter(|name| is_named(track.refused.removal(*name)));
    let entries = names.map(|name| (name, false)).chain(removed.map(|name| (name, true)));
    // The names are in no order.
    entries.fold(0, |sum: u64, entry| {
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

/// Merges the refusals of one cause on several nodes into the problem of the node that refused
/// first.
pub(super) fn merge(store: &Store, all: &[Finding], problems: &mut Vec<ProblemFact>) {
    let mut by_cause: HashMap<RefusalCause, Vec<usize>> = HashMap::new();
    for (at, problem) in problems.iter().enumerate() {
        if let Some(cause) = RefusalCause::find(store, problem) {
            by_cause.entry(cause).or_default().push(at);
        }
    }
    let mut left: Vec<Option<ProblemFact>> = std::mem::take(problems).into_iter().map(Some).collect();
    for group in by_cause.into_values() {
        let members = group.iter().filter_map(|at| left.get(*at)?.as_ref());
        if members.map(|problem| &problem.node).collect::<BTreeSet<_>>().len() < 2 {
            continue;
        }
        let mut members: Vec<ProblemFact> = group.iter().filter_map(|at| left.get_mut(*at)?.take()).collect();
        members.sort_by_key(|problem| (problem.since, problem.stream));
        let mut members = members.into_iter();
        let Some(mut lead) = members.next() else { continue };
        members.for_each(|other| add(&mut lead, other));
        findings::sort_findings(all, &mut lead);
        problems.push(lead);
    }
    problems.extend(left.into_iter().flatten());
}

/// Adds the refusal of another node to a problem.
fn add(lead: &mut ProblemFact, other: ProblemFact) {
    lead.others.push(ProblemPlace { stream: other.stream, node: other.node, mark: other.mark });
    lead.streams += other.streams;
    lead.count += other.count;
    let newest = other.last.unwrap_or(other.since);
    lead.last = Some(lead.last.map_or(newest, |last| last.max(newest)));
    // The nodes refuse one after the other.
    lead.period = None;
    let room = MAX_EVIDENCE.saturating_sub(lead.messages.len());
    lead.messages.extend(other.messages.into_iter().take(room));
    lead.messages = sorted(std::mem::take(&mut lead.messages));
    lead.findings.extend(other.findings);
    match (&mut lead.problem, other.problem) {
        (Problem::Refused(own), Problem::Refused(refused)) => {
            // The number of nodes says enough if each refuses once.
            let is_repeated = own.times > 1 || refused.times > 1;
            own.times = if is_repeated { lead.count } else { 1 };
            add_refused(own, refused);
        }
        (Problem::StillRefused(own), Problem::StillRefused(refused)) => own.open += refused.open,
        _ => {}
    }
}

/// Adds what another node refuses, and leaves out what is not true of both.
fn add_refused(own: &mut RefusedPush, other: RefusedPush) {
    if own.version != other.version {
        own.version = PushedVersion::Several;
    }
    if (&own.in_force, own.knows_in_force) != (&other.in_force, other.knows_in_force) {
        (own.in_force, own.knows_in_force) = (None, false);
    }
    own.open += other.open;
    own.first = own.first.min(other.first);
    own.is_resent &= other.is_resent;
    own.implied &= other.implied;
    if other.unanswered.is_none() {
        own.unanswered = None;
    }
    own.unused = if own.unused == other.unused { own.unused } else { 0 };
    own.users.extend(other.users);
    own.users.sort_unstable();
    own.users.dedup();
}
