//! The marks and problems of the replay bar, found once while the source is read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint::{Finding, Severity};
use xdscope_engine::problems::{Problem, ProblemFact, ProblemKind, problems as list_problems};
use xdscope_engine::session::MessageKind;
use xdscope_engine::store::{Options, Store, TypeState};
use xdscope_present::report;
use xdscope_tui::{ReachedProblem, ReplayMark, Sign};
use xdscope_wire::event::{Clock, Seq, StreamId, Time, TypeUrl};
use xdscope_wire::text::type_label;

use super::cursor::{Cursor, Position};

/// Checks for overdue answers before their interval is doubled.
const MAX_SAMPLES: u32 = 200;
/// Answers that are late by less than this part of their limit may be missed.
const SAMPLES_PER_LIMIT: u32 = 4;

/// Checks for overdue answers from time to time while a source is read.
pub struct OverdueSampler {
    /// The time of the next check; `None`: the source has no times.
    next: Option<Time>,
    step: u64,
    left: u32,
    late: BTreeMap<Time, ProblemSubject>,
    /// When each finding was made, in the order of the findings.
    found: Vec<Position>,
    /// Number of streams that have ended.
    ends: u32,
    /// When the problems of streams that have ended were seen first: by their streams, and by their
    /// nodes. Ten thousand clients may fail, again and again.
    ended: HashMap<EndedKey, Position>,
}

/// The client and the type of a problem of an ended stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum EndedKey {
    Stream(ProblemKind, StreamId, TypeUrl),
    Node(ProblemKind, Arc<str>, TypeUrl),
}

/// The parts of a problem that tell it from others while the cursor moves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProblemSubject {
    kind: ProblemKind,
    stream: StreamId,
    node: Option<Arc<str>>,
    type_url: TypeUrl,
    rule: Option<&'static str>,
}

impl ProblemSubject {
    fn new(problem: &ProblemFact) -> ProblemSubject {
        let rule = match &problem.problem {
            Problem::Broken(broken) => Some(broken.rule.id),
            _ => None,
        };
        let (node, type_url) = (problem.node.clone(), problem.type_url.clone());
        ProblemSubject { kind: problem.kind, stream: problem.stream, node, type_url, rule }
    }

    /// Returns the keys by which the problem is found: the stream of a client that reconnects
    /// changes.
    fn keys(&self) -> impl Iterator<Item = EndedKey> {
        let by_node = |node: &Arc<str>| EndedKey::Node(self.kind, node.clone(), self.type_url.clone());
        let by_stream = EndedKey::Stream(self.kind, self.stream, self.type_url.clone());
        self.node.as_ref().map(by_node).into_iter().chain([by_stream])
    }

    /// Returns whether both are about one client and type.
    fn is_of_same_client(&self, other: &ProblemSubject) -> bool {
        let is_same_node = self.node.is_some() && self.node == other.node;
        self.type_url == other.type_url && (self.stream == other.stream || is_same_node)
    }

    /// Returns whether both are one problem. The stream of a client that reconnects changes.
    fn is_same(&self, other: &ProblemSubject) -> bool {
        (self.kind, self.rule) == (other.kind, other.rule) && self.is_of_same_client(other)
    }

    /// Returns the problem as it is at the position of a cursor, in words.
    fn at(&self, cursor: &Cursor) -> Option<ReachedProblem> {
        let problems = list_problems(cursor.store(), cursor.findings());
        let subjects: Vec<ProblemSubject> = problems.iter().map(ProblemSubject::new).collect();
        let same = subjects.iter().position(|subject| self.is_same(subject));
        let is_state = |subject: &ProblemSubject| {
            matches!((self.kind, subject.kind), (ProblemKind::State(_), ProblemKind::State(_)))
                && self.is_of_same_client(subject)
        };
        let at = same.or_else(|| subjects.iter().position(is_state))?;
        Some(reached(problems.get(at)?, cursor.store()))
    }
}

impl OverdueSampler {
    pub(super) fn new(clock: Clock, options: &Options) -> OverdueSampler {
        let limit = options.stale_after.min(options.resource_timeout) / SAMPLES_PER_LIMIT;
        let step = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
        let next = (!clock.untimed).then_some(Time(step));
        OverdueSampler {
            next,
            step,
            left: MAX_SAMPLES,
            late: BTreeMap::new(),
            found: Vec::new(),
            ends: 0,
            ended: HashMap::new(),
        }
    }

