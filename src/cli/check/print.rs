//! The results of `check`: a matrix of rows and variants, JSON, and JUnit.

use std::collections::BTreeMap;

use serde_json::Value;

use xdscope_present::json::{CheckOf, check};
use xdscope_present::report::Role;
use xdscope_present::table::{Cell, Columns, TableForm, TableLooks};
use xdscope_wire::event::Variant;
use xdscope_wire::text::{display_safe, plural};

use crate::app::check::rows::{SERVER_ROWS, VARIANTS};
use crate::app::check::{CLIENT_ROWS, CheckOutcome, RowResult};
use crate::cli::args::{CheckArgs, CheckFormat, Global};
use crate::cli::error::CliError;
use crate::cli::output::json_out::Objects;
use crate::cli::output::junit::{JunitCase, write_junit};
use crate::cli::read::protocol_rows::{ProtocolRow, protocol_row};
use crate::cli::terminal::io::Io;
use crate::net::own_secrets::OwnSecrets;

/// Results of a check, printed as they come or at the end.
pub(super) struct CheckPrinter {
    peer: &'static str,
    format: CheckFormat,
    secrets: OwnSecrets,
    results: Vec<RowResult>,
}

impl CheckPrinter {
    pub(super) fn new(peer: &'static str, format: CheckFormat, secrets: OwnSecrets) -> CheckPrinter {
        CheckPrinter { peer, format, secrets, results: Vec::new() }
    }

    /// Takes a result. Secrets of this machine are removed from it.
    pub(super) fn put(&mut self, result: RowResult, io: &mut Io<'_>) -> Result<(), CliError> {
        let clean = |text: String| self.secrets.clean(text);
        let result = RowResult {
            reasons: result.reasons.into_iter().map(clean).collect(),
            script: result.script.map(clean),
            ..result
        };
        if self.format == CheckFormat::Jsonl {
            Objects::lines(&mut *io.stdout).put(&self.object(&result))?;
            io.flush()?;
        }
        self.results.push(result);
        Ok(())
    }

    /// Prints what was not printed yet, and returns all results.
    pub(super) fn finish(self, global: &Global, io: &mut Io<'_>) -> Result<Vec<RowResult>, CliError> {
        match self.format {
            CheckFormat::Jsonl => {}
            CheckFormat::Json => {
                let mut objects = Objects::array(&mut *io.stdout);
                for result in &self.results {
                    objects.put(&self.object(result))?;
                }
                objects.finish()?;
            }
            CheckFormat::Junit => {
                let cases: Vec<JunitCase> = self.results.iter().map(junit_case).collect();
                write_junit(self.peer, "xdscope.check", &cases, &mut *io.stdout)?;
            }
            CheckFormat::Table | CheckFormat::Wide => self.write(global, io)?,
        }
        Ok(self.results)
    }

    fn object(&self, result: &RowResult) -> Value {
        let rule = rule(result.protocol);
        check(&CheckOf {
            peer: self.peer,
            row: result.id,
            title: result.title,
            variant: result.variant,
            outcome: result.outcome.word(),
            reasons: &result.reasons,
            protocol_row: rule.id,
            statement: rule.statement,
            source: &rule.source,
            ms: result.took.as_secs_f64() * 1000.0,
            script: result.script.as_deref(),
        })
    }

    /// Writes the matrix, what is wrong, and the sums.
    fn write(&self, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
        let looks = TableLooks { style: io.style(global), has_titles: true, form: TableForm::Text };
        let out = &mut *io.stdout;
        matrix(&self.results).write_with_titles(&rows(&self.results), looks, out)?;
        for result in self.results.iter().filter(|result| result.outcome.is_bad()) {
            self.write_bad(result, out)?;
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for result in &self.results {
            *sums.entry(word(result.outcome)).or_default() += 1;
        }
        let of = |outcome: CheckOutcome| sums.get(word(outcome)).copied().unwrap_or_default();
        let sums = CheckOutcome::ALL.map(|outcome| format!("{} {}", of(outcome), word(outcome)));
        writeln!(out, "\n{}", sums.join(", "))?;
        let mut whys: Vec<&String> = Vec::new();
        for why in
            self.results.iter().filter(|of| of.outcome == CheckOutcome::NotRun).flat_map(|of| &of.reasons)
        {
            if !whys.contains(&why) {
                whys.push(why);
            }
        }
        for why in whys {
            let count = self.results.iter().filter(|of| of.reasons.first() == Some(why)).count() as u64;
            writeln!(out, "not run: {}: {}", plural(count, "row"), display_safe(why))?;
        }
        let notes =
            self.results.iter().filter(|of| of.outcome == CheckOutcome::Passed && !of.reasons.is_empty());
        for result in notes {
            for note in &result.reasons {
                writeln!(out, "{}: {}", place(result), display_safe(note))?;
            }
        }
        if self.format == CheckFormat::Table && self.results.iter().any(|of| of.outcome.is_bad()) {
            writeln!(out, "-o wide shows what was exchanged")?;
        }
        Ok(())
    }

    fn write_bad(&self, result: &RowResult, out: &mut dyn std::io::Write) -> Result<(), CliError> {
        let rule = rule(result.protocol);
        writeln!(out, "\n{}: {}", place(result), word(result.outcome))?;
        writeln!(out, "  expected: {}", result.title)?;
        for reason in &result.reasons {
            writeln!(out, "  {}", display_safe(reason))?;
        }
        writeln!(out, "  rule: {}", rule.statement)?;
        writeln!(out, "  source: {}", rule.source)?;
        if let (CheckFormat::Wide, Some(script)) = (self.format, &result.script) {
            writeln!(out, "  exchanged:")?;
            for line in script.lines() {
                writeln!(out, "    {}", display_safe(line))?;
            }
        }
        Ok(())
    }
}

/// Returns the rule of the protocol that a row tests.
fn rule(id: &'static str) -> ProtocolRow {
    protocol_row(id).unwrap_or(ProtocolRow { id, statement: "", source: String::new() })
}

fn word(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::NotRun => "not run",
        outcome => outcome.word(),
    }
}

