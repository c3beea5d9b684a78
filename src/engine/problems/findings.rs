//! Broken rules as problems, and as parts of problems with the same cause.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::lint::{Blame, Finding, Severity, Subject};
use crate::session::Track;
use crate::store::{Debt, OwedAtEnd, Store, WarmingFact};
use xdscope_wire::event::{Kind, Seq, Side, StreamId, Sym, Time, TypeUrl};
use xdscope_wire::h2::reset_words;
use xdscope_wire::xdstp::with_other_context;

use super::MAX_EVIDENCE;
use super::fact::{Problem, ProblemFact, ProblemKind, ProblemPlace, StrayAnswer, Urgency};
use super::fold::{FindingGroup, group};

/// Rules that were broken about the names of one problem.
const MAX_BROKEN: usize = 4;

/// Names of findings that are merged into one problem.
const MAX_NAMES: usize = 16;

/// Names that a type waits for to compare with those of a finding.
const MAX_COMPARED_NAMES: usize = 4096;

/// Returns the mean interval between occurrences, oldest first, if there are three or more and the
/// intervals are about equal.
pub(super) fn period(times: &[Time]) -> Option<Duration> {
    let intervals = times.iter().zip(times.iter().skip(1)).map(|(before, after)| after.since(*before));
    let (shortest, longest) =
        intervals.fold((Duration::MAX, Duration::ZERO), |(min, max), next| (min.min(next), max.max(next)));
    let (first, last) = (times.first()?, times.last()?);
    if is_regular(shortest, longest) { mean(times.len() as u64, *first, *last) } else { None }
}

/// Returns the mean interval of a finding, if the intervals are about equal.
fn period_of(finding: &Finding) -> Option<Duration> {
    let (shortest, longest) = finding.intervals?;
    if is_regular(shortest, longest) { mean(finding.count, finding.first, finding.last) } else { None }
}

/// Whether intervals between these two are a period.
fn is_regular(shortest: Duration, longest: Duration) -> bool {
    longest.saturating_sub(shortest) * 5 <= longest
}

/// Returns the mean interval between `count` occurrences, from the third on.
fn mean(count: u64, first: Time, last: Time) -> Option<Duration> {
    let intervals = u32::try_from(count.checked_sub(1)?).ok().filter(|intervals| *intervals > 1)?;
    Some(last.since(first) / intervals).filter(|period| !period.is_zero())
}

/// Adds findings to the problem that has their cause, and problems for the other findings of
/// severity `warn` and `error`.
pub(super) fn attach(store: &Store, findings: &[Finding], problems: &mut Vec<ProblemFact>) {
    if findings.is_empty() {
        return;
    }
    let causes = Causes::new(problems);
    for group in group(findings) {
        let mut rest = FindingGroup::new();
        let mut joined = JoinedClients::default();
        for index in group {
            let Some(finding) = findings.get(index) else { continue };
            match causes.cause_of(store, problems, finding) {
                Some(at) => {
                    joined.add(finding, at);
                    if let Some(problem) = problems.get_mut(at) {
                        problem.findings.push(index);
                        note_stray(store, problem, finding);
                        note_broken(problem, finding);
                        note_breach(problem, finding);
                    }
                }
                None => rest.push(index),
            }
        }
        // The state of one client says nothing about others.
        rest.retain(|index| {
            let Some(finding) = findings.get(*index) else { return false };
            let Some(problem) = joined.problem_of(finding).and_then(|at| problems.get_mut(at)) else {
                return true;
            };
            raise(problem, finding);
            problem.findings.push(*index);
            false
        });
        problems.extend(broken(store, findings, rest));
    }
    problems.iter_mut().for_each(|problem| sort_findings(findings, problem));
}

/// Sorts the findings of a problem: a NACK that names resource and field comes first, then the most
/// severe.
pub(super) fn sort_findings(findings: &[Finding], problem: &mut ProblemFact) {
    let is_stated = problem.states_field();
    problem.findings.sort_by_key(|index| {
        let finding = findings.get(*index);
        let is_lead = is_stated && finding.is_some_and(|finding| finding.rule.subject == Subject::Nack);
        (!is_lead, finding.map(Finding::rank), *index)
    });
}

