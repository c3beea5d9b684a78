//! The one list of problems that all screens walk.

use std::collections::HashMap;
use std::sync::Arc;

use xdscope_engine::problems::{Problem, ProblemFact, count_wrong};
use xdscope_present::report::Row;
use xdscope_wire::event::StreamId;

/// The problems of the source, and the chosen one.
#[derive(Clone, Debug, Default)]
pub struct ProblemList {
    /// The problems, the worst first, and answers that are still in time.
    pub all: Vec<ProblemFact>,
    pub worst: WorstProblems,
    /// Whether each problem has a reason of the client.
    has_reason: Vec<bool>,
    /// Indices of the problems that Overview lists; `None` for all.
    pub listed: Option<Vec<usize>>,
    choice: Option<Choice>,
}

/// The problem that was chosen last.
#[derive(Clone, Debug)]
struct Choice {
    index: usize,
    key: Option<String>,
}

impl ProblemList {
    /// Takes a new list of problems. The chosen one stays chosen.
    pub fn set(&mut self, problems: Vec<ProblemFact>) {
        self.all = problems;
        self.worst = WorstProblems::new(&self.all);
        self.has_reason = self.all.iter().map(|problem| problem.reason().is_some()).collect();
        let last = self.all.len().saturating_sub(1);
        if let Some(Choice { index, key: Some(key) }) = &mut self.choice {
            let same = self.all.iter().enumerate().filter(|(_, fact)| problem_key(fact) == *key);
            let nearest = same.map(|(at, _)| at).min_by_key(|at| at.abs_diff(*index));
            *index = nearest.unwrap_or((*index).min(last));
        }
    }

    /// The keys of the problems, the same as long as a problem lasts.
    pub fn keys(&self) -> impl Iterator<Item = (String, &ProblemFact)> {
        let wrong = self.all.iter().filter(|problem| problem.is_wrong());
        wrong.map(|problem| (problem_key(problem), problem))
    }

    /// The number of problems, without answers that are still in time.
    pub fn count(&self) -> usize {
        count_wrong(&self.all)
    }

    /// Whether a problem has a reason of the client.
    pub fn has_reason(&self, index: usize) -> bool {
        self.has_reason.get(index).is_some_and(|has_reason| *has_reason)
    }

    /// The index of the chosen problem, else of the first.
    pub fn index(&self) -> usize {
        let chosen = self.choice.as_ref().map_or(0, |choice| choice.index);
        chosen.min(self.all.len().saturating_sub(1))
    }

    /// The user has chosen a problem.
    pub fn has_choice(&self) -> bool {
        self.choice.is_some()
    }

    /// The chosen problem.
    pub fn chosen(&self) -> Option<&ProblemFact> {
        self.all.get(self.index())
    }

    /// Chooses a problem, or the nearest one.
    pub fn choose(&mut self, index: usize) {
        let index = index.min(self.all.len().saturating_sub(1));
        self.choice = Some(Choice { index, key: self.all.get(index).map(problem_key) });
    }

    /// Chooses the next problem in the list, or the previous one. Returns `None` if there is none.
    ///
    /// Answers that are still in time are no problems. The first problem comes first.
    pub fn step(&mut self, forward: bool) -> Option<usize> {
        let count = self.count();
        let to = match (&self.choice, forward) {
            (None, _) => 0,
            (Some(choice), true) => choice.index + 1,
            (Some(choice), false) => choice.index.min(count).checked_sub(1)?,
        };
        if to >= count {
            return None;
        }
        self.choose(to);
        Some(to)
    }

    /// Returns the indices of the problems that Overview lists.
    pub fn listed(&self) -> Vec<usize> {
        self.listed.clone().unwrap_or_else(|| (0..self.all.len()).collect())
    }

    /// The worst problem of a row of clients.
    pub fn worst_of(&self, row: &Row) -> Option<&ProblemFact> {
        self.all.get(self.worst.of_row(row)?)
    }
}

/// The parts of a problem that do not change while the problem lasts.
fn problem_key(fact: &ProblemFact) -> String {
    let rule = match &fact.problem {
        Problem::Broken(broken) => broken.rule.id,
        _ => "",
    };
    format!("{} {} {} {rule}", fact.kind.word(), fact.stream.0, fact.type_url)
}

/// The worst problem of each stream and of each node id, by its index in the list.
#[derive(Clone, Debug, Default)]
pub struct WorstProblems {
    by_stream: HashMap<StreamId, usize>,
    by_node: HashMap<Arc<str>, usize>,
}

impl WorstProblems {
    fn new(problems: &[ProblemFact]) -> WorstProblems {
        let mut worst = WorstProblems::default();
        for (at, problem) in problems.iter().enumerate().filter(|(_, problem)| problem.is_wrong()) {
            for place in problem.places() {
                worst.by_stream.entry(place.stream).or_insert(at);
                // The stream tells clients with one node id apart.
                if place.mark.is_none()
                    && let Some(node) = place.node
                {
                    worst.by_node.entry(node).or_insert(at);
                }
            }
        }
        worst
    }

    /// The worst problem of a row of clients.
    pub fn of_row(&self, row: &Row) -> Option<usize> {
        let by_stream = row.all_streams().filter_map(|stream| self.by_stream.get(&stream)).min();
        let by_node = if row.mark.is_empty() { self.by_node.get(row.name.as_str()) } else { None };
        by_stream.into_iter().chain(by_node).min().copied()
    }
}
