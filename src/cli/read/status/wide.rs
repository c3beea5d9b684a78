//! `status -o wide`: one row per stream and type.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::store::{ClientMark, StateFact};
use xdscope_present::admin::update_counts;
use xdscope_present::applied::applied_summary;
use xdscope_present::report::{self, Role};
use xdscope_present::table::{Cell, Columns, TableLooks};
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{age, count, latency, type_label};

use super::Status;
use crate::cli::error::CliError;

/// A type of a stream, and its difference to what the client has applied.
type WideRow<'a> = (&'a StateFact, Option<&'a AppliedDiff>);

impl Status<'_> {
    /// Writes one row per stream and type, with versions, nonces and who owes what.
    pub(super) fn wide(&self, looks: TableLooks, out: &mut dyn std::io::Write) -> Result<(), CliError> {
        let (clock, now) = (self.store.clock(), self.store.now());
        let streams = self.store.streams();
        let lives: HashMap<StreamId, String> = streams
            .iter()
            .filter_map(|stream| Some((stream.stream, report::life(stream, !clock.untimed)?)))
            .collect();
        let times = looks.style.pick("×", "x");
        let mut columns = Columns::<WideRow<'_>>::new()
            .text("NODE", |(state, _)| self.wide_name(state))
            .number("STREAM", |(state, _)| state.summary.stream.0.to_string())
            .text("VARIANT", |(state, _)| state.summary.variant.word())
            .role(Role::Muted)
            .text("TYPE", |(state, _)| type_label(state.summary.type_url.as_str()))
            .text("STATE", |(state, _)| state_cell(state, times))
            .text("IN FORCE", |(state, _)| or_none(&state.versions.in_force))
            .text("OFFERED", |(state, _)| or_none(&state.versions.offered))
            .text("NONCE", |(state, _)| or_none(&state.nonce))
            .text("SUBSCRIBED", |(state, _)| report::subscribed(state))
            .text("RESOURCES", |(state, _)| report::resource_count(state));
        if self.applied.is_some() {
            columns =
                columns.text("APPLIED", |(_, diff)| diff.map_or(Cell::role("-", Role::Muted), applied_cell));
        }
        if streams.iter().any(|stream| self.store.admin_of(stream.stream).is_some()) {
            columns = columns.text("UPDATES", |(state, _)| self.updates(state));
        }
        columns =
            columns
                .number("PUSHES", |(state, _): &WideRow<'_>| count(state.traffic.pushes))
                .number("SAME", |(state, _)| unchanged_share(state))
                .number("ACK P50", |(state, _)| latency_of(state.verdicts.ack_ms.map(|(p50, _)| p50)))
                .number("ACK P99", |(state, _)| latency_of(state.verdicts.ack_ms.map(|(_, p99)| p99)))
                .number("AGE", |(state, _)| {
                    if clock.untimed { "-".to_owned() } else { age(now.since(state.summary.since)) }
                })
                .text("OPEN", |(state, _)| {
                    let mut notes = self.notes(state);
                    notes.extend(lives.get(&state.summary.stream).cloned());
                    notes.join("; ").replace('×', times)
                });
        let rows: Vec<WideRow<'_>> = self.with_applied().collect();
        Ok(columns.write(&rows, looks, out)?)
    }

    /// Returns the statistics of the client on updates of a type.
    fn updates(&self, state: &StateFact) -> String {
        let admin = self.store.admin_of(state.summary.stream);
        let counts = admin.as_ref().and_then(|admin| admin.updates_of(&state.summary.type_url));
        counts.map_or("-".to_owned(), update_counts)
    }

    /// Describes the problems of a state, and causes of missing answers.
    fn notes(&self, state: &StateFact) -> Vec<String> {
        let mut notes = Vec::new();
        for problem in &self.selected.problems {
            if problem.type_url == state.summary.type_url
                && problem.all_streams().any(|stream| stream == state.summary.stream)
            {
                notes.push(report::problem_with_reason(problem, &self.store.clock()));
            }
        }
        notes.extend(state.diverged.as_ref().map(report::diverged));
        let answers = report::missing_answers_of(self.store, self.schema, state);
        notes.extend(answers.iter().map(report::missing_answer));
        notes
    }

    /// Returns the node with what tells the client apart, unless that is the stream, which has a
    /// column.
    fn wide_name(&self, state: &StateFact) -> String {
        let Some(node) = &state.summary.node else { return "-".to_owned() };
        let mark = self.marks.get(state.summary.stream).filter(|mark| **mark != ClientMark::Stream);
        format!("{node}{}", report::client_mark(mark, state.summary.stream))
    }
}

fn state_cell(state: &StateFact, times: &str) -> (String, Role) {
    let (_, role) = report::state_word(state.summary.state);
    (report::state_text(state.summary.state, state, times), role)
}

fn or_none(text: &Option<Arc<str>>) -> String {
    text.as_deref().unwrap_or("-").to_owned()
}

/// Formats a time in milliseconds.
fn latency_of(milliseconds: Option<f64>) -> String {
    let time = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
    time.map_or("-".to_owned(), latency)
}

fn applied_cell(diff: &AppliedDiff) -> Cell {
    Cell::role(applied_summary(diff), if diff.is_problem() { Role::Bad } else { Role::Plain })
}

/// Formats the share of bytes that were resources sent again without a change.
fn unchanged_share(state: &StateFact) -> String {
    match state.traffic.bytes {
        0 => "-".into(),
        bytes => format!("{} %", state.traffic.bytes_same.saturating_mul(100) / bytes),
    }
}