/// Merges clients that reset their streams because they cannot decode the responses into the
/// problem of the responses.
pub(super) fn merge_resets(problems: &mut Vec<ProblemFact>) {
    let mut causes: HashMap<StreamId, usize> = HashMap::new();
    for (at, problem) in problems.iter().enumerate().filter(|(_, problem)| has_undecodable(problem)) {
        for stream in problem.all_streams() {
            causes.entry(stream).or_insert(at);
        }
    }
    if causes.is_empty() {
        return;
    }
    let mut is_merged = vec![false; problems.len()];
    for (at, is_merged) in is_merged.iter_mut().enumerate() {
        let Some(problem) = problems.get_mut(at) else { continue };
        let (Some(reset), Some(cause)) = (client_reset(problem), causes.get(&problem.stream)) else {
            continue;
        };
        *is_merged = true;
        let findings = std::mem::take(&mut problem.findings);
        let Some(cause) = problems.get_mut(*cause) else { continue };
        cause.findings.extend(findings);
        let words = format!("; the client resets the stream: {}", reset_words(reset));
        if let Problem::Broken(finding) = &mut cause.problem
            && !finding.text.ends_with(&words)
        {
            finding.text.push_str(&words);
        }
    }
    let mut merged = is_merged.into_iter();
    problems.retain(|_| merged.next() != Some(true));
}

/// Returns the code with which a client resets its streams, if the problem is that it does so.
fn client_reset(problem: &ProblemFact) -> Option<u32> {
    match &problem.problem {
        Problem::Failing(failing) if failing.at_fault() == Some(Side::Client) => failing.end.reset,
        _ => None,
    }
}

/// Whether a problem is that the responses of a server cannot be decoded.
fn has_undecodable(problem: &ProblemFact) -> bool {
    let is_cause = |finding: &Finding| {
        let is_undecodable = finding.rule.subject == Subject::UndecodableMessage;
        is_undecodable && finding.blame == Blame::Server && finding.over.is_none()
    };
    matches!(&problem.problem, Problem::Broken(finding) if is_cause(finding))
}

/// The problems of findings, by the streams and nodes that the findings are about.
#[derive(Default)]
struct JoinedClients<'a> {
    by_stream: HashMap<StreamId, usize>,
    by_node: HashMap<&'a str, usize>,
}

impl<'a> JoinedClients<'a> {
    fn add(&mut self, finding: &'a Finding, problem: usize) {
        let of_stream = self.by_stream.entry(finding.stream).or_insert(problem);
        *of_stream = problem.min(*of_stream);
        if let Some(node) = &finding.node {
            let of_node = self.by_node.entry(node).or_insert(problem);
            *of_node = problem.min(*of_node);
        }
    }

    /// Returns the first problem of the client that a finding is about.
    fn problem_of(&self, finding: &Finding) -> Option<usize> {
        let of_node = finding.node.as_ref().and_then(|node| self.by_node.get(&**node));
        self.by_stream.get(&finding.stream).into_iter().chain(of_node).min().copied()
    }
}

/// Records the request with a wrong nonce in the problem of the response that has no verdict.
fn note_stray(store: &Store, problem: &mut ProblemFact, finding: &Finding) {
    if let Problem::Unanswered { stray, response, .. } = &mut problem.problem
        && finding.rule.subject == Subject::StrayVerdict
    {
        if stray.is_none() {
            *stray = finding.at.map(|n| stray_answer(store, n, *response));
        }
        problem.urgency = problem.urgency.max(Urgency::Error);
    }
}

/// Returns what a request says that seems to be about a response.
fn stray_answer(store: &Store, n: Seq, response: Seq) -> StrayAnswer {
    let line = store.row_of(n).and_then(|row| store.line(row));
    let Some(row) = line.map(|line| line.row) else { return StrayAnswer { n, note: None, faults: None } };
    let error = row.error.as_ref().map(|(_, text)| text).filter(|text| !text.trim().is_empty());
    let faults = error.map(|text| store.nack_faults(text, Some(response)));
    StrayAnswer { n, note: row.note, faults }
}

/// Records the rule that a message has broken about a name that the server owes.
fn note_broken(problem: &mut ProblemFact, finding: &Finding) {
    raise(problem, finding);
    let Problem::Owed(owed) = &mut problem.problem else { return };
    let is_known = owed.broken.iter().any(|known| known.rule == finding.rule);
    if finding.at.is_none() || !finding.is_wrong() || is_known || owed.broken.len() >= MAX_BROKEN {
        return;
    }
    let place = owed.broken.partition_point(|known| known.severity >= finding.severity);
    owed.broken.insert(place, finding.clone());
    problem.messages.extend(finding.at.filter(|at| !problem.messages.contains(at)));
    if place == 0 {
        // The server cannot send what a name in error stands for.
        let is_about_all = is_unanswerable(finding)
            || (owed.more == 0 && owed.names.iter().all(|name| finding.names.contains(name)));
        if finding.blame != problem.blame {
            let is_cause = is_about_all && finding.severity == Severity::Error;
            problem.blame = if is_cause { finding.blame } else { Blame::Both };
        }
    }
}

