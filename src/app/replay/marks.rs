//! The marks and problems of the replay bar, found once while the source is read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::app::analysis::Analysis;
use crate::engine::lint::Severity;
use crate::engine::problems::{ProblemKind, problems as list_problems};
use crate::engine::session::MessageKind;
use crate::engine::store::{Options, Store, TypeState};
use crate::tui::{ReplayMark, Sign};
use crate::wire::event::{Clock, Seq, Time};

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
    late: BTreeSet<Time>,
}

impl OverdueSampler {
    pub(super) fn new(clock: Clock, options: &Options) -> OverdueSampler {
        let limit = options.stale_after.min(options.resource_timeout) / SAMPLES_PER_LIMIT;
        let step = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
        let next = (!clock.untimed).then_some(Time(step));
        OverdueSampler { options: *options, next, step, left: MAX_SAMPLES, late: BTreeSet::new() }
    }

    /// Checks up to the time of the next frame.
    pub(super) fn until(&mut self, store: &mut Analysis, then: Time) {
        while let Some(next) = self.next.filter(|next| *next <= then) {
            store.advance(next);
            self.late.extend(overdue(store, &self.options));
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
    /// Positions, and whether the problem is a NACK.
    problems: Vec<(Position, bool)>,
}

impl Marks {
    /// Collects the marks of a source whose cursor is at the end.
    pub(super) fn find(cursor: &Cursor, looks: OverdueSampler) -> Marks {
        let mut all = message_marks(cursor.store());
        let nacks = all.iter().filter(|mark| mark.sign == Sign::Nack);
        let mut problems: Vec<_> =
            nacks.filter_map(|mark| Some((cursor.of_message(Seq(mark.n))?, true))).collect();
        for at in looks.late {
            let place = cursor.of_time(at);
            problems.push((place, false));
            all.push(ReplayMark { at, n: cursor.messages_until(at), sign: Sign::Late });
        }
        for finding in cursor.findings().iter().filter(|finding| finding.severity > Severity::Info) {
            let n = finding.at.map_or_else(|| cursor.messages_until(finding.first), |n| n.0);
            all.push(ReplayMark { at: finding.first, n, sign: Sign::Finding });
        }
        for problem in list_problems(cursor.store(), cursor.findings()) {
            let message = match problem.kind {
                ProblemKind::State(_) => continue,
                ProblemKind::Rule(_) => problem.at.and_then(|n| cursor.of_message(n)),
                _ => None,
            };
            problems.push((message.unwrap_or_else(|| cursor.of_time(problem.since)), false));
        }
        problems.sort_unstable();
        problems.dedup();
        all.sort_by_key(|mark| (mark.n, mark.at));
        Marks { all: all.into(), problems }
    }

    /// Returns the position of the nearest problem after or before `from`.
    pub(super) fn problem(
        &self,
        from: Position,
        direction: Direction,
        filter: ProblemFilter,
    ) -> Option<Position> {
        let problems = self.problems.iter().filter(|(_, is_nack)| filter == ProblemFilter::All || *is_nack);
        let mut positions = problems.map(|(position, _)| *position);
        match direction {
            Direction::Forward => positions.find(|position| *position > from),
            Direction::Back => positions.rfind(|position| *position < from),
        }
    }
}

/// Returns when answers that are overdue now became overdue.
fn overdue(store: &Store, options: &Options) -> Vec<Time> {
    let after = |at: Time, limit: Duration| {
        Time(at.0.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)))
    };
    let problems = list_problems(store, &[]).into_iter();
    let when = problems.filter_map(|problem| match problem.state() {
        Some(TypeState::Stale) => Some(after(problem.since, options.stale_after)),
        Some(TypeState::Miss) => Some(after(problem.since, options.resource_timeout)),
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
