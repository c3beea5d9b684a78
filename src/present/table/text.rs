//! Tables as text for a terminal, and as Markdown.

use std::borrow::Cow;
use std::io::{self, Write};

use xdscope_wire::text::display_safe;

use super::{Cell, Heading};
use crate::report::Role;
use crate::text::{Keep, cut, markdown, pad, pad_left, width, workload};

/// Blanks between columns.
pub(super) const GAP: usize = 2;
/// Number of rows that are laid out together; later blocks keep the widths of earlier ones.
const BLOCK: usize = 1000;

/// Colours and symbols that output may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether text has colours.
    pub color: bool,
    /// Whether text has no character beyond ASCII.
    pub ascii: bool,
}

impl Style {
    /// Text without colours.
    pub const PLAIN: Style = Style { color: false, ascii: false };

    /// Returns the Unicode or the ASCII form of a symbol.
    pub fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.ascii { ascii } else { unicode }
    }

    fn cut_mark(self) -> &'static str {
        self.pick("…", "..")
    }
}

/// Returns a text in the colour of its role, if the output has colours.
pub fn paint(text: &str, role: Role, style: Style) -> Cow<'_, str> {
    match sgr(role) {
        Some(sgr) if style.color => Cow::Owned(format!("\x1b[{sgr}m{text}\x1b[0m")),
        _ => Cow::Borrowed(text),
    }
}

/// Returns the SGR parameters of a role, in the 16 colours of the terminal.
fn sgr(role: Role) -> Option<&'static str> {
    match role {
        Role::Plain | Role::Name | Role::Value => None,
        Role::Title | Role::Key => Some("1"),
        Role::Muted => Some("2"),
        Role::Ok | Role::Added => Some("32"),
        Role::Pending => Some("36"),
        Role::Warn | Role::Changed => Some("33"),
        Role::Bad => Some("1;31"),
        Role::Removed => Some("31"),
        Role::AddedWord => Some("32;4"),
        Role::RemovedWord => Some("31;4"),
        Role::Wire => Some("7;35"),
    }
}

/// The language of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Columns that line up.
    Text,
    /// A table of GitHub Flavored Markdown.
    Markdown,
}

/// How a table is written.
#[derive(Clone, Copy, Debug)]
pub struct TableLooks {
    /// Colours and symbols.
    pub style: Style,
    /// Whether titles stand above the first row.
    pub has_titles: bool,
    /// The language.
    pub form: TableForm,
}

/// A table that is written in blocks, so that a long one needs little memory.
///
/// A cell that is too long pushes the rest of its row to the right; nothing is cut.
pub struct Table<'a> {
    out: &'a mut dyn Write,
    looks: TableLooks,
    headings: Vec<Heading>,
    widths: Vec<usize>,
    rows: Vec<Vec<Cell>>,
    has_begun: bool,
}

impl<'a> Table<'a> {
    /// Creates a table.
    pub fn new(out: &'a mut dyn Write, looks: TableLooks, headings: Vec<Heading>) -> Table<'a> {
        let title_width = |heading: &Heading| if looks.has_titles { width(&heading.title) } else { 0 };
        let widths = headings.iter().map(title_width).collect();
        Table { out, looks, headings, widths, rows: Vec::new(), has_begun: false }
    }

    /// Adds a row, which is written with its block.
    ///
    /// # Errors
    /// The output fails.
    pub fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        for (widest, cell) in self.widths.iter_mut().zip(&cells).filter(|(_, cell)| !cell.is_last) {
            *widest = width(&display_safe(&cell.full_text())).max(*widest);
        }
        self.rows.push(cells);
        if self.rows.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// Writes all rows so far, so that other lines can follow.
    ///
    /// # Errors
    /// The output fails.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.has_begun && !self.rows.is_empty() {
            self.begin()?;
        }
        for row in std::mem::take(&mut self.rows) {
            let line = self.line(&row);
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn line(&self, row: &[Cell]) -> String {
        match self.looks.form {
            TableForm::Text => join(&self.headings, &self.widths, row, self.looks.style),
            TableForm::Markdown => markdown_row(row, self.headings.len()),
        }
    }

    /// Writes the titles. Markdown has no table without a row of titles.
    fn begin(&mut self) -> io::Result<()> {
        self.has_begun = true;
        let is_markdown = self.looks.form == TableForm::Markdown;
        let title = |heading: &Heading| if self.looks.has_titles { title(heading) } else { Cell::new("") };
        if self.looks.has_titles || is_markdown {
            let titles = self.line(&self.headings.iter().map(title).collect::<Vec<_>>());
            writeln!(self.out, "{titles}")?;
        }
        if is_markdown {
            let rule = |heading: &Heading| if heading.is_number { "---:|" } else { "---|" };
            let rules: String = self.headings.iter().map(rule).collect();
            writeln!(self.out, "|{rules}")?;
        }
        Ok(())
    }

    /// Returns the writer, for lines between rows.
    pub fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    /// Writes the last rows. A table without a row has no titles either.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    /// Writes the last rows, or the titles alone.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish_with_titles(mut self) -> io::Result<()> {
        self.flush()?;
        if self.has_begun { Ok(()) } else { self.begin() }
    }
}

/// A layout with columns of fixed widths, so that rows can be written one by one.
#[derive(Clone, Debug)]
pub struct FixedLayout {
    /// The columns, each with a width.
    pub headings: Vec<Heading>,
    /// Colours and symbols.
    pub style: Style,
    /// Whether cells that are too long are shortened, as on a terminal.
    pub is_cut: bool,
}

impl FixedLayout {
    /// Returns the line of titles.
    pub fn titles(&self) -> String {
        let titles: Vec<Cell> = self.headings.iter().map(title).collect();
        join(&self.headings, &self.widths(&titles), &titles, self.style)
    }