/// Records the rule that the server has broken with a response that the client refuses.
fn note_breach(problem: &mut ProblemFact, finding: &Finding) {
    let is_breach = finding.severity == Severity::Error && finding.blame == Blame::Server && !finding.guess;
    let is_told = problem.states_field() || !finding.at.is_some_and(|at| problem.messages.contains(&at));
    if let Problem::Refused(refused) = &mut problem.problem
        && is_breach
        && !is_told
        && refused.broken.is_none()
    {
        refused.broken = Some(Box::new(finding.clone()));
    }
}

/// Makes an answer that is still in time a problem, if a rule was broken about it.
fn raise(problem: &mut ProblemFact, finding: &Finding) {
    let urgency = match finding.severity {
        Severity::Error => Urgency::Error,
        _ => Urgency::Warning,
    };
    let is_later = matches!(problem.problem, Problem::Owed(_)) || problem.urgency == Urgency::Pending;
    if finding.is_wrong() && is_later {
        problem.urgency = problem.urgency.max(urgency);
    }
}

/// The problems that findings can belong to.
struct Causes {
    /// The refused or unanswered responses and their NACKs, by message.
    by_message: HashMap<(Seq, TypeUrl), usize>,
    /// Types whose newest responses the client refuses: one problem for each reason.
    refused: HashMap<(StreamId, TypeUrl), Vec<usize>>,
    /// Types with a response that the client has not answered in time.
    unanswered: HashMap<(StreamId, TypeUrl), usize>,
    /// Types that wait for resources.
    waiting: HashMap<(StreamId, TypeUrl), usize>,
    /// Types whose resources are warming.
    warming: HashMap<StreamId, Vec<usize>>,
    /// Failing streams and unreachable peers, by the first stream that failed.
    failing: HashMap<StreamId, usize>,
}

impl Causes {
    /// Indexes problems by what findings have in common with them.
    fn new(problems: &[ProblemFact]) -> Causes {
        let mut causes = Causes {
            by_message: HashMap::new(),
            refused: HashMap::new(),
            unanswered: HashMap::new(),
            waiting: HashMap::new(),
            warming: HashMap::new(),
            failing: HashMap::new(),
        };
        for (at, fact) in problems.iter().enumerate() {
            match &fact.problem {
                Problem::Refused(_) | Problem::Unanswered { .. } => {
                    let place = (fact.stream, fact.type_url.clone());
                    match fact.problem {
                        Problem::Refused(_) => causes.refused.entry(place).or_default().push(at),
                        _ => _ = causes.unanswered.entry(place).or_insert(at),
                    }
                    for message in &fact.messages {
                        causes.by_message.entry((*message, fact.type_url.clone())).or_insert(at);
                    }
                }
                Problem::OwedAtEnd(owed) => causes.add_owed(owed, at),
                Problem::Owed(_) => {
                    causes.waiting.entry((fact.stream, fact.type_url.clone())).or_insert(at);
                }
                Problem::Warming(_) => causes.warming.entry(fact.stream).or_default().push(at),
                Problem::Failing(failing) => {
                    causes.failing.insert(failing.first_stream, at);
                    failing.owed.iter().for_each(|owed| causes.add_owed(owed, at));
                }
                Problem::Unreachable(peer) => {
                    causes.failing.insert(peer.first_stream, at);
                }
                Problem::StillRefused(refused) => {
                    causes.by_message.entry((refused.response, fact.type_url.clone())).or_insert(at);
                }
                Problem::Reported(_) | Problem::NotApplied(_) | Problem::Broken(_) => {}
            }
        }
        causes
    }

    /// Adds an answer that was owed when a stream closed.
    fn add_owed(&mut self, owed: &OwedAtEnd, at: usize) {
        match owed.debt {
            Debt::Warming(_) => self.warming.entry(owed.stream).or_default().push(at),
            _ => {
                self.waiting.entry((owed.stream, owed.type_url.clone())).or_insert(at);
            }
        }
    }

