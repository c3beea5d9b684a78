//! The rows of a comparison, by path and by line.

use crate::common::Common;
use crate::data::BodyFormat;
use crate::widgets::canvas::{Span, StyledLine, line_width, plain, span};
use crate::widgets::layout::Layout;
use crate::widgets::syntax;
use xdscope_engine::diff::{DiffSide, LinePart, LineTag, Op, emphasis};
use xdscope_present::report::Role;
use xdscope_present::text::{pad_left, width, wrap_parts};
use xdscope_wire::text::{display_safe, plural};

use super::state::{DiffRow, DiffScreen};

/// Characters of a line that are drawn: more than a screen holds.
const MAX_LINE_CHARS: usize = 16_000;
/// The widest of two columns.
const MAX_COLUMN_WIDTH: usize = 90;

/// The scroll offset at which the last row is at the bottom of `height` lines.
pub(super) fn last_top(screen: &DiffScreen, common: &Common, layout: &Layout, height: usize) -> usize {
    let room = usize::from(layout.body.width);
    let mut used = 0;
    for (at, row) in screen.rows.iter().enumerate().rev() {
        used += lines(screen, common, *row, room).len();
        if used > height {
            return at + 1;
        }
    }
    0
}

/// The number of lines that the rows take, counted up to a few more than `most`.
pub(super) fn count_lines(screen: &DiffScreen, common: &Common, layout: &Layout, most: usize) -> usize {
    let room = usize::from(layout.body.width);
    let rows = screen.rows.iter().take(most + 1);
    rows.map(|row| lines(screen, common, *row, room).len()).sum()
}

/// The lines of a row, wrapped.
pub(super) fn lines(screen: &DiffScreen, common: &Common, row: DiffRow, room: usize) -> Vec<StyledLine> {
    let compared = &screen.compared;
    match row {
        DiffRow::Blank => vec![vec![]],
        DiffRow::Same => vec![vec![span(format!(" {}", same(screen)), Role::Ok)]],
        DiffRow::Fold(n) => {
            let text = format!("    {} {}", common.theme.glyphs().cut, plural(n as u64, "unchanged line"));
            vec![vec![span(text, Role::Muted)]]
        }
        DiffRow::Path(at) => {
            let Some(change) = compared.change(at) else { return vec![vec![]] };
            let path = display_safe(&change.path.to_string()).into_owned();
            let mut lines = wrapped("", &[(path, false)], room, Role::Title);
            if let Some(first) = lines.first_mut()
                && change.op == Op::Reordered
            {
                first.push(span("   in another order", Role::Muted));
            }
            lines
        }
        DiffRow::Value { change, new, line } => {
            let values = compared.values.get(change);
            let text = values.and_then(|[from, to]| if new { to.get(line) } else { from.get(line) });
            let (sign, role) = if new { ("  +   ", Role::Added) } else { ("  -   ", Role::Removed) };
            let text = display_safe(text.map_or("", String::as_str)).into_owned();
            wrapped(sign, &[(text, false)], room, role)
        }
        DiffRow::Line(at) => unified(screen, at, room),
        DiffRow::Pair(at) => pair(screen, common, at, room),
    }
}

/// The reason why no change is shown.
fn same(screen: &DiffScreen) -> &'static str {
    match screen.compared.comparison.reordered.is_empty() {
        _ if screen.compared.identical => "the content is the same, byte for byte",
        false => "only the order of keyed lists differs (o compares it)",
        true => "bytes differ, same meaning",
    }
}

/// Wraps parts of a line; the sign stands before the first line.
fn wrapped(sign: &str, parts: &[(String, bool)], room: usize, role: Role) -> Vec<StyledLine> {
    let room = room.saturating_sub(width(sign) + 1);
    let line = |(i, line): (usize, Vec<(String, bool)>)| -> StyledLine {
        let head = if i == 0 { sign.to_owned() } else { " ".repeat(width(sign)) };
        let head = std::iter::once(span(if head.is_empty() { " ".to_owned() } else { head }, role));
        head.chain(line.into_iter().map(|(text, strong)| word(text, strong, role))).collect()
    };
    wrap_parts(parts, room).into_iter().enumerate().map(line).collect()
}

/// A line that is in both bodies, with its syntax.
fn wrapped_lines(sign: &str, text: &str, room: usize) -> Vec<StyledLine> {
    let pieces = wrap_parts(&[(text.to_owned(), false)], room.saturating_sub(width(sign) + 1));
    let line = |(i, piece): (usize, Vec<(String, bool)>)| {
        let head = if i == 0 { sign.to_owned() } else { " ".repeat(width(sign)) };
        let text: String = piece.into_iter().map(|(text, _)| text).collect();
        std::iter::once(plain(head)).chain(syntax::colored(&text, BodyFormat::Yaml)).collect()
    };
    pieces.into_iter().enumerate().map(line).collect()
}

