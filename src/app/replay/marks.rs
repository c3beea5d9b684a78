//! The marks and problems of the replay bar, found once while the source is read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::app::analysis::Analysis;
use crate::engine::lint::Severity;
use crate::engine::problems::{ProblemFact, ProblemKind, problems as list_problems};
use crate::engine::session::MessageKind;
use crate::engine::store::{Options, Store, TypeState};
use crate::present::report;
use crate::tui::{ReachedProblem, ReplayMark, Sign};
use crate::wire::event::{Clock, Seq, Time};
use crate::wire::text::type_label;

use super::cursor::{Cursor, Position};

/// Checks for overdue answers before their interval is doubled.
const MAX_SAMPLES: u32 = 200;
/// Answers that are late by less than this part of their limit may be missed.
const SAMPLES_PER_LIMIT: u32 = 4;

/// Checks for overdue answers from time to time while a source is read.
pub struct OverdueSampler {
    options: Options,
    /// The time of the next check; `None`: the source has no times.
    next: Option<Time>,
    step: u64,
    left: u32,
    late: BTreeMap<Time, ReachedProblem>,
}

impl OverdueSampler {
    pub(super) fn new(clock: Clock, options: &Options) -> OverdueSampler {
        let limit = options.stale_after.min(options.resource_timeout) / SAMPLES_PER_LIMIT;
        let step = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
        let next = (!clock.untimed).then_some(Time(step));
        OverdueSampler { options: *options, next, step, left: MAX_SAMPLES, late: BTreeMap::new() }
    }

    /// Checks up to the time of the next frame.
    pub(super) fn until(&mut self, store: &mut Analysis, then: Time) {
        while let Some(next) = self.next.filter(|next| *next <= then) {
            store.advance(next);
            for (at, problem) in overdue(store, &self.options) {
                self.late.entry(at).or_insert_with(|| reached(&problem, store));
            }
            self.left -= 1;
            if self.left == 0 {
                self.left = MAX_SAMPLES / 2;
                self.step = self.step.saturating_mul(2);
            }
            self.next = next.0.checked_add(self.step).map(Time);
        }
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
    problem: Option<ReachedProblem>,
}

impl Marks {
    /// Collects the marks of a source whose cursor is at the end.
    pub(super) fn find(cursor: &Cursor, looks: OverdueSampler) -> Marks {
        let mut all = message_marks(cursor.store());
        let nacks = all.iter().filter(|mark| mark.sign == Sign::Nack);
        let nack = |mark: &ReplayMark| {
            let position = cursor.of_message(Seq(mark.n))?;
            Some(ProblemMark { position, is_nack: true, problem: None })
        };
        let mut problems: Vec<ProblemMark> = nacks.filter_map(nack).collect();
        for (at, problem) in looks.late {
            problems.push(ProblemMark {
                position: cursor.of_time(at),
                is_nack: false,
                problem: Some(problem),
            });
            all.push(ReplayMark { at, n: cursor.messages_until(at), sign: Sign::Late });
        }
        for finding in cursor.findings().iter().filter(|finding| finding.severity > Severity::Info) {
            let n = finding.at.map_or_else(|| cursor.messages_until(finding.first), |n| n.0);
            all.push(ReplayMark { at: finding.first, n, sign: Sign::Finding });
        }
        for problem in list_problems(cursor.store(), cursor.findings()) {
            let reached = reached(&problem, cursor.store());
            let message = match problem.kind {
                ProblemKind::State(_) => continue,
                ProblemKind::Rule(_) => problem.at.and_then(|n| cursor.of_message(n)),
                _ => None,
            };
            let position = message.unwrap_or_else(|| cursor.of_time(problem.since));
            problems.push(ProblemMark { position, is_nack: false, problem: Some(reached) });
        }
        problems.sort_by_key(|mark| (mark.position, mark.is_nack));
        problems.dedup_by_key(|mark| (mark.position, mark.is_nack));
        all.sort_by_key(|mark| (mark.n, mark.at));
        Marks { all: all.into(), problems }
    }

    /// Returns the problem at the position of a cursor.
    pub(super) fn at(&self, cursor: &Cursor) -> Option<ReachedProblem> {
        let mark = self.problems.iter().find(|mark| mark.position == cursor.position())?;
        mark.problem.clone().or_else(|| nack_at(cursor.store(), cursor.store().messages()))
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
fn overdue(store: &Store, options: &Options) -> Vec<(Time, ProblemFact)> {
    let after = |at: Time, limit: Duration| {
        Time(at.0.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)))
    };
    let problems = list_problems(store, &[]).into_iter();
    let when = problems.filter_map(|problem| match problem.state() {
        Some(TypeState::Stale) => Some((after(problem.since, options.stale_after), problem)),
        Some(TypeState::Miss) => Some((after(problem.since, options.resource_timeout), problem)),
        _ => None,
    });
    when.collect()
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