    /// Returns the problem that has the cause of a finding.
    fn cause_of(&self, store: &Store, problems: &[ProblemFact], finding: &Finding) -> Option<usize> {
        match finding.rule.subject {
            Subject::FailedStream => return self.failing.get(&finding.stream).copied(),
            Subject::AcceptedFault => return None,
            // A client may use a removal although it refuses the rest of the response.
            Subject::RemovedCluster if finding.over.is_none() => return None,
            _ => {}
        }
        if is_refusable(finding)
            && !is_about_others(store, finding)
            && let Some(refusal) = self.refusal_of(store, problems, finding)
        {
            return Some(refusal);
        }
        if let Some(index) = self.missed_by(problems, finding) {
            return Some(index);
        }
        let waiting = self.waiting.get(&(finding.stream, finding.type_url.clone())).copied();
        if is_unanswerable(finding) {
            return waiting;
        }
        if finding.names.is_empty() {
            return None;
        }
        if let Some(index) = waiting {
            let asked = problems.get(index).and_then(|problem| problem.at);
            // A message before the request has broken the rule about something else.
            let newest = finding.messages.last().copied().max(finding.at);
            if (newest.is_none() || newest >= asked) && is_waiting(store, finding) {
                return Some(index);
            }
        }
        for index in self.warming.get(&finding.stream).into_iter().flatten() {
            if problems.get(*index).is_some_and(|problem| is_warming(problem, finding)) {
                return Some(*index);
            }
        }
        self.owed_to_warming(store, finding)
    }

    /// Returns the problem of the refusal of a message of a finding.
    fn refusal_of(&self, store: &Store, problems: &[ProblemFact], finding: &Finding) -> Option<usize> {
        let of_message = |seq: &Seq| self.by_message.get(&(*seq, finding.type_url.clone())).copied();
        if let Some(index) = finding.messages.iter().find_map(of_message) {
            let problem = problems.get(index).map(|problem| &problem.problem);
            // A client that does not answer is not at fault for the content.
            if finding.blame == Blame::Client || !matches!(problem, Some(Problem::Unanswered { .. })) {
                return Some(index);
            }
        }
        self.refused_among(store, problems, finding)
    }

    /// Returns the problem of the refusals of a type, if one of them is of a message of a finding.
    fn refused_among(&self, store: &Store, problems: &[ProblemFact], finding: &Finding) -> Option<usize> {
        let of_type = self.refused.get(&(finding.stream, finding.type_url.clone()))?;
        let track = store.engine().stream(finding.stream)?.find(&finding.type_url)?;
        let times = usize::try_from(track.verdicts.refusal()?.times).unwrap_or(usize::MAX);
        let nacks = &track.verdicts.nacks;
        let open = nacks.len().saturating_sub(times)..nacks.len();
        let refusal = |message: &Seq| {
            // The verdict on a response is one of the next requests.
            let first = nacks.partition_point(|nack| nack.n < *message).max(open.start);
            let near = nacks.range(first..open.end.min(first + MAX_EVIDENCE));
            near.into_iter().find(|nack| nack.n == *message || nack.refused == Some(*message))
        };
        let nack = finding.messages.iter().find_map(refusal)?;
        let has_reason = |at: &usize| {
            let quote = problems.get(*at).and_then(|problem| problem.quote());
            quote.is_some_and(|quote| *quote == nack.message)
        };
        of_type.iter().copied().find(has_reason).or(of_type.first().copied())
    }

    /// Returns the problem of the response whose verdict carries a wrong nonce.
    fn missed_by(&self, problems: &[ProblemFact], finding: &Finding) -> Option<usize> {
        if finding.rule.subject != Subject::StrayVerdict {
            return None;
        }
        let at = *self.unanswered.get(&(finding.stream, finding.type_url.clone()))?;
        let problem = problems.get(at)?;
        (finding.at > problem.at).then_some(at)
    }

