//! Differences as text, a table, or objects.

use std::io::{self, Write};

use serde_json::Value;

use xdscope_engine::diff::{Change, DiffSide, LineDiff, LinePart, LineTag, Op, emphasis, fold_unchanged};
use xdscope_present::json;
use xdscope_present::report::{self, Role};
use xdscope_present::table::{Columns, Style, TableLooks, paint};
use xdscope_schema::to_yaml;
use xdscope_wire::event::TypeUrl;
use xdscope_wire::text::{count, display_safe, plural, type_label};

use super::columns::{self, CONTEXT, safe, word_role};
use super::{Count, Counts, Difference};
use crate::cli::args::{DiffArgs, Format};
use crate::cli::error::CliError;
use crate::cli::output::json_out;
use crate::cli::output::json_out::{ObjectLooks, Objects};

/// A resource, and one of its fields that differ.
type ChangeRow<'a> = (&'a Difference, Option<&'a Change>);

pub(super) struct Printer<'a> {
    pub args: &'a DiffArgs,
    pub style: Style,
    /// Width of the output.
    pub width: usize,
    pub terminal: bool,
}

impl Printer<'_> {
    pub(super) fn print(
        &self,
        found: &[Difference],
        counts: &Counts,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        if self.args.stat {
            return Ok(self.stat(counts, out)?);
        }
        match self.args.format {
            format if format.is_of_objects() => {
                let looks = ObjectLooks { table: self.looks(), terminal: self.terminal };
                let mut objects = Objects::new(out, format, looks);
                for difference in found {
                    objects.put(&object(difference))?;
                }
                objects.finish()?;
            }
            Format::Table | Format::Md => self.table(found, out)?,
            _ => {
                for difference in found {
                    self.text(difference, out)?;
                }
            }
        }
        Ok(())
    }

    /// Writes one line for each type with resources.
    fn stat(&self, counts: &Counts, out: &mut dyn Write) -> io::Result<()> {
        let number = |role: Role, sign: char, count_of: fn(&Count) -> u64| {
            move |(_, counted): &(&TypeUrl, &Count)| {
                let number = count_of(counted);
                (format!("{sign}{}", count(number)), if number > 0 { role } else { Role::Muted })
            }
        };
        let columns = Columns::new()
            .text("TYPE", |(url, _): &(&TypeUrl, &Count)| type_label(url.as_str()))
            .text("ADDED", number(Role::Added, '+', |counted| counted.added))
            .text("CHANGED", number(Role::Changed, '~', |counted| counted.changed))
            .text("REMOVED", number(Role::Removed, '-', |counted| counted.removed))
            .text("SAME", number(Role::Muted, '=', |counted| counted.same));
        let rows: Vec<(&TypeUrl, &Count)> = counts.iter().map(|((_, url), counted)| (url, counted)).collect();
        columns.write(&rows, TableLooks { has_titles: false, ..self.looks() }, out)
    }

    fn table(&self, found: &[Difference], out: &mut dyn Write) -> io::Result<()> {
        let mut rows: Vec<ChangeRow<'_>> = Vec::new();
        for difference in found {
            match &difference.comparison {
                Some(comparison) if !comparison.changes.is_empty() => {
                    rows.extend(comparison.changes.iter().map(|change| (difference, Some(change))));
                }
                _ => rows.push((difference, None)),
            }
        }
        let value = |value: Option<&Value>| value.map(one_line).unwrap_or_default();
        let columns = Columns::<ChangeRow<'_>>::new()
            .text("", |(difference, change)| {
                let op = change.map_or(difference.op, |change| change.op);
                (op.sign().to_string(), role(op))
            })
            .text("TYPE", |(difference, _)| type_label(difference.type_url.as_str()))
            .role(Role::Muted)
            .text("NAME", |(difference, _)| difference.name.to_string())
            .text("VER", |(difference, _)| self.versions(difference))
            .optional_text("OWNER", |(difference, _)| report::owners(&difference.owners))
            .text("PATH", |(_, change)| change.map(|change| change.path.to_string()).unwrap_or_default())
            .text("FROM", |(_, change)| value(change.and_then(|change| change.from.as_ref())))
            .text("TO", |(_, change)| value(change.and_then(|change| change.to.as_ref())));
        columns.write(&rows, self.looks(), out)
    }

    fn looks(&self) -> TableLooks {
        let form = self.args.format.table_form();
        TableLooks { style: self.style, has_titles: !self.args.no_headers, form }
    }

    fn versions(&self, difference: &Difference) -> String {
        let arrow = self.style.pick("→", "->");
        match (&difference.from, &difference.to) {
            (Some(from), Some(to)) if from == to => from.to_string(),
            (Some(from), Some(to)) => format!("{from} {arrow} {to}"),
            (Some(one), None) | (None, Some(one)) => one.to_string(),
            (None, None) => String::new(),
        }
    }

    fn text(&self, difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
        let label = format!("{}/{}", json::type_word(&difference.type_url), difference.name);
        let head = format!("{} {}", difference.op.sign(), display_safe(&label));
        write!(out, "{}", paint(&head, role(difference.op), self.style))?;
        let mut about = vec![self.versions(difference)];
        match (&difference.comparison, difference.op) {
            (Some(comparison), _) => about.push(fields(&comparison.changes)),
            (None, Op::Changed) => about.push("content not known".to_owned()),
            (None, op) => about.push(op.word().to_owned()),
        }
        about.push(report::owners(&difference.owners));
        about.push(difference.nodes.join(" "));
        for part in about.iter().filter(|part| !part.is_empty()) {
            write!(out, "  {}", display_safe(part))?;
        }
        writeln!(out)?;
        let Some(comparison) = &difference.comparison else { return Ok(()) };
        if self.args.unified || self.args.side_by_side {
            let lines = LineDiff::new(to_yaml(&comparison.old), to_yaml(&comparison.new));
            if self.args.side_by_side {
                return columns::write(out, &lines, "  ", self.width, self.style);
            }
            return self.unified(&lines, out);
        }
        comparison.changes.iter().try_for_each(|change| self.change(change, out))
    }

    /// Writes a path with its old and new value.
    fn change(&self, change: &Change, out: &mut dyn Write) -> io::Result<()> {
        let path = change.path.to_string();
        let order = if change.op == Op::Reordered { "  (order)" } else { "" };
        writeln!(out, "    {}{order}", display_safe(&path))?;
        for (value, sign, role) in [(&change.from, '-', Role::Removed), (&change.to, '+', Role::Added)] {
            let Some(value) = value else { continue };
            let text = if change.op == Op::Reordered { in_order(value) } else { to_yaml(value) };
            for line in text.lines() {
                let line = format!("{sign} {}", display_safe(line));
                writeln!(out, "      {}", paint(&line, role, self.style))?;
            }
        }
        Ok(())
    }

    fn unified(&self, lines: &LineDiff, out: &mut dyn Write) -> io::Result<()> {
        let rows = lines.rows();
        let changed = |at: usize| rows.get(at).is_some_and(|row| row.tag != LineTag::Same);
        for (range, fold) in fold_unchanged(rows.len(), CONTEXT, changed) {
            if fold {
                let dots = self.style.pick("…", "..");
                let text = format!("{dots} {}", plural(range.len() as u64, "unchanged line"));
                writeln!(out, "    {}", paint(&text, Role::Muted, self.style))?;
                continue;
            }
            for row in rows.get(range).unwrap_or_default() {
                let old = row.old.map(|n| lines.line(DiffSide::Old, n));
                let new = row.new.map(|n| lines.line(DiffSide::New, n));
                let (sign, role) = match row.tag {
                    LineTag::Same => (' ', Role::Plain),
                    LineTag::Removed => ('-', Role::Removed),
                    LineTag::Added => ('+', Role::Added),
                };
                let text = if row.tag == LineTag::Removed { old } else { new }.unwrap_or_default();
                let parts = match (old, new, row.tag) {
                    (Some(old), Some(new), LineTag::Removed) => emphasis(old, new).0,
                    (Some(old), Some(new), LineTag::Added) => emphasis(old, new).1,
                    _ => vec![LinePart { text, changed: false }],
                };
                write!(out, "  {}", paint(&format!("{sign} "), role, self.style))?;
                for (text, strong) in safe(parts) {
                    write!(out, "{}", paint(&text, word_role(role, strong), self.style))?;
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }
}

fn role(op: Op) -> Role {
    match op {
        Op::Added => Role::Added,
        Op::Removed => Role::Removed,
        Op::Changed | Op::Reordered => Role::Changed,
    }
}

/// Formats `2 fields changed`.
fn fields(changes: &[Change]) -> String {
    format!("{} changed", plural(changes.len() as u64, "field"))
}

/// Lists the keys of a reordered list.
fn in_order(keys: &Value) -> String {
    let keys = keys.as_array().map(Vec::as_slice).unwrap_or_default();
    keys.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// Formats a value on one line: a string as it is, anything else as JSON.
fn one_line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => json_out::line(other),
    }
}

/// Builds the `change` object.
fn object(difference: &Difference) -> Value {
    let changes = difference.comparison.as_ref().map(|c| c.changes.as_slice()).unwrap_or_default();
    json::change(&json::ChangeOf {
        type_url: &difference.type_url,
        name: &difference.name,
        op: difference.op,
        from: difference.from.as_deref(),
        to: difference.to.as_deref(),
        nodes: &difference.nodes,
        owners: &difference.owners,
        changes,
    })
}
