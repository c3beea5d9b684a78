use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::text::name;

/// The part to keep of a text that is too long for its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning, for errors and sentences. Names with a known structure are shortened first.
    Head,
    /// Both ends, for sentences that end with a reason. Names with a known structure are shortened
    /// first.
    Reason,
    /// The end, for versions and nonces.
    Tail,
    /// Both ends.
    Ends,
    /// The parts that tell a name apart (see [`super::cut_name`]).
    Name,
}

/// Returns the number of terminal cells that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Whether a text takes at most `cells` cells. Does not measure a long text to its end.
pub(super) fn fits(text: &str, cells: usize) -> bool {
    text.len() <= cells || (head(text, cells).len() == text.len() && text.width() <= cells)
}

/// Cuts a text to at most `cells` cells, with `mark` (`…`, or `..` in ASCII) for the omitted part.
pub fn cut<'a>(text: &'a str, cells: usize, keep: Keep, mark: &str) -> Cow<'a, str> {
    if fits(text, cells) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match (keep, cells.checked_sub(mark.width())) {
        (Keep::Name, _) => name::cut_name(text, cells, mark).into_owned(),
        (Keep::Head, _) => name::cut_words(text, cells, mark),
        (Keep::Reason, _) => name::cut_middle(text, cells, mark),
        (_, None) => head(text, cells).to_owned(),
        (Keep::Tail, Some(room)) => format!("{mark}{}", tail(text, room)),
        (Keep::Ends, Some(room)) => {
            format!("{}{mark}{}", head(text, room.div_ceil(2)), tail(text, room / 2))
        }
    })
}

/// Cuts the end off a text that does not fit.
pub(super) fn cut_end(text: &str, cells: usize, mark: &str) -> String {
    match cells.checked_sub(mark.width()) {
        Some(room) => format!("{}{mark}", head(text, room)),
        None => head(text, cells).to_owned(),
    }
}

/// Adds blanks after a text up to `cells` cells. Longer texts stay the same.
pub fn pad(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(text.width())))
}

/// Adds blanks before a text up to `cells` cells. Longer texts stay the same.
pub fn pad_left(text: &str, cells: usize) -> String {
    format!("{}{text}", " ".repeat(cells.saturating_sub(text.width())))
}

/// Breaks a text into lines of at most `cells` cells (at least 1), at blanks where possible.
///
/// Never returns an empty list: an empty text is one empty line.
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        // Measure only the text of this line: a text may have megabytes.
        let fits = head(rest, cells);
        if fits.len() == rest.len() {
            break;
        }
        // A character wider than the line still takes a line.
        let fits = if fits.is_empty() { first_char(rest) } else { fits };
        let next_is_blank = rest[fits.len()..].starts_with(' ');
        let line = match fits.rfind(' ') {
            Some(at) if !next_is_blank && !fits[..at].trim().is_empty() => &fits[..at],
            _ => fits,
        };
        lines.push(line.to_owned());
        rest = rest[line.len()..].trim_start_matches(' ');
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// Breaks a text in pieces into lines of at most `cells` cells (at least 8), at any character.
///
/// Later lines are indented by two cells more than the first one. Never returns an empty list.
pub fn wrap_parts(parts: &[(String, bool)], cells: usize) -> Vec<Vec<(String, bool)>> {
    let cells = cells.max(8);
    let blanks: usize = match parts.first() {
        Some((text, _)) => text.len() - text.trim_start_matches(' ').len(),
        None => 0,
    };
    let hang = " ".repeat((blanks + 2).min(cells / 2));
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
    for (text, mark) in parts {
        let mut piece = String::new();
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > cells {
                line.push((std::mem::take(&mut piece), *mark));
                lines.push(std::mem::replace(&mut line, vec![(hang.clone(), false)]));
                used = hang.len();
            }
            used += wide;
            piece.push(c);
        }
        line.push((piece, *mark));
    }
    lines.push(line);
    lines
}

fn first_char(text: &str) -> &str {
    text.char_indices().nth(1).map_or(text, |(at, _)| &text[..at])
}

/// Returns the longest beginning that fits.
pub(super) fn head(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > cells {
            return &text[..at];
        }
    }
    text
}

/// Returns the longest end that fits.
fn tail(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > cells {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_keeps_the_chosen_part() {
        assert_eq!(cut("short", 5, Keep::Head, "…"), "short");
        assert_eq!(cut("Error adding", 8, Keep::Head, "…"), "Error a…");
        assert_eq!(cut("2026-03-02T14:01:58Z/42", 8, Keep::Tail, "…"), "…:58Z/42");
        assert_eq!(cut("outbound|9080||reviews.local", 11, Keep::Ends, "…"), "outbo…local");
        assert_eq!(cut("abcdef", 4, Keep::Head, ".."), "ab..");
        assert_eq!(cut("abcdef", 1, Keep::Head, ".."), "a");
    }

    #[test]
    fn wrap_keeps_every_word() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a 名名", 3), ["a", "名", "名"]);
        // Three cells wide: takes a line alone, although it does not fit.
        assert_eq!(wrap("a\u{17d8}b", 2), ["a", "\u{17d8}", "b"]);
    }

    proptest::proptest! {
        #[test]
        fn cut_and_wrap_fit_their_cells(text in "\\PC{0,60}", cells in 0usize..40) {
            for keep in [Keep::Head, Keep::Reason, Keep::Tail, Keep::Ends, Keep::Name] {
                proptest::prop_assert!(cut(&text, cells, keep, "…").width() <= cells);
            }
            // No character is wider than three cells.
            for line in wrap(&text, cells.max(3)) {
                proptest::prop_assert!(line.width() <= cells.max(3));
            }
            let joined: String = wrap(&text, cells).concat();
            proptest::prop_assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