    /// Returns the problem of the missing resource that a resource of the finding warms for.
    fn owed_to_warming(&self, store: &Store, finding: &Finding) -> Option<usize> {
        // The server owes nothing that the client has not requested.
        if finding.rule.subject != Subject::Warming || finding.blame == Blame::Client {
            return None;
        }
        let stream = store.engine().stream(finding.stream)?;
        let track = stream.find(&finding.type_url)?;
        let facts = store.warming_of_track(stream, track).into_iter();
        let facts = facts.chain(store.used_without(stream, track));
        let needs = facts.filter(|fact| finding.names.contains(&fact.name)).flat_map(|fact| fact.needs);
        for need in needs {
            let Some(name) = xdscope_wire::xdstp::named(store.catalog(), &need.name) else { continue };
            let is_owed = |track: &&Track| {
                let is_waiting = track.waiting.get(name).is_some_and(|request| request.is_owed());
                track.kind == Some(need.kind) && (is_waiting || track.wildcard_owed().is_some())
            };
            for (_, carrier) in store.engine().open_of_kind(stream, need.kind) {
                if let Some(owed) = carrier.tracks_shown().find(is_owed)
                    && let Some(problem) = self.waiting.get(&(carrier.id, owed.type_url.clone()))
                {
                    return Some(*problem);
                }
            }
        }
        None
    }
}

/// Whether a client may refuse a response for what the finding says. A note about a server, unless
/// it is about the content, does not say why a response is refused.
fn is_refusable(finding: &Finding) -> bool {
    let is_note = finding.severity == Severity::Info && finding.blame == Blame::Server;
    !is_note || finding.rule.ends_with_other_content()
}

/// Whether a finding about a response is about other resources than those that the client names in
/// its refusal of the response.
fn is_about_others(store: &Store, finding: &Finding) -> bool {
    if finding.blame != Blame::Server || finding.names.is_empty() {
        return false;
    }
    let stream = store.engine().stream(finding.stream);
    let Some(track) = stream.and_then(|stream| stream.find(&finding.type_url)) else { return false };
    let has_named = || {
        let mut refusals = track.refused.names().filter_map(|name| track.refused.get(name));
        refusals.any(|refusal| refusal.is_certain)
    };
    let is_other = |name: &Arc<str>| {
        let Some(name) = xdscope_wire::xdstp::named(store.catalog(), name) else { return has_named() };
        match track.refused.get(name) {
            Some(refusal) => !refusal.is_named,
            None => track.refused.removal(name).is_none() && has_named(),
        }
    };
    finding.names.iter().all(is_other)
}

/// Whether a finding is about requests that no server can answer.
fn is_unanswerable(finding: &Finding) -> bool {
    finding.blame == Blame::Client && finding.rule.subject == Subject::UnanswerableRequest
}

/// Whether a type still waits for a name of a finding.
fn is_waiting(store: &Store, finding: &Finding) -> bool {
    let Some(track) = store.engine().stream(finding.stream).and_then(|stream| stream.find(&finding.type_url))
    else {
        return false;
    };
    // Any name of a lasting finding may still be missing.
    let searched = if finding.over.is_some() { MAX_NAMES } else { finding.names.len() };
    let known = |name: &Arc<str>| xdscope_wire::xdstp::named(store.catalog(), name);
    let names: Vec<Sym> = finding.names.iter().take(searched).filter_map(known).collect();
    if finding.rule.subject == Subject::ContextParameters {
        let waiting = track.waiting.owed();
        let waiting = waiting.map(|(name, _)| name).take(MAX_COMPARED_NAMES);
        return !with_other_context(store.catalog(), waiting, &names).is_empty();
    }
    names.iter().any(|name| track.waiting.get(*name).is_some_and(|request| request.is_owed()))
}

/// Whether a finding is about the warming resource of a problem, or a resource that it needs.
fn is_warming(problem: &ProblemFact, finding: &Finding) -> bool {
    let of_debt = |owed: &OwedAtEnd| match &owed.debt {
        Debt::Warming(first) => is_about(first, finding),
        _ => false,
    };
    match &problem.problem {
        Problem::Warming(warming) => is_about(&warming.first, finding) || is_of_others(problem, finding),
        Problem::OwedAtEnd(owed) => of_debt(owed),
        Problem::Failing(failing) => failing.owed.iter().any(of_debt),
        _ => false,
    }
}

/// Whether a finding is about another resource that the problem of the first one counts.
fn is_of_others(problem: &ProblemFact, finding: &Finding) -> bool {
    let is_alike = finding.rule.subject == Subject::Warming && finding.blame == problem.blame;
    is_alike && finding.over.is_none() && finding.type_url == problem.type_url
}

