//! Tables whose columns fit their content, are left out by rank, or shrink.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ratatui::layout::Rect;

use xdscope_present::text::{self, Keep, cut, cut_apart, cut_name, pad, without_shared};
use xdscope_wire::text::display_safe;

use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, Span, StyledLine, span};
use crate::widgets::theme::Glyphs;
use xdscope_present::report::Role;

/// Columns to the left of the first cell, for the mark of the selected row.
const MARGIN: u16 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    /// The width that the column keeps when columns shrink.
    pub min: usize,
    /// The widest that the column can be; 0 leaves the column out.
    pub max: usize,
    /// The part that a text keeps in a narrow cell.
    pub cut: Keep,
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

pub(crate) fn column(title: &'static str, min: usize, max: usize, cut: Keep, drop: u8) -> Column {
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
            let content = drawn_texts(*column, i, rows).iter().map(|text| text::width(text)).max();
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
            let shortened = cut(&safe, width, column.cut, glyphs.cut);
            Some(Span { text: pad(&shortened, width + 1), ..cell.clone() })
        })
        .collect()
}

/// The texts of a column as they are drawn at its widest: versions without what all of them begin
/// with, and short names.
fn drawn_texts(column: Column, at: usize, rows: &[StyledLine]) -> Vec<String> {
    let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.as_str());
    match column.cut {
        Keep::Tail => without_shared(&cells.collect::<Vec<_>>(), MARK),
        Keep::Name => {
            cells.map(|text| cut_name(&display_safe(text), column.max, MARK).into_owned()).collect()
        }
        _ => cells.map(str::to_owned).collect(),
    }
}

/// The mark of an omitted part, for measuring.
const MARK: &str = "…";

/// Cuts names to some cells. Different ones that would look the same keep what tells them apart.
pub(crate) fn short_names(names: &[&str], cells: usize, mark: &str) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| cut_name(name, cells, mark).into_owned()).collect();
    let mut by_form: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (form, name) in cut.iter().zip(names) {
        by_form.entry(form).or_default().insert(name);
    }
    let mut apart: HashMap<&str, String> = HashMap::new();
    for names in by_form.into_values().filter(|names| names.len() > 1) {
        let names: Vec<&str> = names.into_iter().collect();
        let short = cut_apart(&names, cells, mark);
        apart.extend(names.into_iter().zip(short));
    }
    names.iter().zip(&cut).map(|(name, form)| apart.get(name).unwrap_or(form).clone()).collect()
}

/// Shortens the names of a table, and drops what all versions of a column begin with.
fn shortened<'a>(
    columns: &[Column],
    widths: &[Option<usize>],
    rows: &'a [StyledLine],
    glyphs: &Glyphs,
) -> Cow<'a, [StyledLine]> {
    let mut rows = Cow::Borrowed(rows);
    for (i, (column, width)) in columns.iter().zip(widths).enumerate() {
        let Some(width) = *width else { continue };
        let texts: Vec<String> = rows
            .iter()
            .map(|row| row.get(i).map_or(String::new(), |cell| display_safe(&cell.text).into_owned()))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let short = match column.cut {
            Keep::Name if texts.iter().any(|text| text::width(text) > width) => {
                short_names(&texts, width, glyphs.cut)
            }
            Keep::Tail => without_shared(&texts, glyphs.cut),
            _ => continue,
        };
        if texts.iter().zip(&short).all(|(text, short)| text == short) {
            continue;
        }
        for (row, short) in rows.to_mut().iter_mut().zip(short) {
            if let Some(cell) = row.get_mut(i) {
                cell.text = short;
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
    let lines = shortened(columns, &widths, visible, glyphs);
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
            column("NAME", 6, 30, Keep::Name, 0),
            column("SIZE", 4, 8, Keep::Head, 2),
            column("NONCE", 5, 8, Keep::Tail, 1),
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
    fn columns_are_as_wide_as_what_they_draw() {
        let columns = [column("NODE", 4, 30, Keep::Name, 0), column("VER", 3, 16, Keep::Tail, 0)];
        let node = |name: &str| format!("router~10.1.2.3~{name}.istio-system~istio-system.svc.cluster.local");
        let row = |name: &str, version: &str| vec![plain(node(name)), plain(version)];
        let rows = [row("gw-1", "2026-11-22T16:04:53Z/2"), row("gw-2", "2026-11-22T16:04:59Z/3")];
        assert_eq!(widths(&GrownWidths::default(), &columns, &rows, 60), [Some(17), Some(6)]);
        let names = [node("gw-1"), node("gw-2")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let apart = short_names(&names, 8, "…");
        assert_ne!(apart[0], apart[1]);
    }

    #[test]
    fn columns_keep_their_widest_content_on_each_screen() {
        let columns = [column("NAME", 4, 30, Keep::Name, 0), column("AGE", 3, 8, Keep::Head, 0)];
        let mut grown = GrownWidths::default();
        let row = |name: &str, age: &str| [vec![plain(name), plain(age)]];
        let measured = |grown: &GrownWidths, rows: &[StyledLine]| widths(grown, &columns, rows, 40);
        assert_eq!(measured(&grown, &row("edge-gw-1", "59s")), [Some(9), Some(3)]);
        assert_eq!(measured(&grown, &row("cart", "1m00s")), [Some(9), Some(5)]);
        assert_eq!(measured(&grown, &[]), [Some(9), Some(5)]);
        // Another table has widths of its own.
        let other = [column("#", 1, 8, Keep::Head, 0), column("AGE", 3, 8, Keep::Head, 0)];
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
