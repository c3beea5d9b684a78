//! Tables: each column has a title, a place, and the cell of a row.
//!
//! A view lists its columns once. [`Table`] writes rows as text or as Markdown, and the HTML report
//! has them as HTML. A cell holds its text as it is: whatever writes the cell escapes it.

mod clients;
mod messages;
mod text;

use std::borrow::Cow;
use std::io::{self, Write};

use crate::report::Role;
use crate::text::Keep;

pub use clients::ClientColumns;
pub use messages::{LogColumns, LogRow};
pub use text::{FixedLayout, Style, Table, TableForm, TableLooks, paint};

/// The text of a row in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The text, which is shortened where the column is too narrow.
    pub text: String,
    /// How the text looks; a plain text looks as its column does.
    pub role: Role,
    /// Text after it that is never shortened: an age, the number of a stream.
    pub aside: String,
    /// Whether the cell takes the place of all columns after it too.
    pub is_last: bool,
}

impl Cell {
    /// Returns a cell that looks as its column does.
    pub fn new(text: impl Into<String>) -> Cell {
        Cell::role(text, Role::Plain)
    }

    /// Returns a cell with a look of its own.
    pub fn role(text: impl Into<String>, role: Role) -> Cell {
        Cell { text: text.into(), role, aside: String::new(), is_last: false }
    }

    /// Adds text that is never shortened.
    pub fn with_aside(self, aside: impl Into<String>) -> Cell {
        Cell { aside: aside.into(), ..self }
    }

    /// Takes the place of all columns that follow.
    pub fn last(self) -> Cell {
        Cell { is_last: true, ..self }
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.aside.is_empty()
    }

    /// Returns the text with what stands after it.
    pub fn full_text(&self) -> Cow<'_, str> {
        match self.aside.is_empty() {
            true => Cow::Borrowed(&self.text),
            false => Cow::Owned(format!("{} {}", self.text, self.aside)),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text)
    }
}

impl<T: Into<String>> From<(T, Role)> for Cell {
    fn from((text, role): (T, Role)) -> Cell {
        Cell::role(text, role)
    }
}

/// How a column is titled, placed and shortened.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The title; may be empty.
    pub title: Cow<'static, str>,
    /// Whether the cells are numbers, which end where the column ends.
    pub is_number: bool,
    /// The look of cells without a look of their own.
    pub role: Role,
    /// 0 for columns of each table; the others belong to a wide one.
    pub priority: u8,
    /// Whether the column is left out where no row has a text in it.
    pub is_optional: bool,
    /// The width of the column; `None`: that of its widest cell.
    pub width: Option<usize>,
    /// The width that the column keeps where a long cell before it needs room; `None`: all.
    pub least: Option<usize>,
    /// The part that a cell keeps if it is too long; `None`: it is not shortened.
    pub keep: Option<Keep>,
    /// Blanks after the column.
    pub gap: usize,
}

impl Heading {
    /// Returns the heading of a column of texts.
    pub fn new(title: impl Into<Cow<'static, str>>) -> Heading {
        Heading {
            title: title.into(),
            is_number: false,
            role: Role::Plain,
            priority: 0,
            is_optional: false,
            width: None,
            least: None,
            keep: None,
            gap: text::GAP,
        }
    }
}

/// A column of a table with rows of type `R`.
struct Column<'a, R> {
    heading: Heading,
    cell: Box<dyn Fn(&R) -> Cell + 'a>,
}

/// The columns of a table with rows of type `R`.
///
/// ```
/// use xdscope_present::report::Role;
/// use xdscope_present::table::Columns;
///
/// let columns = Columns::new()
///     .text("NAME", |row: &(&'static str, u64)| row.0)
///     .number("SIZE", |row| row.1.to_string()).role(Role::Muted);
/// assert_eq!(columns.markdown(&[("cart", 12)]), "| NAME | SIZE |\n|---|---:|\n| cart | 12 |\n");
/// ```
pub struct Columns<'a, R>(Vec<Column<'a, R>>);

impl<R> Default for Columns<'_, R> {
    fn default() -> Self {
        Columns(Vec::new())
    }
}

impl<'a, R> Columns<'a, R> {
    /// Returns a table without columns.
    pub fn new() -> Self {
        Columns::default()
    }

