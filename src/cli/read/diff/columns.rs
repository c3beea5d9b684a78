//! Two texts side by side.

use std::io::{self, Write};

use xdscope_engine::diff::{DiffSide, LineDiff, LinePart, SideBySideRow, emphasis, fold_unchanged};
use xdscope_present::report::Role;
use xdscope_present::table::{Style, paint};
use xdscope_present::text::{pad_left, width as cells, wrap_parts};
use xdscope_wire::text::{display_safe, plural};

use crate::cli::terminal::io::Io;

/// Largest width of a column.
const WIDEST: usize = 90;
/// Smallest width of a column.
const NARROWEST: usize = 24;
/// Width of the output without a terminal.
const WIDTH: usize = 120;
/// Number of unchanged lines around a change.
pub(super) const CONTEXT: usize = 3;

/// Returns the width of the terminal.
pub(super) fn width(io: &Io<'_>) -> usize {
    io.columns().unwrap_or(WIDTH)
}

/// A line in pieces, with control characters escaped.
pub(super) fn safe(parts: Vec<LinePart<'_>>) -> Vec<(String, bool)> {
    parts.into_iter().map(|part| (display_safe(part.text).into_owned(), part.changed)).collect()
}

/// Returns the role of words in a line; `strong` marks changed ones.
pub(super) fn word_role(role: Role, strong: bool) -> Role {
    match (strong, role) {
        (true, Role::Added) => Role::AddedWord,
        (true, Role::Removed) => Role::RemovedWord,
        (_, role) => role,
    }
}

pub(super) fn write(
    out: &mut dyn Write,
    diff: &LineDiff,
    indent: &str,
    columns: usize,
    style: Style,
) -> io::Result<()> {
    let side = (columns.saturating_sub(indent.len() + 3) / 2).clamp(NARROWEST, WIDEST);
    let bar = style.pick("│", "|");
    let pairs = diff.pairs();
    let changed = |at: usize| pairs.get(at).is_some_and(|pair| pair.changed);
    for (range, fold) in fold_unchanged(pairs.len(), CONTEXT, changed) {
        if fold {
            let text = format!("{} {}", style.pick("…", ".."), plural(range.len() as u64, "unchanged line"));
            writeln!(out, "{indent}{}", paint(&text, Role::Muted, style))?;
            continue;
        }
        for pair in pairs.get(range).unwrap_or_default() {
            let (left, right) = halves(diff, pair, side);
            for at in 0..left.len().max(right.len()) {
                let (left, used) = cell(left.get(at), Role::Removed, pair.changed, style);
                let (right, _) = cell(right.get(at), Role::Added, pair.changed, style);
                let line = format!("{indent}{left}{} {bar} {right}", " ".repeat(side.saturating_sub(used)));
                writeln!(out, "{}", line.trim_end())?;
            }
        }
    }
    Ok(())
}

type ColumnLine = Vec<(String, bool)>;

/// Writes both halves of a row, wrapped.
fn halves(diff: &LineDiff, pair: &SideBySideRow, side: usize) -> (Vec<ColumnLine>, Vec<ColumnLine>) {
    let (old, new) =
        (pair.left.map(|n| diff.line(DiffSide::Old, n)), pair.right.map(|n| diff.line(DiffSide::New, n)));
    let plain = |text| vec![LinePart { text, changed: false }];
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) if pair.changed => {
            let (old, new) = emphasis(old, new);
            (Some(old), Some(new))
        }
        (old, new) => (old.map(plain), new.map(plain)),
    };
    let wrapped = |parts: Option<Vec<LinePart<'_>>>, number: Option<u32>, mark: &str| -> Vec<ColumnLine> {
        let (Some(parts), Some(number)) = (parts, number) else { return Vec::new() };
        let mark = if pair.changed { mark } else { " " };
        let lines = wrap_parts(&safe(parts), side.saturating_sub(7));
        let lines = lines.into_iter().enumerate().map(|(at, line)| {
            let number = if at == 0 { (u64::from(number) + 1).to_string() } else { String::new() };
            let head = format!("{mark}{} ", pad_left(&number, 5));
            std::iter::once((head, false)).chain(line).collect()
        });
        lines.collect()
    };
    let both = pair.left.is_some() && pair.right.is_some();
    (
        wrapped(old, pair.left, if both { "~" } else { "-" }),
        wrapped(new, pair.right, if both { "~" } else { "+" }),
    )
}

/// A printed line, and its width.
fn cell(line: Option<&ColumnLine>, role: Role, changed: bool, style: Style) -> (String, usize) {
    let role = if changed { role } else { Role::Plain };
    let parts = line.map(Vec::as_slice).unwrap_or_default();
    let text = parts.iter().map(|(text, strong)| paint(text, word_role(role, *strong), style)).collect();
    (text, parts.iter().map(|(text, _)| cells(text)).sum())
}