/// Returns row and variant: `nack-loop (delta-ads)`.
fn place(result: &RowResult) -> String {
    match result.variant {
        Some(variant) => format!("{} ({variant})", result.id),
        None => result.id.to_owned(),
    }
}

/// A row of the matrix: its results by variant.
struct MatrixRow<'a> {
    id: &'static str,
    title: &'static str,
    results: Vec<&'a RowResult>,
}

fn rows(results: &[RowResult]) -> Vec<MatrixRow<'_>> {
    let mut out: Vec<MatrixRow<'_>> = Vec::new();
    for result in results {
        match out.iter_mut().find(|row| row.id == result.id) {
            Some(row) => row.results.push(result),
            None => out.push(MatrixRow { id: result.id, title: result.title, results: vec![result] }),
        }
    }
    let order = |id: &str| {
        let ids = SERVER_ROWS.iter().map(|row| row.id).chain(CLIENT_ROWS.iter().map(|row| row.id));
        ids.into_iter().position(|known| known == id)
    };
    out.sort_by_key(|row| order(row.id));
    out
}

/// Returns a table with a column for each variant.
fn matrix<'a>(results: &[RowResult]) -> Columns<'a, MatrixRow<'a>> {
    let met = |variant: &Variant| results.iter().any(|result| result.variant == Some(variant.word()));
    let mut columns = Columns::new().text("ROW", |row: &MatrixRow<'_>| row.id);
    for variant in VARIANTS.into_iter().filter(met) {
        columns = columns.text(variant.word().to_uppercase(), move |row: &MatrixRow<'_>| {
            cell(row.results.iter().find(|result| result.variant == Some(variant.word())))
        });
    }
    let columns = columns.optional_text("RESULT", |row: &MatrixRow<'_>| {
        match row.results.iter().find(|result| result.variant.is_none()) {
            Some(result) => cell(Some(result)),
            None => Cell::new(""),
        }
    });
    columns.text("EXPECTED", |row: &MatrixRow<'_>| row.title)
}

fn cell(result: Option<&&RowResult>) -> Cell {
    let Some(result) = result else { return Cell::role("-", Role::Muted) };
    let role = match result.outcome {
        CheckOutcome::Passed => Role::Ok,
        CheckOutcome::Failed => Role::Bad,
        CheckOutcome::Unanswered => Role::Warn,
        CheckOutcome::NotRun => Role::Muted,
    };
    Cell::role(word(result.outcome), role)
}

fn junit_case(result: &RowResult) -> JunitCase {
    let rule = rule(result.protocol);
    let text = format!(
        "{}; expected: {}; rule: {} ({})",
        result.reasons.join("; "),
        result.title,
        rule.statement,
        rule.source
    );
    let failures = match result.outcome.is_bad() {
        true => vec![(result.outcome.word().to_owned(), text)],
        false => Vec::new(),
    };
    let skipped = (result.outcome == CheckOutcome::NotRun).then(|| result.reasons.join("; "));
    let output = if result.outcome.is_bad() { result.script.clone() } else { None };
    JunitCase { name: place(result), failures, skipped, output }
}

/// Prints the rows with their rules, for `--list-rows`.
pub(super) fn list(args: &CheckArgs, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
    let looks = TableLooks { style: io.style(global), has_titles: true, form: TableForm::Text };
    let listed = listed(args);
    let columns = Columns::new()
        .text("PEER", |row: &ListedRow| row.peer)
        .text("ROW", |row: &ListedRow| row.id)
        .text("EXPECTED", |row: &ListedRow| row.title)
        .text("SOURCE", |row: &ListedRow| row.source.clone());
    columns.write(&listed, looks, &mut *io.stdout)?;
    Ok(())
}

/// A row of `--list-rows`.
struct ListedRow {
    peer: &'static str,
    id: &'static str,
    title: &'static str,
    source: String,
}

fn listed(args: &CheckArgs) -> Vec<ListedRow> {
    let of_server = SERVER_ROWS.iter().map(|row| {
        let first = row.variants.first().copied().unwrap_or(Variant::Ads);
        ("server", row.id, row.title, row.protocol(first))
    });
    let of_client = CLIENT_ROWS.iter().map(|row| ("client", row.id, row.title, row.protocol(false)));
    let is_wanted = |id: &str| args.row.is_empty() || args.row.iter().any(|row| row == id);
    let rows = of_server.chain(of_client).filter(|(_, id, ..)| is_wanted(id));
    rows.map(|(peer, id, title, protocol)| ListedRow { peer, id, title, source: rule(protocol).source })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_present::json::CHECK_OUTCOMES;

    #[test]
    fn outcomes_are_those_of_the_contract() {
        assert_eq!(CheckOutcome::ALL.map(CheckOutcome::word), CHECK_OUTCOMES);
    }
}
