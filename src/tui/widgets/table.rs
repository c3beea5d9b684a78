//! Tables whose columns fit their content, are left out by rank, or shrink.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ratatui::layout::Rect;

use xdscope_present::text;
use xdscope_present::text::{Keep, cut, pad};
use xdscope_present::text::{cut_apart, cut_name};
use xdscope_wire::text::display_safe;

use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, Span, StyledLine, span};
use crate::widgets::theme::Glyphs;
use xdscope_present::report::Role;

/// Columns to the left of the first cell, for the mark of the selected row.
const MARGIN: u16 = 2;

/// How a text is cut to a narrow cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Name,
    Head,
    /// Both ends, for sentences that end with a reason.
    Reason,
    Tail,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    /// The width that the column keeps when columns shrink.
    pub min: usize,
    /// The widest that the column can be; 0 leaves the column out.
    pub max: usize,
    pub cut: Cut,
    /// The order in which columns are left out; 0 is never left out.
    pub drop: u8,
    /// The width that the column keeps until other columns are as narrow as they can be.
    pub keep: usize,
}

impl Column {
    /// Lets other columns shrink before this one is narrower than `cells`.
    pub(crate) const fn keeping(self, cells: usize) -> Column {
        Column { keep: cells, ..self }
    }
}

pub(crate) fn column(title: &'static str, min: usize, max: usize, cut: Cut, drop: u8) -> Column {
    Column { title, min, max, cut, drop, keep: min }
}

/// The titles of columns.
pub(crate) fn titles_of(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.title.to_owned()).collect()
}

/// A column: its screen, its table, and its title.
type ColumnKey = (Option<ScreenId>, &'static str, String);

/// The widest content so far of each column of a screen, so that columns do not move when ages,
/// counts or rows change, or when the user comes back to the screen.
#[derive(Clone, Debug, Default)]
pub struct GrownWidths {
    screen: Option<ScreenId>,
    widths: RefCell<HashMap<ColumnKey, usize>>,
    /// The columns of the list that were left out of the last frame, because they did not fit.
    left_out: RefCell<HashSet<String>>,
}

impl GrownWidths {
    /// Notes the width of a column of a table. Returns the widest so far.
    pub(crate) fn grow(&self, table: &'static str, column: &str, width: usize) -> usize {
        let mut widths = self.widths.borrow_mut();
        let widest = widths.entry((self.screen, table, column.to_owned())).or_default();
        *widest = width.max(*widest);
        *widest
    }

    /// Notes the screen whose columns are drawn next. Lets its columns shrink to their content if
    /// the screen shows something else than before.
    pub(crate) fn show(&mut self, screen: ScreenId, may_shrink: bool) {
        self.screen = Some(screen);
        if may_shrink {
            self.widths.get_mut().retain(|(known, ..), _| *known != Some(screen));
        }
        self.left_out.get_mut().clear();
    }

    /// Notes whether a column of the screen's list fits.
    pub(crate) fn note_fit(&self, column: &str, fits: bool) {
        let mut left_out = self.left_out.borrow_mut();
        if fits {
            left_out.remove(column)
        } else {
            left_out.insert(column.to_owned())
        };
    }

    /// Whether a column of the screen's list was left out of the last frame.
    pub(crate) fn is_left_out(&self, column: &str) -> bool {
        self.left_out.borrow().contains(column)
    }
}

/// The widths of columns in `room` cells, with a blank between columns; `None` if a column is left
/// out. The first title names the table among those of a screen.
pub(crate) fn widths(
    grown: &GrownWidths,
    columns: &[Column],
    rows: &[StyledLine],
    room: usize,
) -> Vec<Option<usize>> {
    let table = columns.first().map_or("", |column| column.title);
    let mut widths: Vec<Option<usize>> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            if column.max == 0 {
                return None;
            }
            let content = rows.iter().filter_map(|row| row.get(i)).map(|cell| text::width(&cell.text)).max();
            let content = grown.grow(table, column.title, content.unwrap_or(0));
            Some(content.max(text::width(column.title)).clamp(column.min, column.max))
        })
        .collect();
    let total = |widths: &[Option<usize>]| widths.iter().flatten().map(|w| w + 1).sum::<usize>();
    let mut ranks: Vec<u8> = columns.iter().map(|c| c.drop).filter(|rank| *rank > 0).collect();
    ranks.sort_unstable();
    for rank in ranks {
        if total(&widths) <= room + 1 {
            break;
        }
        if let Some(i) = columns.iter().position(|c| c.drop == rank) {
            widths[i] = None;
        }
    }
    // The widest column shrinks first, down to the width that it keeps, then to its minimum.
    for least in [|column: &Column| column.keep.max(column.min), |column: &Column| column.min] {
        while total(&widths) > room + 1 {
            let widest = (0..columns.len())
                .filter(|i| widths[*i].is_some_and(|w| w > least(&columns[*i])))
                .max_by_key(|i| widths[*i]);
            let Some(i) = widest else { break };
            widths[i] = widths[i].map(|w| w - 1);
        }
    }
    widths
}