    /// Checks up to the time of the next frame. `frames` were handled before.
    pub(super) fn until(&mut self, store: &mut Analysis, frames: usize, then: Time) {
        while let Some(next) = self.next.filter(|next| *next <= then) {
            store.advance(next);
            self.found.resize(store.findings().len(), Position { frames, now: next });
            for (at, problem) in overdue(store) {
                self.late.entry(at).or_insert_with(|| ProblemSubject::new(&problem));
            }
            self.note_ended(store, Position { frames, now: next });
            self.left -= 1;
            if self.left == 0 {
                self.left = MAX_SAMPLES / 2;
                self.step = self.step.saturating_mul(2);
            }
            self.next = next.0.checked_add(self.step).map(Time);
        }
    }
}

impl OverdueSampler {
    /// Takes in what became known with the frame before `at`. `is_end`: the frame ended a stream.
    pub(super) fn after(&mut self, store: &Analysis, at: Position, is_end: bool) {
        self.found.resize(store.findings().len(), at);
        self.ends += u32::from(is_end);
        // Not after each of very many ends: all streams are examined for each.
        if is_end && self.ends.is_multiple_of((self.ends / MAX_SAMPLES).max(1)) {
            self.note_ended(store, at);
        }
    }

    /// Takes in the problems of ended streams that are known at `at`.
    pub(super) fn note_ended(&mut self, store: &Analysis, at: Position) {
        let failing = store.ended().lasting_failures().into_iter().map(|failing| {
            let address = failing.peer.as_deref().or(failing.server.as_deref()).map(Into::into);
            let (kind, node) = (ProblemKind::Failing, failing.node.clone().or(address));
            ProblemSubject { kind, stream: failing.stream, node, type_url: TypeUrl::default(), rule: None }
        });
        let owed = store.ended().owed_at_end().into_iter().map(|owed| {
            let (kind, node) = (ProblemKind::Owed, owed.node.clone());
            ProblemSubject { kind, stream: owed.stream, node, type_url: owed.type_url, rule: None }
        });
        for subject in failing.chain(owed).collect::<Vec<_>>() {
            if self.first_seen(&subject).is_none() {
                self.ended.extend(subject.keys().map(|key| (key, at)));
            }
        }
    }

    /// Returns the first position at which a problem that is no state is known.
    fn known_from(&self, problem: &ProblemFact, findings: &[Finding]) -> Option<Position> {
        let subject = ProblemSubject::new(problem);
        if let ProblemKind::Rule(_) = problem.kind {
            let counts =
                |at: &&usize| findings.get(**at).is_some_and(|finding| finding.severity > Severity::Info);
            let found = problem.findings.iter().filter(counts).filter_map(|at| self.found.get(*at));
            return found.min().copied();
        }
        self.first_seen(&subject)
    }

    /// Returns when the problem of an ended stream was seen first.
    fn first_seen(&self, problem: &ProblemSubject) -> Option<Position> {
        problem.keys().filter_map(|key| self.ended.get(&key)).min().copied()
    }
}

/// The direction of a search for problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// The problems that a search stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemFilter {
    All,
    Nacks,
}

impl ProblemFilter {
    /// Returns the word for one such problem.
    pub(super) fn word(self) -> &'static str {
        match self {
            ProblemFilter::All => "problem",
            ProblemFilter::Nacks => "NACK",
        }
    }
}

/// The marks of a source, and its problems in order.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) all: Arc<[ReplayMark]>,
    problems: Vec<ProblemMark>,
}

/// A place at which a search for problems stops.
struct ProblemMark {
    position: Position,
    is_nack: bool,
    /// `None` for a NACK, which the message at the position tells.
    subject: Option<ProblemSubject>,
}

