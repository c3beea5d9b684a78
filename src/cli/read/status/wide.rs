//! `status -o wide`: one row per stream and type.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{ClientMark, StateFact};
use xdscope_present::applied::applied_summary;
use xdscope_present::report::{self, Role};
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{age, count, latency, type_label};

use super::Status;
use crate::cli::error::CliError;
use crate::cli::output::table::{Cell, Table};
use crate::cli::terminal::io::Style;

/// Index of the column of `--applied`: after RESOURCES.
const APPLIED_COLUMN: usize = 10;

/// Titles of the columns of `-o wide`; `>` aligns to the right.
const WIDE_COLUMNS: [&str; 16] = [
    "NODE",
    ">STREAM",
    "VARIANT",
    "TYPE",
    "STATE",
    "IN FORCE",
    "OFFERED",
    "NONCE",
    "SUBSCRIBED",
    "RESOURCES",
    ">PUSHES",
    ">SAME",
    ">ACK P50",
    ">ACK P99",
    ">AGE",
    "OPEN",
];

impl Status<'_> {
    /// Writes one row per stream and type, with versions, nonces and who owes what.
    pub(super) fn wide(
        &self,
        style: Style,
        headers: bool,
        out: &mut dyn std::io::Write,
    ) -> Result<(), CliError> {
        let problems = &self.selected.problems;
        let lives: HashMap<StreamId, String> = self
            .store
            .streams()
            .iter()
            .filter_map(|stream| Some((stream.stream, report::life(stream, !self.store.clock().untimed)?)))
            .collect();
        let mut titles = WIDE_COLUMNS.to_vec();
        if self.applied.is_some() {
            titles.insert(APPLIED_COLUMN, "APPLIED");
        }
        let mut table = Table::new(out, style, headers && !self.states.is_empty(), &titles);
        for (state, diff) in self.with_applied() {
            let mut notes = self.notes(state, problems);
            notes.extend(lives.get(&state.stream).cloned());
            let mut cells = self.wide_cells(state, &notes.join("; "), style);
            if self.applied.is_some() {
                cells.insert(APPLIED_COLUMN, diff.map_or(Cell::role("-", Role::Muted), applied_cell));
            }
            table.row(cells)?;
        }
        Ok(table.finish()?)
    }

    /// Describes the problems of a state, and causes of missing answers.
    fn notes(&self, state: &StateFact, problems: &[ProblemFact]) -> Vec<String> {
        let of_state = problems
            .iter()
            .filter(|problem| problem.type_url == state.type_url)
            .filter(|problem| problem.all_streams().any(|stream| stream == state.stream));
        let mut notes: Vec<String> =
            of_state.map(|problem| report::problem_with_reason(problem, &self.store.clock())).collect();
        notes.extend(state.diverged.as_ref().map(report::diverged));
        let answers = report::missing_answers_of(self.store, self.schema, state);
        notes.extend(answers.iter().map(report::missing_answer));
        notes
    }

    /// Returns the node with what tells the client apart, unless that is the stream, which has a
    /// column.
    fn wide_name(&self, state: &StateFact) -> String {
        let Some(node) = &state.node else { return "-".to_owned() };
        let mark = self.marks.get(state.stream).filter(|mark| **mark != ClientMark::Stream);
        format!("{node}{}", report::client_mark(mark, state.stream))
    }

    /// Formats a row without the column of `--applied`.
    fn wide_cells(&self, state: &StateFact, notes: &str, style: Style) -> Vec<Cell> {
        let text = |text: &Option<Arc<str>>| Cell::new(text.as_deref().unwrap_or("-"));
        let (_, role) = report::state_word(state.state);
        let mut word = report::state_text(state.state, state, style.pick("×", "x"));
        if state.last_state.is_some() {
            word = format!("{} {word}", report::CLOSED);
        }
        let ack = |of: fn((f64, f64)) -> f64| {
            let time = state.ack_ms.and_then(|ms| Duration::try_from_secs_f64(of(ms) / 1e3).ok());
            Cell::new(time.map_or("-".into(), latency))
        };
        vec![
            Cell::new(self.wide_name(state)),
            Cell::new(state.stream.0.to_string()),
            Cell::role(state.variant.word(), Role::Muted),
            Cell::new(type_label(state.type_url.as_str())),
            Cell::role(word, role),
            text(&state.in_force),
            text(&state.offered),
            text(&state.nonce),
            Cell::new(report::subscribed(state)),
            Cell::new(report::resource_count(state)),
            Cell::new(count(state.pushes)),
            Cell::new(unchanged_share(state)),
            ack(|(p50, _)| p50),
            ack(|(_, p99)| p99),
            Cell::new(if self.store.clock().untimed {
                "-".into()
            } else {
                age(self.store.now().since(state.since))
            }),
            Cell::new(if style.ascii { notes.replace('×', "x") } else { notes.to_owned() }),
        ]
    }
}

fn applied_cell(diff: &AppliedDiff) -> Cell {
    Cell::role(applied_summary(diff), if diff.is_problem() { Role::Bad } else { Role::Plain })
}

/// Formats the share of bytes that were resources sent again without a change.
fn unchanged_share(state: &StateFact) -> String {
    match state.bytes {
        0 => "-".into(),
        bytes => format!("{} %", state.bytes_same.saturating_mul(100) / bytes),
    }
}