    /// Returns the line of a row.
    pub fn line(&self, cells: &[Cell]) -> String {
        let widths = self.widths(cells);
        let mut cells = cells.to_vec();
        if !self.is_cut {
            for (cell, heading) in cells.iter_mut().zip(&self.headings) {
                if heading.keep == Some(Keep::Name)
                    && let Some(workload) = workload(&cell.text)
                {
                    cell.text = workload.to_owned();
                }
            }
            return join(&self.headings, &widths, &cells, self.style);
        }
        for ((cell, heading), cells) in cells.iter_mut().zip(&self.headings).zip(&widths) {
            let Some(keep) = heading.keep else { continue };
            let beside = if cell.aside.is_empty() { 0 } else { width(&cell.aside) + 1 };
            let room = cells.saturating_sub(beside);
            cell.text = cut(&display_safe(&cell.text), room, keep, self.style.cut_mark()).into_owned();
        }
        join(&self.headings, &widths, &cells, self.style)
    }

    /// Returns the width of each column in a row. A long cell takes room that the next one does not
    /// need.
    pub fn widths(&self, cells: &[Cell]) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        let mut taken = 0;
        for (at, heading) in self.headings.iter().enumerate() {
            let own = heading.width.unwrap_or(0) - taken;
            let needed = cells.get(at).map_or(0, cell_width);
            taken = 0;
            if let (Some(next), Some(cell)) = (self.headings.get(at + 1), cells.get(at + 1))
                && let (Some(width), Some(least)) = (next.width, next.least)
            {
                taken = needed.saturating_sub(own).min(width - cell_width(cell).min(least));
            }
            widths.push(own + taken);
        }
        widths
    }
}

fn cell_width(cell: &Cell) -> usize {
    width(&display_safe(&cell.full_text()))
}

fn title(heading: &Heading) -> Cell {
    Cell::new(heading.title.as_ref())
}

/// Joins the cells of a row with blanks between them.
fn join(headings: &[Heading], widths: &[usize], row: &[Cell], style: Style) -> String {
    // Leave no blanks for empty columns at the end of a row.
    let mut out = String::new();
    let Some(last) = row.iter().rposition(|cell| !cell.is_empty()) else { return out };
    for (at, ((cell, heading), cells)) in row.iter().zip(headings).zip(widths).enumerate().take(last + 1) {
        let full = cell.full_text();
        let safe = display_safe(&full);
        let text = match heading.is_number {
            true => pad_left(&safe, *cells),
            false if at == last => safe.into_owned(),
            false => pad(&safe, *cells),
        };
        out.push_str(&paint(&text, cell.role, style));
        if at < last {
            out.push_str(&" ".repeat(heading.gap));
        }
    }
    out
}

/// Returns a row of a Markdown table; a short one ends with empty cells.
fn markdown_row(row: &[Cell], columns: usize) -> String {
    let mut out = String::from("|");
    for at in 0..columns {
        let text = row.get(at).map(|cell| markdown(&cell.full_text())).unwrap_or_default();
        let blank = if text.is_empty() { "" } else { " " };
        out.push_str(&format!("{blank}{text} |"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Columns;

    fn table(looks: TableLooks, rows: &[[(&str, Role); 3]]) -> String {
        let columns = Columns::new()
            .text("NAME", |row: &[(&str, Role); 3]| row[0])
            .number("SIZE", |row| row[1])
            .text("NOTE", |row| row[2]);
        let mut out = Vec::new();
        columns.write(rows, looks, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    const TEXT: TableLooks = TableLooks { style: Style::PLAIN, has_titles: true, form: TableForm::Text };
    const P: Role = Role::Plain;

    #[test]
    fn columns_line_up_by_cells_and_end_without_blanks() {
        let text = table(TEXT, &[[("名前", P), ("1 B", P), ("", P)], [("a\tb", P), ("12 kB", P), ("x", P)]]);
        assert_eq!(text, "NAME   SIZE  NOTE\n名前    1 B\na\\tb  12 kB  x\n");
        let untitled = TableLooks { has_titles: false, ..TEXT };
        assert_eq!(table(untitled, &[[("a", P), ("1", P), ("b", P)]]), "a  1  b\n");
        assert_eq!(table(TEXT, &[]), "", "no titles without a row");
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let style = Style { color: true, ascii: false };
        let looks = TableLooks { style, has_titles: false, ..TEXT };
        let text = table(looks, &[[("a", Role::Bad), ("\x1b[2J", P), ("", P)]]);
        assert_eq!(text, "\x1b[1;31ma\x1b[0m  \\x1b[2J\n");
    }

    #[test]
    fn markdown_has_titles_and_shows_markup_as_text() {
        let looks = TableLooks { form: TableForm::Markdown, ..TEXT };
        let rows = [[("a|b", P), ("1", P), ("", P)]];
        assert_eq!(table(looks, &rows), "| NAME | SIZE | NOTE |\n|---|---:|---|\n| a\\|b | 1 | |\n");
        let untitled = TableLooks { has_titles: false, ..looks };
        assert_eq!(table(untitled, &rows), "| | | |\n|---|---:|---|\n| a\\|b | 1 | |\n");
    }

    #[test]
    fn long_tables_are_written_in_blocks() {
        let mut out = Vec::new();
        let headings = ["A", "B"].map(Heading::new).to_vec();
        let mut table = Table::new(&mut out, TEXT, headings);
        for i in 0..BLOCK {
            table.row(vec![Cell::new(i.to_string()), "x".into()]).unwrap();
        }
        assert!(table.rows.is_empty() && table.has_begun);
        table.row(vec!["1".into(), "y".into()]).unwrap();
        table.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), BLOCK + 2);
        assert_eq!(text.lines().last(), Some("1    y"));
    }
}
