//! Refusals that several nodes state for one cause, streams of several nodes that fail for one
//! cause, and answers that are missing in the same way on several nodes, as one problem.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::lint::{Blame, Finding};
use crate::nack::{NackFault, without_random_words};
use crate::session::{PushedVersion, Refusal, Track};
use crate::store::{Debt, FailingStream, OwedAtEnd, RefusedBy, Store, StreamFailure};
use xdscope_wire::event::{Seq, Side, TypeUrl};

use super::fact::{
    NodesOfVersion, Problem, ProblemFact, ProblemKind, ProblemPlace, RefusedPush, RefusedResources,
};
use super::states::sorted;
use super::{MAX_EVIDENCE, findings};

/// The cause that problems of several nodes have in common.
#[derive(PartialEq, Eq, Hash)]
enum SharedCause {
    Refusal(Box<RefusalCause>),
    Failure(FailureCause),
    HangUp(HangUpCause),
    Missing(Box<MissingCause>),
}

impl SharedCause {
    /// Returns the cause of a problem. `None` for other problems, and without a node.
    fn find(store: &Store, fact: &ProblemFact) -> Option<SharedCause> {
        if let Some(cause) = HangUpCause::find(store, fact) {
            return Some(SharedCause::HangUp(cause));
        }
        match &fact.problem {
            Problem::Failing(failing) => FailureCause::find(fact, failing).map(SharedCause::Failure),
            Problem::Refused(_) | Problem::StillRefused(_) => {
                RefusalCause::find(store, fact).map(|cause| SharedCause::Refusal(Box::new(cause)))
            }
            _ => MissingCause::find(store, fact).map(|cause| SharedCause::Missing(Box::new(cause))),
        }
    }
}

/// A response on which clients end their streams, once or again and again.
#[derive(PartialEq, Eq, Hash)]
struct HangUpCause {
    type_url: TypeUrl,
    version: String,
    server: Option<String>,
    caused_by: Option<Arc<str>>,
}

impl HangUpCause {
    /// Returns the response on which a client has ended its newest stream. `None` for other
    /// problems, and without a node.
    fn find(store: &Store, fact: &ProblemFact) -> Option<HangUpCause> {
        fact.node.as_ref()?;
        let owed: &OwedAtEnd = match &fact.problem {
            Problem::Failing(failing) if failing.failure == StreamFailure::Aborted => {
                failing.unanswered_response()?
            }
            Problem::OwedAtEnd(owed) => owed,
            _ => return None,
        };
        let version = owed.version_hung_up_on()?;
        Some(HangUpCause {
            type_url: owed.type_url.clone(),
            version: version.to_string(),
            server: store.engine().stream(fact.stream)?.open.server.clone(),
            caused_by: fact.diverged.as_ref().map(|facts| facts.by.clone()),
        })
    }
}

#[derive(PartialEq, Eq, Hash)]
struct FailureCause {
    is_lost: bool,
    is_polling: bool,
    is_graceful: bool,
    is_given_up: bool,
    has_come_back: bool,
    server: Option<String>,
    by: Option<&'static str>,
    code: Option<i32>,
    reset: Option<u32>,
    /// The words of the end, without those that a peer makes up for each stream.
    reason: String,
    caused_by: Option<Arc<str>>,
}

impl FailureCause {
    /// Returns the cause for which the server refuses or loses the streams of a node. `None` for
    /// other failures.
    fn find(fact: &ProblemFact, failing: &FailingStream) -> Option<FailureCause> {
        failing.node.as_ref()?;
        let end = &failing.end;
        let is_lost = match failing.failure {
            StreamFailure::Lost => true,
            StreamFailure::Rejected => false,
            StreamFailure::Cut | StreamFailure::Aborted | StreamFailure::Left => return None,
        };
        let words = end.message.as_deref().or(end.note.as_deref()).unwrap_or_default();
        failing.causes.is_empty().then(|| FailureCause {
            is_lost,
            is_polling: failing.is_polling,
            is_graceful: failing.is_graceful,
            is_given_up: failing.is_given_up,
            has_come_back: failing.has_come_back,
            server: failing.server.clone(),
            by: end.by.map(Side::word),
            code: end.code.map(|code| code.0),
            reset: end.reset,
            reason: without_random_words(words.trim()).into_owned(),
            caused_by: fact.diverged.as_ref().map(|facts| facts.by.clone()),
        })
    }
}

/// An answer that is overdue, or was owed when the stream closed.
#[derive(PartialEq, Eq, Hash)]
struct MissingCause {
    kind: &'static str,
    type_url: TypeUrl,
    server: Option<String>,
    blame: Blame,
    caused_by: Option<Arc<str>>,
    /// The resources that the server owes: the first names, and the number of others.
    names: (Vec<Arc<str>>, usize),
    /// The response that the client owes an answer to.
    version: Option<String>,
    /// Circumstances that the sentence about the problem names.
    has_older: bool,
    is_removal: bool,
    is_resend: bool,
    has_gap: bool,
    is_guess: bool,
}