impl Marks {
    /// Collects the marks of a source whose cursor is at the end.
    pub(super) fn find(cursor: &Cursor, looks: OverdueSampler) -> Marks {
        let mut all = message_marks(cursor.store());
        let nacks = all.iter().filter(|mark| mark.sign == Sign::Nack);
        let nack = |mark: &ReplayMark| {
            let position = cursor.of_message(Seq(mark.n))?;
            Some(ProblemMark { position, is_nack: true, subject: None })
        };
        let mut problems: Vec<ProblemMark> = nacks.filter_map(nack).collect();
        for (at, subject) in &looks.late {
            let (position, subject) = (cursor.of_time(*at), Some(subject.clone()));
            problems.push(ProblemMark { position, is_nack: false, subject });
            let at = *at;
            all.push(ReplayMark { at, n: cursor.messages_until(at), sign: Sign::Late });
        }
        for finding in cursor.findings().iter().filter(|finding| finding.severity > Severity::Info) {
            let n = finding.at.map_or_else(|| cursor.messages_until(finding.first), |n| n.0);
            all.push(ReplayMark { at: finding.first, n, sign: Sign::Finding });
        }
        for problem in list_problems(cursor.store(), cursor.findings()) {
            if let ProblemKind::State(_) = problem.kind {
                continue;
            }
            let known = looks.known_from(&problem, cursor.findings());
            let known = known.filter(|position| *position >= cursor.start());
            let position = known.unwrap_or_else(|| cursor.of_time(problem.since));
            let subject = Some(ProblemSubject::new(&problem));
            problems.push(ProblemMark { position, is_nack: false, subject });
        }
        problems.sort_by_key(|mark| (mark.position, mark.is_nack));
        problems.dedup_by_key(|mark| (mark.position, mark.is_nack));
        all.sort_by_key(|mark| (mark.n, mark.at));
        Marks { all: all.into(), problems }
    }

    /// Returns the problem at the position of a cursor, as far as it is known there.
    pub(super) fn at(&self, cursor: &Cursor) -> Option<ReachedProblem> {
        let mark = self.problems.iter().find(|mark| mark.position == cursor.position())?;
        match &mark.subject {
            Some(subject) => subject.at(cursor),
            None => nack_at(cursor.store(), cursor.store().messages()),
        }
    }

    /// Returns the position of the nearest problem after or before `from`.
    pub(super) fn problem(
        &self,
        from: Position,
        direction: Direction,
        filter: ProblemFilter,
    ) -> Option<Position> {
        let problems = self.problems.iter().filter(|mark| filter == ProblemFilter::All || mark.is_nack);
        let mut positions = problems.map(|mark| mark.position);
        match direction {
            Direction::Forward => positions.find(|position| *position > from),
            Direction::Back => positions.rfind(|position| *position < from),
        }
    }
}

/// Returns the place of a problem, and its words.
fn reached(problem: &ProblemFact, store: &Store) -> ReachedProblem {
    let (place, word) = (report::problem_place(problem), report::problem_word(problem).0);
    let words = format!("{place} {word}: {}", report::problem(problem, &store.clock()));
    ReachedProblem { stream: problem.stream, type_url: problem.type_url.clone(), words: words.into() }
}

/// Returns the place of a NACK.
fn nack_at(store: &Store, n: u64) -> Option<ReachedProblem> {
    let line = store.line(store.row_of(Seq(n))?)?;
    let node = line.node.as_deref().map_or_else(|| format!("#{}", line.stream.0), str::to_owned);
    let words = format!("{node} {} NACK #{n}", type_label(line.type_url.as_str()));
    Some(ReachedProblem { stream: line.stream, type_url: line.type_url.clone(), words: words.into() })
}

/// Returns the answers that are overdue now, and when they became overdue.
fn overdue(store: &Store) -> Vec<(Time, ProblemFact)> {
    let is_late = |problem: &ProblemFact| matches!(problem.state(), Some(TypeState::Stale | TypeState::Miss));
    let late = list_problems(store, &[]).into_iter().filter(is_late);
    late.filter_map(|problem| Some((problem.due?, problem))).collect()
}

/// Returns the marks that follow from messages alone.
fn message_marks(store: &Store) -> Vec<ReplayMark> {
    let rows = (0..store.rows()).filter_map(|row| store.line(row));
    let mut n = 0;
    let mut marks = Vec::new();
    for line in rows {
        n = line.n.map_or(n, |n| n.0);
        let sign = match line.kind {
            MessageKind::Nack => Some(Sign::Nack),
            MessageKind::Subscribe | MessageKind::Unsubscribe => Some(Sign::Subscription),
            MessageKind::Open => {
                let fact = store.stream(line.stream);
                fact.is_some_and(|fact| fact.reconnect_of.is_some()).then_some(Sign::Reconnect)
            }
            _ => None,
        };
        marks.extend(sign.map(|sign| ReplayMark { at: line.at, n, sign }));
    }
    marks
}
