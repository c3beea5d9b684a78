//! Tables of text. A cell that is too long pushes the rest of its row to the right; nothing is cut.

use std::io::{self, Write};

use xdscope_present::report::Role;
use xdscope_present::text::{pad, pad_left, width};
use xdscope_wire::text::display_safe;

use crate::cli::terminal::io::{Style, sgr};

/// Number of rows that are laid out together; later blocks keep the widths of earlier ones.
const BLOCK: usize = 1000;

/// A cell, with control characters escaped.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    role: Role,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Cell {
        Cell::role(text, Role::Plain)
    }

    pub(crate) fn role(text: impl AsRef<str>, role: Role) -> Cell {
        Cell { text: display_safe(text.as_ref()).into_owned(), role }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text)
    }
}

/// A table that is written in blocks, so that a long one needs little memory.
pub(crate) struct Table<'a> {
    out: &'a mut dyn Write,
    style: Style,
    /// Titles; `None` once written, or with `--no-headers`.
    titles: Option<Vec<Cell>>,
    right: Vec<bool>,
    widths: Vec<usize>,
    rows: Vec<Vec<Cell>>,
}

impl<'a> Table<'a> {
    /// Creates a table. Titles that begin with `>` are those of numbers, aligned to the right.
    pub(crate) fn new(out: &'a mut dyn Write, style: Style, headers: bool, titles: &[&str]) -> Table<'a> {
        let names: Vec<&str> = titles.iter().map(|title| title.trim_start_matches('>')).collect();
        Table {
            out,
            style,
            widths: names.iter().map(|name| if headers { width(name) } else { 0 }).collect(),
            right: titles.iter().map(|title| title.starts_with('>')).collect(),
            titles: headers.then(|| names.into_iter().map(Cell::new).collect()),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        // A shorter row ends with text that spans the remaining columns.
        let measured =
            if cells.len() < self.widths.len() { cells.len().saturating_sub(1) } else { cells.len() };
        for (wide, cell) in self.widths.iter_mut().zip(cells.iter().take(measured)) {
            *wide = width(&cell.text).max(*wide);
        }
        self.rows.push(cells);
        if self.rows.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// Writes all rows so far, so that other lines can follow.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        for row in self.titles.take().into_iter().chain(std::mem::take(&mut self.rows)) {
            self.line(&row)?;
        }
        Ok(())
    }

    /// Returns the writer, for lines between rows.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    fn line(&mut self, row: &[Cell]) -> io::Result<()> {
        // Leave no blanks for empty columns at the end of a row.
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        for (i, cell) in row.iter().take(last).enumerate() {
            let wide = self.widths.get(i).copied().unwrap_or(0);
            let text = match (self.right.get(i), i + 1 == last) {
                (Some(true), _) => pad_left(&cell.text, wide),
                (_, true) => cell.text.clone(),
                (_, false) => pad(&cell.text, wide),
            };
            let gap = if i == 0 { "" } else { "  " };
            match sgr(cell.role).filter(|_| self.style.color) {
                Some(sgr) => write!(self.out, "{gap}\x1b[{sgr}m{text}\x1b[0m")?,
                None => write!(self.out, "{gap}{text}")?,
            }
        }
        writeln!(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(style: Style, headers: bool, rows: &[&[(&str, Role)]]) -> String {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, style, headers, &["NAME", ">SIZE", "NOTE"]);
        for row in rows {
            table.row(row.iter().map(|(text, role)| Cell::role(text, *role)).collect()).unwrap();
        }
        table.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    const PLAIN: Style = Style { color: false, ascii: false };

    #[test]
    fn columns_line_up_by_cells_and_end_without_blanks() {
        let p = Role::Plain;
        let text = table(
            PLAIN,
            true,
            &[&[("名前", p), ("1 B", p), ("", p)], &[("a\tb", p), ("12 kB", p), ("x", p)]],
        );
        assert_eq!(text, "NAME   SIZE  NOTE\n名前    1 B\na\\tb  12 kB  x\n");
        assert_eq!(table(PLAIN, false, &[&[("a", p), ("1", p), ("b", p)]]), "a  1  b\n");
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let style = Style { color: true, ascii: false };
        let text = table(style, false, &[&[("a", Role::Bad), ("\x1b[2J", Role::Plain)]]);
        assert_eq!(text, "\x1b[1;31ma\x1b[0m  \\x1b[2J\n");
    }

    #[test]
    fn writes_long_tables_in_blocks() {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, PLAIN, true, &["A", "B"]);
        for i in 0..BLOCK {
            table.row(vec![Cell::new(i.to_string()), "x".into()]).unwrap();
        }
        assert!(table.rows.is_empty() && table.titles.is_none());
        table.row(vec!["1".into(), "y".into()]).unwrap();
        table.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), BLOCK + 2);
        assert_eq!(text.lines().last(), Some("1    y"));
    }
}
