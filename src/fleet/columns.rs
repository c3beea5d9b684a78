//! Columns of a table: each is stated once, and schema, docs and writer read the list.

use std::sync::Arc;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetColumn {
    /// The name.
    pub name: &'static str,
    /// The Parquet field id, which never changes and is never used for another column.
    pub id: i32,
    /// The type.
    pub kind: ColumnKind,
    /// Whether a row may have no value.
    pub is_optional: bool,
    /// The meaning, in Markdown: a fragment that ends with a full stop.
    about: &'static str,
}

impl FleetColumn {
    /// The last id of the columns that all tables have, in which each row has a value.
    const LAST_KEY_ID: i32 = 5;

    pub(crate) const fn new<T: CellValue>(field: &'static str, id: i32, about: &'static str) -> FleetColumn {
        let is_optional = id > FleetColumn::LAST_KEY_ID;
        FleetColumn { name: without_raw_mark(field), id, kind: T::KIND, is_optional, about }
    }

    /// Returns the meaning, in Markdown.
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }
}

/// Returns the name of a Rust field without the mark that keywords need.
const fn without_raw_mark(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// True or false.
    Boolean,
    /// 64 bits.
    Float,
    /// Microseconds since 1970, UTC.
    Timestamp,
    /// 16 bytes.
    Hash,
}

impl ColumnKind {
    /// Returns the word of the reference.
    pub fn word(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Float => "float",
            ColumnKind::Timestamp => "timestamp",
            ColumnKind::Hash => "16 bytes",
        }
    }
}

/// A value of a row, by reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// An integer or a timestamp.
    Integer(i64),
    Boolean(bool),
    Float(f64),
    Hash([u8; 16]),
}

/// A type that a field of a row may have.
pub(crate) trait CellValue {
    const KIND: ColumnKind;
    fn cell(&self) -> Cell<'_>;
}

impl<T: CellValue> CellValue for Option<T> {
    const KIND: ColumnKind = T::KIND;
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, T::cell)
    }
}

impl CellValue for Arc<str> {
    const KIND: ColumnKind = ColumnKind::Text;
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl CellValue for String {
    const KIND: ColumnKind = ColumnKind::Text;
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl CellValue for &'static str {
    const KIND: ColumnKind = ColumnKind::Text;
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

/// Numbers above `i64::MAX` are written as `i64::MAX`: SQL engines have no wider type in common.
impl CellValue for u64 {
    const KIND: ColumnKind = ColumnKind::Integer;
    fn cell(&self) -> Cell<'_> {
        Cell::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl CellValue for i64 {
    const KIND: ColumnKind = ColumnKind::Integer;
    fn cell(&self) -> Cell<'_> {
        Cell::Integer(*self)
    }
}

impl CellValue for bool {
    const KIND: ColumnKind = ColumnKind::Boolean;
    fn cell(&self) -> Cell<'_> {
        Cell::Boolean(*self)
    }
}

impl CellValue for f64 {
    const KIND: ColumnKind = ColumnKind::Float;
    fn cell(&self) -> Cell<'_> {
        Cell::Float(*self)
    }
}

/// A moment, in nanoseconds since 1970, UTC. A column holds microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub i64);

impl CellValue for Moment {
    const KIND: ColumnKind = ColumnKind::Timestamp;
    fn cell(&self) -> Cell<'_> {
        Cell::Integer(self.0.div_euclid(1_000))
    }
}

/// The hash of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ContentHash(pub u128);

impl CellValue for ContentHash {
    const KIND: ColumnKind = ColumnKind::Hash;
    fn cell(&self) -> Cell<'_> {
        Cell::Hash(self.0.to_be_bytes())
    }
}

/// A row of a table.
pub(crate) trait TableRow {
    /// Name, columns and meaning of the table.
    const TABLE: Table;
    /// Returns the value of the column with this index in [`Table::columns`].
    fn cell(&self, column: usize) -> Cell<'_>;
    /// Returns the values that rows of all tables have.
    fn key(&self) -> &RowKey;
    /// Returns the short word of the type; empty without a type.
    fn type_word(&self) -> &str;
}

/// The values that rows of all tables have: the first columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowKey {
    pub(crate) batch: Arc<str>,
    pub(crate) tap: Arc<str>,
    pub(crate) run: Arc<str>,
    pub(crate) at: Moment,
}

impl RowKey {
    /// Number of the columns.
    pub(crate) const LEN: usize = 5;

    pub(crate) const COLUMNS: [FleetColumn; RowKey::LEN] = [
        FleetColumn::new::<Arc<str>>("batch", 1, "The session file: tap, run and part."),
        FleetColumn::new::<Arc<str>>("tap", 2, "The tap."),
        FleetColumn::new::<Arc<str>>("run", 3, "The run of the tap, which may have several session files."),
        FleetColumn::new::<Moment>("ts", 4, "The time of the row."),
        FleetColumn::new::<i64>("ts_ns", 5, "The time of the row in nanoseconds since 1970, UTC."),
    ];

    pub(crate) fn cell(&self, column: usize) -> Cell<'_> {
        match column {
            0 => self.batch.cell(),
            1 => self.tap.cell(),
            2 => self.run.cell(),
            3 => self.at.cell(),
            _ => Cell::Integer(self.at.0),
        }
    }
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name, which is the name of its folder.
    pub name: &'static str,
    /// The columns, in order.
    pub columns: &'static [FleetColumn],
    /// The meaning of a row, in Markdown.
    about: &'static str,
}

impl Table {
    pub(crate) const fn new(
        name: &'static str,
        columns: &'static [FleetColumn],
        about: &'static str,
    ) -> Table {
        Table { name, columns, about }
    }

    /// Returns the meaning of a row, in Markdown.
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }
}