/// Whether a finding is about a warming resource, or a resource that it needs.
fn is_about(warming: &WarmingFact, finding: &Finding) -> bool {
    let Some((kind, _)) = Kind::of_type_url(finding.type_url.as_str()) else { return false };
    let needed = warming.needs.iter().map(|need| (need.kind, &need.name));
    let involved = needed.chain([(warming.kind, &warming.name)]).filter(|(needed, _)| *needed == kind);
    let involved: HashSet<&str> = involved.map(|(_, name)| &**name).collect();
    finding.names.iter().any(|name| involved.contains(&**name))
}

/// Merges findings with one cause into the first: the highest severity, and the names, messages,
/// times and number of those of its rule.
pub fn merged<'a>(lead: &Finding, others: impl Iterator<Item = &'a Finding>) -> Finding {
    let mut out = lead.clone();
    let mut messages: BTreeSet<Seq> = out.messages.iter().copied().collect();
    let key = |finding: &Finding| (finding.rule.id, finding.blame, finding.cause);
    for other in others {
        out.severity = out.severity.max(other.severity);
        if key(other) != key(lead) {
            continue;
        }
        (out.first, out.last) = (out.first.min(other.first), out.last.max(other.last));
        out.count += other.count;
        out.varies |= other.varies || other.text != lead.text;
        out.intervals = None;
        messages.extend(&other.messages);
        for name in other.names.iter().take(MAX_NAMES) {
            if out.names.len() < MAX_NAMES && !out.names.contains(name) {
                out.names.push(name.clone());
            }
        }
    }
    out.messages = messages.into_iter().take(MAX_EVIDENCE).collect();
    out
}

/// Returns the problem of findings with one cause, unless all are mere notes.
fn broken(store: &Store, findings: &[Finding], group: FindingGroup) -> Option<ProblemFact> {
    let all: Vec<&Finding> = group.iter().filter_map(|index| findings.get(*index)).collect();
    let rated: Vec<&Finding> = all.iter().copied().filter(|finding| finding.is_rated()).collect();
    let lead = *rated.first()?;
    // Findings that have ended say nothing about those that last.
    let is_alike = |finding: &&Finding| {
        finding.rule.id == lead.rule.id
            && finding.blame == lead.blame
            && (lead.over.is_some() || finding.over.is_none())
    };
    let alike: Vec<&Finding> = all.iter().copied().filter(is_alike).collect();
    let places: BTreeSet<(Option<&Arc<str>>, StreamId)> =
        alike.iter().map(|finding| (finding.node.as_ref(), finding.stream)).collect();
    let mut others = Vec::new();
    for (node, stream) in &places {
        if *stream != lead.stream {
            others.push(ProblemPlace { stream: *stream, node: node.cloned(), mark: None });
        }
    }
    let mut merged = merged(lead, alike.iter().copied().skip(1));
    // The other side has a share in the fault: a client that accepts what it should refuse.
    let is_of_other_side =
        |finding: &&&Finding| finding.blame != lead.blame && finding.over.is_some() == lead.over.is_some();
    let of_other_side = rated.iter().find(is_of_other_side);
    if let Some(other) = of_other_side {
        merged.text.push_str(&format!("; {}: {}", other.blame.word(), other.text));
    }
    // Notes do not keep a problem open.
    let over = if rated.iter().all(|finding| finding.over.is_some()) {
        rated.iter().filter_map(|finding| finding.over).max()
    } else {
        None
    };
    let urgency = match lead.severity {
        _ if over.is_some() => Urgency::Over,
        Severity::Error => Urgency::Error,
        _ => Urgency::Warning,
    };
    let blame = if of_other_side.is_some() { Blame::Both } else { lead.blame };
    let lasts = rated.iter().any(|finding| finding.lasts());
    let stream = store.engine().stream(lead.stream);
    let closed = stream.and_then(|stream| stream.closed.as_ref()).map(|(at, _)| *at);
    let period = if store.clock().untimed { None } else { period_of(&merged) };
    Some(ProblemFact {
        last: if merged.count > 1 { Some(merged.last) } else { None },
        count: merged.count,
        period,
        streams: places.len() as u64,
        others,
        node: lead.node.clone(),
        type_url: lead.type_url.clone(),
        at: lead.at,
        messages: merged.messages.clone(),
        findings: group,
        lasts,
        closed,
        over,
        ..ProblemFact::new(
            ProblemKind::Rule(lead.severity),
            (urgency, blame),
            merged.first,
            lead.stream,
            Problem::Broken(Box::new(merged)),
        )
    })
}