impl MissingCause {
    /// Returns the cause of a missing answer. `None` for other problems, for answers that are
    /// still in time, and for those with circumstances of one node alone.
    fn find(store: &Store, fact: &ProblemFact) -> Option<MissingCause> {
        fact.node.as_ref().filter(|_| fact.is_wrong() && !fact.is_dump)?;
        let cause = MissingCause {
            kind: fact.kind.word(),
            type_url: fact.type_url.clone(),
            server: store.engine().stream(fact.stream)?.open.server.clone(),
            blame: fact.blame,
            caused_by: fact.diverged.as_ref().map(|facts| facts.by.clone()),
            names: (Vec::new(), 0),
            version: None,
            has_older: false,
            is_removal: false,
            is_resend: false,
            has_gap: false,
            is_guess: fact.is_guess(),
        };
        Some(match &fact.problem {
            Problem::Owed(owed) if owed.broken.is_empty() && owed.unreadable.is_none() => MissingCause {
                names: (owed.names.clone(), owed.more),
                has_older: owed.has_older,
                is_removal: owed.is_removal,
                is_resend: owed.is_resend,
                has_gap: owed.has_gap,
                ..cause
            },
            Problem::Unanswered { version, stray: None, left: None, .. } => {
                MissingCause { version: Some(version.to_string()), ..cause }
            }
            Problem::OwedAtEnd(owed) => match &owed.debt {
                Debt::Verdict { version, .. } => MissingCause { version: Some(version.to_string()), ..cause },
                Debt::Resources { names, more, .. } => {
                    MissingCause { names: (names.clone(), *more), ..cause }
                }
                Debt::Warming(_) => return None,
            },
            _ => return None,
        })
    }
}

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
            reason: reason(fact).unwrap_or(version),
            resources: stream.find(&fact.type_url).map_or(0, |track| resources_hash(track, nack)),
            still_refused,
            blame: fact.blame,
            caused_by: fact.diverged.as_ref().map(|facts| facts.by.clone()),
            is_closed: fact.closed.is_some(),
            is_guess: fact.is_guess(),
        })
    }
}

/// Returns the faults that a client states, in one order, or else its words, without those that
/// Envoy makes up for each process.
fn reason(fact: &ProblemFact) -> Option<String> {
    let text = fact.quote()?;
    let faults = match &fact.problem {
        Problem::Refused(RefusedPush { faults, .. })
        | Problem::StillRefused(RefusedResources { faults, .. }) => faults,
        _ => return None,
    };
    if faults.more > 0 || faults.listed.iter().any(|fault| fault.name.is_none()) {
        return Some(without_random_words(text.trim()).into_owned());
    }
    let mut faults: Vec<String> = faults.listed.iter().map(NackFault::to_string).collect();
    faults.sort_unstable();
    Some(faults.join("; "))
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

/// Merges the refusals, the failures, and the missing answers of one cause on several nodes into
/// the problem of the first node.
pub(super) fn merge(store: &Store, all: &[Finding], problems: &mut Vec<ProblemFact>) {
    let mut by_cause: HashMap<SharedCause, Vec<usize>> = HashMap::new();
    for (at, problem) in problems.iter().enumerate() {
        if let Some(cause) = SharedCause::find(store, problem) {
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
        // A client that ends streams again and again tells more than one that does so once.
        members.sort_by_key(|problem| (problem.kind != ProblemKind::Failing, problem.since, problem.stream));
        let by_version = by_version(&members);
        let mut members = members.into_iter();
        let Some(mut lead) = members.next() else { continue };
        members.for_each(|other| add(&mut lead, other));
        if let Problem::Refused(refused) = &mut lead.problem {
            refused.by_version = by_version;
        }
        findings::sort_findings(all, &mut lead);
        problems.push(lead);
    }
    problems.extend(left.into_iter().flatten());
}

/// Groups the nodes of refusals by the versions that they refuse and keep; empty if all nodes
/// refuse one version and keep one.
fn by_version(members: &[ProblemFact]) -> Vec<NodesOfVersion> {
    let mut groups: Vec<NodesOfVersion> = Vec::new();
    for member in members {
        let (Problem::Refused(refused), Some(node)) = (&member.problem, &member.node) else { continue };
        let (version, in_force, knows_in_force) =
            (&refused.version, &refused.in_force, refused.knows_in_force);
        let is_alike = |group: &&mut NodesOfVersion| {
            let known = (&group.version, &group.in_force, group.knows_in_force);
            known == (version, in_force, knows_in_force)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) if group.nodes.contains(node) => {}
            Some(group) => group.nodes.push(node.clone()),
            None => groups.push(NodesOfVersion {
                version: version.clone(),
                in_force: in_force.clone(),
                knows_in_force,
                nodes: vec![node.clone()],
            }),
        }
    }
    if groups.len() > 1 { groups } else { Vec::new() }
}

/// Adds the problem of another node.
fn add(lead: &mut ProblemFact, other: ProblemFact) {
    lead.others.push(ProblemPlace { stream: other.stream, node: other.node, mark: other.mark });
    lead.streams += other.streams;
    lead.count += other.count;
    let newest = other.last.unwrap_or(other.since);
    lead.last = Some(lead.last.map_or(newest, |last| last.max(newest)));
    // The nodes follow one after the other.
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
        (Problem::Failing(own), Problem::Failing(failing)) => {
            own.count += failing.count;
            own.rejected += failing.rejected;
            own.first = own.first.min(failing.first);
            own.last = own.last.max(failing.last);
            (own.period, own.back_off) = (None, None);
            // They are those of one node.
            own.last_request = None;
            own.owed.retain(|owed| failing.owed.iter().any(|other| other.is_of_one_response(owed)));
            own.cut_responses.count += failing.cut_responses.count;
            own.cut_responses.bytes = own.cut_responses.bytes.max(failing.cut_responses.bytes);
        }
        (Problem::Failing(own), Problem::OwedAtEnd(owed)) => {
            own.count += 1;
            own.first = own.first.min(owed.closed);
            own.last = own.last.max(owed.closed);
            (own.period, own.back_off, own.last_request) = (None, None, None);
        }
        (Problem::Owed(own), Problem::Owed(owed)) => {
            (own.requests, own.newest_request, own.earlier) = (None, None, None);
            own.is_first &= owed.is_first;
            if own.needed_by != owed.needed_by {
                own.needed_by = None;
            }
        }
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
