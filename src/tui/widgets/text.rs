//! Long texts: bounded, wrapped, and as plain lines.

use xdscope_present::report::Role;
use xdscope_present::text::{width, wrap};
use xdscope_wire::text::{display_safe, size};

use super::canvas::{Span, StyledLine, span};

/// Bytes of one text that are laid out. A peer may send megabytes.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// The part of a text that is laid out, and a remark about the rest of a very long one.
pub(crate) fn bounded(text: &str) -> (&str, Option<String>) {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (head, rest) = text.split_at(end);
    let more = format!("({} more: v on screen 3 shows the message)", size(rest.len() as u64));
    (head, if rest.is_empty() { None } else { Some(more) })
}

/// Wrapped lines with a label beside the first one and blanks beside the others.
pub(crate) fn hanging(label: Span, lines: Vec<String>, role: Role) -> Vec<StyledLine> {
    let indent = Span { text: " ".repeat(width(&label.text)), ..label.clone() };
    let labels = std::iter::once(label).chain(std::iter::repeat(indent));
    labels.zip(lines).map(|(label, line)| vec![label, span(line, role)]).collect()
}

/// A label and a text of any length, wrapped under itself.
pub(crate) fn field(label: &str, value: &str, role: Role, room: usize) -> Vec<StyledLine> {
    let (head, more) = bounded(value);
    let mut lines = wrap(&display_safe(head), room.saturating_sub(width(label) + 1).max(16));
    lines.extend(more);
    hanging(span(label, Role::Muted), lines, role)
}

/// A text wrapped in `room` columns, with as many blanks on either side.
pub(crate) fn paragraph(text: &str, blanks: usize, role: Role, room: usize) -> Vec<StyledLine> {
    let lines = wrap(&display_safe(text), room.saturating_sub(2 * blanks)).into_iter();
    lines.map(|line| vec![span(format!("{}{line}", " ".repeat(blanks)), role)]).collect()
}

/// A text of any length with the line ends of its own, wrapped.
pub(crate) fn long_text(text: &str, role: Role, room: usize) -> Vec<StyledLine> {
    let (head, more) = bounded(text);
    let mut lines: Vec<StyledLine> =
        head.split('\n').flat_map(|part| paragraph(part, 1, role, room)).collect();
    lines.extend(more.map(|more| vec![span(format!(" {more}"), Role::Muted)]));
    lines
}

/// The texts of styled lines.
pub(crate) fn plain_lines(lines: Vec<StyledLine>) -> Vec<String> {
    lines.into_iter().map(|line| line.into_iter().map(|span| span.text).collect()).collect()
}

/// The texts of the cells of a row.
pub(crate) fn texts(cells: &[Span]) -> Vec<String> {
    cells.iter().map(|cell| cell.text.trim().to_owned()).collect()
}

/// The cells of a row as one line of text, uncut.
pub(crate) fn plain_row(cells: &StyledLine) -> String {
    let words = cells.iter().map(|cell| cell.text.trim()).filter(|word| !word.is_empty());
    words.map(|word| display_safe(word).into_owned()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lays_out_a_bounded_part_of_a_long_text() {
        assert_eq!(bounded("short"), ("short", None));
        let long = "é".repeat(MAX_TEXT_BYTES);
        let (head, more) = bounded(&long);
        assert_eq!(head.len(), MAX_TEXT_BYTES);
        assert_eq!(more.as_deref(), Some("(66 kB more: v on screen 3 shows the message)"));
        assert_eq!(field("a", &long, Role::Plain, 66).len(), MAX_TEXT_BYTES / 2 / 64 + 1);
    }
}