    /// Adds a column of texts.
    pub fn text<C: Into<Cell>>(
        mut self,
        title: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        let heading = Heading::new(title);
        self.0.push(Column { heading, cell: Box::new(move |row| cell(row).into()) });
        self
    }

    /// Adds a column of numbers.
    pub fn number<C: Into<Cell>>(
        self,
        title: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        self.text(title, cell).with(|heading| heading.is_number = true)
    }

    /// Changes the column that was added last.
    fn with(mut self, change: impl FnOnce(&mut Heading)) -> Self {
        if let Some(column) = self.0.last_mut() {
            change(&mut column.heading);
        }
        self
    }

    /// Sets the look of cells of the last column that have no look of their own.
    pub fn role(self, role: Role) -> Self {
        self.with(|heading| heading.role = role)
    }

    /// Leaves the last column to wide tables.
    pub fn wide(self) -> Self {
        self.with_priority(1)
    }

    /// Sets the priority of the last column: 0 for each table, others for wide ones.
    pub fn with_priority(self, priority: u8) -> Self {
        self.with(|heading| heading.priority = priority)
    }

    /// Adds a column of texts that is left out where no row has one.
    pub fn optional_text<C: Into<Cell>>(
        self,
        title: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        self.text(title, cell).with(|heading| heading.is_optional = true)
    }

    /// Gives the last column a width that does not depend on its cells.
    pub fn fixed(self, cells: usize) -> Self {
        self.with(|heading| heading.width = Some(cells))
    }

    /// Gives the last column a fixed width to which cells are shortened.
    pub fn cut(self, cells: usize, keep: Keep) -> Self {
        self.fixed(cells).with(|heading| heading.keep = Some(keep))
    }

    /// Lets a long cell before the last column take what the column has beyond `cells`.
    pub fn lends_beyond(self, cells: usize) -> Self {
        self.with(|heading| heading.least = Some(cells))
    }

    /// Sets the blanks after the last column.
    pub fn gap(self, gap: usize) -> Self {
        self.with(|heading| heading.gap = gap)
    }

    /// Leaves out the columns of wide tables.
    pub fn narrow(mut self) -> Self {
        self.0.retain(|column| column.heading.priority == 0);
        self
    }

    /// Returns the headings.
    pub fn headings(&self) -> Vec<Heading> {
        self.0.iter().map(|column| column.heading.clone()).collect()
    }

    /// Returns the cells of a row.
    pub fn cells(&self, row: &R) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.0.len());
        for column in &self.0 {
            let mut cell = (column.cell)(row);
            if cell.role == Role::Plain {
                cell.role = column.heading.role;
            }
            let is_last = cell.is_last;
            cells.push(cell);
            if is_last {
                break;
            }
        }
        cells
    }

    /// Writes a table as a whole; nothing without a row.
    ///
    /// # Errors
    /// The output fails.
    pub fn write(self, rows: &[R], looks: TableLooks, out: &mut dyn Write) -> io::Result<()> {
        self.filled(rows, looks, out)?.finish()
    }

    /// Writes a table as a whole; the titles alone without a row.
    ///
    /// # Errors
    /// The output fails.
    pub fn write_with_titles(self, rows: &[R], looks: TableLooks, out: &mut dyn Write) -> io::Result<()> {
        self.filled(rows, looks, out)?.finish_with_titles()
    }

    fn filled<'o>(mut self, rows: &[R], looks: TableLooks, out: &'o mut dyn Write) -> io::Result<Table<'o>> {
        let has_text = |column: &Column<'_, R>| rows.iter().any(|row| !(column.cell)(row).is_empty());
        self.0.retain(|column| !column.heading.is_optional || has_text(column));
        let mut table = Table::new(out, looks, self.headings());
        for row in rows {
            table.row(self.cells(row))?;
        }
        Ok(table)
    }

    /// Returns a table as Markdown; the titles alone without a row.
    pub fn markdown(self, rows: &[R]) -> String {
        let looks = TableLooks { style: Style::PLAIN, has_titles: true, form: TableForm::Markdown };
        let mut out = Vec::new();
        // A vector takes all bytes, and all of them come from strings.
        let written = self.write_with_titles(rows, looks, &mut out);
        debug_assert!(written.is_ok());
        String::from_utf8(out).unwrap_or_default()
    }
}
