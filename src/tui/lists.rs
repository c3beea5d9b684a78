//! Lists: their order, their columns, and a list as text.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use xdscope_engine::store::TypeState;
use xdscope_present::report::{severity, state_word};
use xdscope_present::table::Columns;

use super::input::screen_id::ScreenId;
use super::widgets::canvas::Span;
use super::widgets::table::Column;

/// Rows of a list that are copied as a table.
pub(crate) const MAX_COPIED_ROWS: usize = 10_000;

/// An order of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Worst,
    Name,
    Newest,
    Column(ColumnSort),
}

/// The order by the cells of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSort {
    pub title: Arc<str>,
    pub is_descending: bool,
}

impl Sort {
    /// The order in words: `problems first`, `by SIZE, descending`.
    pub fn words(&self) -> String {
        match self {
            Sort::Worst => "problems first".to_owned(),
            Sort::Name => "by name".to_owned(),
            Sort::Newest => "newest first".to_owned(),
            Sort::Column(by) => {
                let direction = if by.is_descending { "descending" } else { "ascending" };
                format!("by {}, {direction}", by.title)
            }
        }
    }

    /// The column that decides, if one does.
    pub fn column(&self) -> Option<&ColumnSort> {
        match self {
            Sort::Column(by) => Some(by),
            _ => None,
        }
    }
}

/// The order that was chosen for each screen.
#[derive(Clone, Debug, Default)]
pub struct Sorts(HashMap<ScreenId, Sort>);

impl Sorts {
    pub fn get(&self, screen: ScreenId) -> Sort {
        self.0.get(&screen).cloned().unwrap_or_default()
    }

    pub fn set(&mut self, screen: ScreenId, by: Sort) {
        self.0.insert(screen, by);
    }
}

/// The columns that were taken off, by screen.
#[derive(Clone, Debug, Default)]
pub struct HiddenColumns(HashMap<ScreenId, BTreeSet<String>>);

impl HiddenColumns {
    pub fn is_hidden(&self, screen: ScreenId, title: &str) -> bool {
        self.0.get(&screen).is_some_and(|hidden| hidden.contains(title))
    }

    /// The hidden titles of a screen.
    pub fn titles(&self, screen: ScreenId) -> BTreeSet<String> {
        self.0.get(&screen).cloned().unwrap_or_default()
    }

    /// Hides a column, or shows the column again.
    pub fn toggle(&mut self, screen: ScreenId, title: &str) {
        let hidden = self.0.entry(screen).or_default();
        if !hidden.remove(title) {
            hidden.insert(title.to_owned());
        }
    }

    /// Leaves hidden columns out of a table.
    pub(crate) fn hide(&self, screen: ScreenId, columns: &mut [Column]) {
        for column in columns.iter_mut().filter(|column| self.is_hidden(screen, column.title)) {
            (column.min, column.max) = (0, 0);
        }
    }
}

/// A list as titles and cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    pub titles: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    /// The table in Markdown, without hidden columns.
    pub(crate) fn markdown(&self, screen: ScreenId, hidden: &HiddenColumns) -> String {
        let mut columns = Columns::<Vec<String>>::new();
        for (at, title) in self.titles.iter().enumerate() {
            if !hidden.is_hidden(screen, title.trim()) {
                let cell = move |row: &Vec<String>| row.get(at).map_or("", |text| text.trim()).to_owned();
                columns = columns.text(title.trim().to_owned(), cell);
            }
        }
        columns.markdown(&self.rows)
    }
}

/// The value of a cell: a state by severity, a number with its unit, a text, or nothing.
#[derive(Clone, Debug, PartialEq)]
enum CellValue {
    Number(f64),
    Text(String),
    Missing,
}

impl CellValue {
    /// Reads a cell as a number with a unit, or as text.
    fn parse(cell: &str) -> CellValue {
        let cell = cell.trim();
        if cell.is_empty() || cell == "-" {
            return CellValue::Missing;
        }
        let words = || cell.split_whitespace();
        let is_word = |word: &str, state: TypeState| {
            word.split('×').next().unwrap_or(word).eq_ignore_ascii_case(state_word(state).0)
        };
        let state =
            TypeState::ALL.into_iter().find(|state| words().take(2).any(|word| is_word(word, *state)));
        if let Some(state) = state {
            // Within a state, the oldest comes first.
            let age = words().filter_map(number).next_back().unwrap_or(0.0);
            return CellValue::Number(f64::from(severity(state)) * 1e12 - age);
        }
        let mut parts = words();
        let first = parts.next().unwrap_or("").trim_start_matches('#');
        let second = parts.next().unwrap_or("");
        let with_unit = number(&format!("{first}{second}")).or_else(|| number(first));
        with_unit.map_or_else(|| CellValue::Text(cell.to_lowercase()), CellValue::Number)
    }