/// Notes which columns of a list fit into an area.
pub(crate) fn note_fit(grown: &GrownWidths, columns: &[Column], rows: &[StyledLine], area: Rect) {
    let room = usize::from(area.width.saturating_sub(MARGIN));
    for (column, width) in columns.iter().zip(widths(grown, columns, rows, room)) {
        grown.note_fit(column.title, width.is_some());
    }
}

/// The line of titles, highlighted if the table has the focus.
pub(crate) fn titles(columns: &[Column], widths: &[Option<usize>], has_focus: bool) -> StyledLine {
    let role = title_role(has_focus);
    let visible = columns.iter().zip(widths).filter_map(|(column, width)| Some((column, (*width)?)));
    visible.map(|(column, width)| span(pad(column.title, width + 1), role)).collect()
}

/// The role of the titles of a table.
pub(crate) fn title_role(has_focus: bool) -> Role {
    if has_focus { Role::Key } else { Role::Muted }
}

/// A row with each cell cut and padded to its column.
pub(crate) fn fit(columns: &[Column], widths: &[Option<usize>], row: &[Span], glyphs: &Glyphs) -> StyledLine {
    let cells = columns.iter().zip(widths).zip(row);
    cells
        .filter_map(|((column, width), cell)| {
            let width = (*width)?;
            let safe = display_safe(&cell.text);
            let shortened = match column.cut {
                Cut::Name => cut_name(&safe, width, glyphs.cut),
                Cut::Head => cut(&safe, width, Keep::Head, glyphs.cut),
                Cut::Reason => cut(&safe, width, Keep::Reason, glyphs.cut),
                Cut::Tail => cut(&safe, width, Keep::Tail, glyphs.cut),
            };
            Some(Span { text: pad(&shortened, width + 1), ..cell.clone() })
        })
        .collect()
}

/// Shortens different names of a column that would look the same.
fn with_names_apart<'a>(
    columns: &[Column],
    widths: &[Option<usize>],
    rows: &'a [StyledLine],
    glyphs: &Glyphs,
) -> Cow<'a, [StyledLine]> {
    let mut rows = Cow::Borrowed(rows);
    for (i, (column, width)) in columns.iter().zip(widths).enumerate() {
        let Some(width) = *width else { continue };
        if column.cut != Cut::Name {
            continue;
        }
        let mut by_form: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for cell in rows.iter().filter_map(|row| row.get(i)).filter(|cell| text::width(&cell.text) > width) {
            let safe = display_safe(&cell.text).into_owned();
            by_form.entry(cut_name(&safe, width, glyphs.cut).into_owned()).or_default().insert(safe);
        }
        for names in by_form.into_values().filter(|names| names.len() > 1) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let short = cut_apart(&names, width, glyphs.cut);
            for cell in rows.to_mut().iter_mut().filter_map(|row| row.get_mut(i)) {
                let index = names.iter().position(|name| *name == display_safe(&cell.text));
                if let Some(short) = index.and_then(|index| short.get(index)) {
                    cell.text.clone_from(short);
                }
            }
        }
    }
    rows
}

