//! Long texts: bounded, wrapped, and as plain lines.

use xdscope_present::report::Role;
use xdscope_present::text::wrap;
use xdscope_wire::text;
use xdscope_wire::text::size;

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
    let more = || format!("({} more: v on screen 3 shows the message)", size(rest.len() as u64));
    (head, (!rest.is_empty()).then(more))
}

/// A label and a text of any length, wrapped under itself.
pub(crate) fn field(label: &str, value: &str, role: Role, width: usize) -> Vec<StyledLine> {
    let indent = xdscope_present::text::width(label);
    let (head, more) = bounded(value);
    let mut wrapped = wrap(&text::display_safe(head), width.saturating_sub(indent + 1).max(16));
    wrapped.extend(more);
    let line = |(i, text): (usize, String)| {
        let label = if i == 0 { label.to_owned() } else { " ".repeat(indent) };
        vec![span(label, Role::Muted), span(text, role)]
    };
    wrapped.into_iter().enumerate().map(line).collect()
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
    words.map(|word| text::display_safe(word).into_owned()).collect::<Vec<_>>().join("  ")
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