/// Returns a part of a changed line; a strong one is a word that differs.
fn word(text: String, strong: bool, role: Role) -> Span {
    let role = match (strong, role) {
        (true, Role::Added) => Role::AddedWord,
        (true, Role::Removed) => Role::RemovedWord,
        (_, role) => role,
    };
    span(text, role)
}

fn short(text: &str) -> &str {
    text.char_indices().nth(MAX_LINE_CHARS).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

fn safe(parts: Vec<LinePart<'_>>) -> Vec<(String, bool)> {
    parts.into_iter().map(|part| (display_safe(short(part.text)).into_owned(), part.changed)).collect()
}

/// Returns a row of the diff in one column, wrapped.
fn unified(screen: &DiffScreen, at: usize, room: usize) -> Vec<StyledLine> {
    let lines = &screen.compared.lines;
    let Some(row) = lines.rows().get(at) else { return vec![vec![]] };
    let (old, new) =
        (row.old.map(|n| lines.line(DiffSide::Old, n)), row.new.map(|n| lines.line(DiffSide::New, n)));
    if let (LineTag::Same, Some(text)) = (row.tag, old.or(new)) {
        let safe = display_safe(short(text));
        return wrapped_lines("    ", &safe, room);
    }
    let (sign, role) = match row.tag {
        LineTag::Same => ("    ", Role::Plain),
        LineTag::Removed => ("  - ", Role::Removed),
        LineTag::Added => ("  + ", Role::Added),
    };
    let parts = match (row.tag, old, new) {
        (LineTag::Removed, Some(old), Some(new)) => emphasis(old, new).0,
        (LineTag::Added, Some(old), Some(new)) => emphasis(old, new).1,
        (LineTag::Removed, text, _) | (_, _, text) => {
            vec![LinePart { text: text.unwrap_or_default(), changed: false }]
        }
    };
    wrapped(sign, &safe(parts), room, role)
}

/// Returns a row of the diff in two columns, wrapped.
fn pair(screen: &DiffScreen, common: &Common, at: usize, room: usize) -> Vec<StyledLine> {
    let lines = &screen.compared.lines;
    let Some(pair) = lines.pairs().get(at) else { return vec![vec![]] };
    let side = (room.saturating_sub(4) / 2).min(MAX_COLUMN_WIDTH);
    let bar = common.theme.glyphs().bar;
    let (old, new) =
        (pair.left.map(|n| lines.line(DiffSide::Old, n)), pair.right.map(|n| lines.line(DiffSide::New, n)));
    let whole = |text: &'_ str| vec![(display_safe(short(text)).into_owned(), false)];
    let (left, right) = match (old, new) {
        (Some(old), Some(new)) if pair.changed => {
            let (old, new) = emphasis(old, new);
            (Some(safe(old)), Some(safe(new)))
        }
        (old, new) => (old.map(whole), new.map(whole)),
    };
    let is_in_both = left.is_some() && right.is_some();
    let (removed, added) = match (pair.changed, is_in_both) {
        (false, _) => ((" ", Role::Plain), (" ", Role::Plain)),
        (true, true) => (("~", Role::Removed), ("~", Role::Added)),
        (true, false) => (("-", Role::Removed), ("+", Role::Added)),
    };
    let lines_of = |parts: Option<Vec<(String, bool)>>, number, (sign, role)| match (parts, number) {
        (Some(parts), Some(number)) => numbered(&parts, number, sign, role, side),
        _ => Vec::new(),
    };
    let left = lines_of(left, pair.left, removed);
    let right = lines_of(right, pair.right, added);
    let mut lines = Vec::new();
    for i in 0..left.len().max(right.len()).max(1) {
        let mut line = left.get(i).cloned().unwrap_or_default();
        line.push(plain(" ".repeat(side.saturating_sub(line_width(&line)))));
        line.push(span(format!(" {bar} "), Role::Muted));
        line.extend(right.get(i).cloned().unwrap_or_default());
        lines.push(line);
    }
    lines
}

/// Wraps one side of a row, with its sign and its line number, from 0 on.
fn numbered(parts: &[(String, bool)], number: u32, sign: &str, role: Role, room: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (i, line) in wrap_parts(parts, room.saturating_sub(7)).into_iter().enumerate() {
        let number = if i == 0 { (u64::from(number) + 1).to_string() } else { String::new() };
        let mut spans = vec![span(format!("{sign}{} ", pad_left(&number, 5)), Role::Muted)];
        match role {
            Role::Plain => {
                let text: String = line.into_iter().map(|(text, _)| text).collect();
                spans.extend(syntax::colored(&text, BodyFormat::Yaml));
            }
            role => spans.extend(line.into_iter().map(|(text, strong)| word(text, strong, role))),
        }
        lines.push(spans);
    }
    lines
}