/// Draws titles and rows. `selected` is an index in `rows`; its row is highlighted if the table has
/// the focus. Returns the screen row of the selected one.
pub(crate) fn draw(
    canvas: &mut Canvas,
    area: Rect,
    columns: &[Column],
    rows: &[StyledLine],
    selected: Option<usize>,
    has_focus: bool,
) -> Option<u16> {
    let inner = Rect { x: area.x + MARGIN.min(area.width), width: area.width.saturating_sub(MARGIN), ..area };
    let widths = widths(canvas.widths, columns, rows, usize::from(inner.width));
    let glyphs = canvas.glyphs();
    canvas.line(inner, &titles(columns, &widths, has_focus));
    let visible = rows.get(..usize::from(inner.height)).unwrap_or(rows);
    let lines = with_names_apart(columns, &widths, visible, glyphs);
    let mut selected_row = None;
    for (i, (row, line)) in inner.rows().skip(1).zip(lines.iter()).enumerate() {
        canvas.line(row, &fit(columns, &widths, line, glyphs));
        if selected == Some(i) {
            let whole = Rect { x: area.x, width: area.width, ..row };
            canvas.cursor(whole, has_focus);
            selected_row = Some(row.y);
        }
    }
    selected_row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::canvas::plain;

    #[test]
    fn leaves_out_columns_by_rank_then_shrinks() {
        let columns = [
            column("NAME", 6, 30, Cut::Name, 0),
            column("SIZE", 4, 8, Cut::Head, 2),
            column("NONCE", 5, 8, Cut::Tail, 1),
        ];
        let rows = [vec![plain("a-rather-long-name"), plain("312 kB"), plain("a81f")]];
        let widths = |room| widths(&GrownWidths::default(), &columns, &rows, room);
        assert_eq!(widths(40), [Some(18), Some(6), Some(5)]);
        assert_eq!(widths(26), [Some(18), Some(6), None]);
        assert_eq!(widths(20), [Some(18), None, None]);
        assert_eq!(widths(10), [Some(10), None, None]);
        assert_eq!(widths(3), [Some(6), None, None]);
    }

    #[test]
    fn columns_keep_their_widest_content_on_each_screen() {
        let columns = [column("NAME", 4, 30, Cut::Name, 0), column("AGE", 3, 8, Cut::Head, 0)];
        let mut grown = GrownWidths::default();
        let row = |name: &str, age: &str| [vec![plain(name), plain(age)]];
        let measured = |grown: &GrownWidths, rows: &[StyledLine]| widths(grown, &columns, rows, 40);
        assert_eq!(measured(&grown, &row("edge-gw-1", "59s")), [Some(9), Some(3)]);
        assert_eq!(measured(&grown, &row("cart", "1m00s")), [Some(9), Some(5)]);
        assert_eq!(measured(&grown, &[]), [Some(9), Some(5)]);
        // Another table has widths of its own.
        let other = [column("#", 1, 8, Cut::Head, 0), column("AGE", 3, 8, Cut::Head, 0)];
        assert_eq!(widths(&grown, &other, &row("1", "2s"), 40), [Some(1), Some(3)]);
        // Another screen has its own widths too, and the widths stay while it is shown.
        grown.show(ScreenId::Nack, true);
        assert_eq!(measured(&grown, &row("cart", "2s")), [Some(4), Some(3)]);
        assert_eq!(measured(&grown, &row("edge-gw-1", "59s")), [Some(9), Some(3)]);
        grown.show(ScreenId::Lint, true);
        grown.show(ScreenId::Nack, false);
        assert_eq!(measured(&grown, &row("cart", "2s")), [Some(9), Some(3)]);
        grown.show(ScreenId::Nack, true);
        assert_eq!(measured(&grown, &row("cart", "2s")), [Some(4), Some(3)]);
    }
}