    /// Compares two cells. Cells without a value come last in both directions.
    fn compare(&self, other: &CellValue, is_descending: bool) -> Ordering {
        let order = match (self, other) {
            (CellValue::Missing, CellValue::Missing) => return Ordering::Equal,
            // An empty cell comes last in either direction.
            (CellValue::Missing, _) => return Ordering::Greater,
            (_, CellValue::Missing) => return Ordering::Less,
            (CellValue::Number(left), CellValue::Number(right)) => left.total_cmp(right),
            (CellValue::Number(_), CellValue::Text(_)) => Ordering::Less,
            (CellValue::Text(_), CellValue::Number(_)) => Ordering::Greater,
            (CellValue::Text(left), CellValue::Text(right)) => left.cmp(right),
        };
        if is_descending { order.reverse() } else { order }
    }
}

/// A number with a unit of time or size, as the screens write it: `9m`, `312 kB`, `1,204`.
fn number(word: &str) -> Option<f64> {
    let word = word.trim_start_matches(['+', '~']);
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    // The first unit of an age in two units decides.
    let unit = rest.split(|c: char| c.is_ascii_digit()).next().unwrap_or(rest);
    let value: f64 = digits.replace(',', "").parse().ok()?;
    let factor = match unit {
        "" | "s" | "B" => 1.0,
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    Some(value * factor)
}

/// Sorts rows by a cell of each. Rows with equal cells keep their order.
pub(crate) fn sort_rows<T>(rows: &mut Vec<T>, is_descending: bool, cell: impl Fn(&T) -> String) {
    let mut keyed: Vec<(CellValue, T)> =
        rows.drain(..).map(|row| (CellValue::parse(&cell(&row)), row)).collect();
    keyed.sort_by(|(left, _), (right, _)| left.compare(right, is_descending));
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

/// Sorts rows by the cells of the chosen one of these columns.
pub(crate) fn sort_by_column<T>(
    rows: &mut Vec<T>,
    by: &ColumnSort,
    columns: &[Column],
    cells: impl Fn(&T) -> Vec<Span>,
) {
    let at = columns.iter().position(|column| column.title == &*by.title).unwrap_or(0);
    let cell = |row: &T| cells(row).get(at).map(|cell| cell.text.clone()).unwrap_or_default();
    sort_rows(rows, by.is_descending, cell);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(cells: &[&str], is_descending: bool) -> Vec<String> {
        let mut rows: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        sort_rows(&mut rows, is_descending, Clone::clone);
        rows
    }

    #[test]
    fn sorts_numbers_by_value_and_states_by_severity() {
        assert_eq!(
            sorted(&["9m ago", "41s ago", "-", "2h ago"], false),
            ["41s ago", "9m ago", "2h ago", "-"]
        );
        assert_eq!(sorted(&["9m ago", "-", "2h ago"], true), ["2h ago", "9m ago", "-"]);
        assert_eq!(sorted(&["312 kB", "1.1 MB", "900 B"], false), ["900 B", "312 kB", "1.1 MB"]);
        assert_eq!(sorted(&["10", "9", "1,204"], false), ["9", "10", "1,204"]);
        let states = ["✓ SYNCED 9m", "✗ NACK×3 8s", "! STALE 41s", "- idle"];
        assert_eq!(sorted(&states, false)[0], "✗ NACK×3 8s");
        assert_eq!(sorted(&["b", "A", "c"], true), ["c", "b", "A"]);
    }

    #[test]
    fn writes_a_table_without_hidden_columns() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = TextTable { titles: row(["A", "B", "C"]), rows: vec![row(["1", "x|y", "3"])] };
        let mut hidden = HiddenColumns::default();
        let text = "| A | B | C |\n|---|---|---|\n| 1 | x\\|y | 3 |\n";
        assert_eq!(table.markdown(ScreenId::Nack, &hidden), text);
        hidden.toggle(ScreenId::Nack, "A");
        assert_eq!(table.markdown(ScreenId::Nack, &hidden), "| B | C |\n|---|---|\n| x\\|y | 3 |\n");
        hidden.toggle(ScreenId::Nack, "A");
        assert_eq!(table.markdown(ScreenId::Nack, &hidden), text);
    }
}
