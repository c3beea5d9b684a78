//! The rows of nodes by types.

use std::ops::Range;

use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::engine::store::{SummaryFact, TypeState};
use crate::present::report::{self, Role, Row};
use crate::tui::common::{Common, Pane};
use crate::tui::widgets::canvas::{Canvas, Span, StyledLine, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::tui::widgets::theme::{self, Glyphs};
use crate::wire::event::Variant;
use crate::wire::text::{self, count, pad, type_label};

use super::state::OverviewScreen;

/// The cells of a row: node, variant, then one per type. The third cell of a closed stream says how
/// it ended.
pub(super) fn overview_row(common: &Common, row: &Row) -> Vec<Span> {
    let narrow = common.layout().is_some_and(|layout| layout.narrow);
    let variant = row.variant.map_or("opaque", Variant::word);
    let role = if row.is_closed() || row.variant.is_none() { Role::Muted } else { Role::Plain };
    let mut cells = vec![span(row.title(), role), span(variant, Role::Muted)];
    if row.is_closed() {
        let now = (!common.clock.untimed).then_some(common.now);
        cells.push(span(report::ended(row, now, common.theme.glyphs().times), Role::Muted));
    } else if row.variant.is_none() {
        cells.push(span(row.opaque(), Role::Muted));
    } else {
        cells.extend(row.cells.iter().map(|cell| state(common, cell.as_deref(), narrow)));
    }
    cells
}

/// The symbol, word and age of a state: `✗ NACK×3 8s`, `∅ MISS 1/119 22s`.
pub(super) fn state(common: &Common, cell: Option<&SummaryFact>, narrow: bool) -> Span {
    let glyphs = common.theme.glyphs();
    let Some(cell) = cell else {
        return span(if narrow { "-" } else { "- idle" }, Role::Muted);
    };
    let theme::StateMark { symbol, role, .. } = theme::state_mark(cell.state, glyphs);
    let newest = cell.last_nack.map(|(_, at)| at);
    let age = common.short_age(report::age_from(cell.state, cell.since, newest));
    let words = report::state_text(cell.state, cell, glyphs.times);
    let text = match cell.state {
        TypeState::Miss if narrow => {
            format!("{symbol} {}/{} {age}", count(cell.overdue), count(cell.names))
        }
        TypeState::Synced if narrow => format!("{symbol} OK {age}"),
        TypeState::Idle if narrow => symbol.to_owned(),
        TypeState::Idle => format!("{symbol} {words}"),
        _ => format!("{symbol} {words} {age}"),
    };
    span(text, role)
}

/// The columns and their widths, with as many types as fit around the selected one.
struct Fitted {
    columns: Vec<Column>,
    titles: Vec<String>,
    widths: Vec<Option<usize>>,
    /// The number of types hidden on the left and on the right.
    hidden: (usize, usize),
}

fn fitted(screen: &OverviewScreen, rows: &[StyledLine], room: usize, narrow: bool) -> Fitted {
    let types = &screen.table.types;
    let full: Vec<&StyledLine> = rows.iter().filter(|row| row.len() == types.len() + 2).collect();
    let names = rows.iter().filter_map(|row| row.first()).map(|cell| text::width(&cell.text)).max();
    let mut titles = vec!["NODE".to_owned(), "VARIANT".to_owned()];
    let variant = if narrow { 0 } else { 9 };
    let mut columns = vec![
        column("NODE", 12.min(names.unwrap_or(4).max(4)), if narrow { 17 } else { 34 }, Cut::Name, 0),
        column("VARIANT", variant, variant, Cut::Head, 1),
    ];
    for (i, url) in types.iter().enumerate() {
        let label = type_label(url.as_str());
        let title = if screen.column == i + 1 { format!("[{label}]") } else { label };
        let content = full.iter().filter_map(|row| row.get(i + 2)).map(|cell| text::width(&cell.text)).max();
        let width = content.unwrap_or(0).max(text::width(&title));
        titles.push(title);
        columns.push(column("", width, width, Cut::Head, 0));
    }
    let first: Vec<StyledLine> = rows.iter().map(|row| row.iter().take(2).cloned().collect()).collect();
    let (mut left, mut right) = (0, 0);
    loop {
        let shown: Vec<Column> = columns
            .iter()
            .enumerate()
            .filter(|(i, _)| *i < 2 || (*i >= 2 + left && *i < columns.len() - right))
            .map(|(_, column)| *column)
            .collect();
        let widths = table::widths(&shown, &first, room);
        let total: usize = widths.iter().flatten().map(|w| w + 1).sum();
        if total <= room + 1 || left + right + 1 >= types.len() {
            let keep = |i: usize| i < 2 || (i >= 2 + left && i < columns.len() - right);
            let titles = titles.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, t)| t).collect();
            return Fitted { columns: shown, titles, widths, hidden: (left, right) };
        }
        // Hides a type on the right, unless that is the selected one.
        if screen.column >= types.len() - right && screen.column > left + 1 { left += 1 } else { right += 1 }
    }
}

/// Draws the rows. Returns the position of the selected cell.
pub(super) fn draw(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
    layout: &Layout,
) -> Option<Position> {
    let is_folded = screen.table.folded > 0;
    let area = if is_folded { draw_counts(screen, canvas, area) } else { area };
    // Only rows on the screen decide about widths, so that a long list costs no more than a short
    // one.
    let height = usize::from(area.height.saturating_sub(1 + u16::from(is_folded)));
    let rows: Vec<&Row> = screen.table.rows.iter().skip(screen.top).take(height).collect();
    let lines: Vec<StyledLine> = rows.iter().map(|row| overview_row(common, row)).collect();
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    let fit = fitted(screen, &lines, usize::from(inner.width), layout.narrow);
    draw_titles(canvas, inner, &fit);
    if rows.is_empty() && common.filter.is_some() && !is_folded {
        let text = format!("0 of {} match; Esc clears the filter", count(screen.table.nodes as u64));
        canvas.text(layout::split(inner, 1).1, &text, Role::Muted);
    }
    let mut cursor = None;
    for ((screen_row, row), line) in inner.rows().skip(1).zip(&rows).zip(&lines) {
        let full_row = Rect { x: area.x, width: area.width, ..screen_row };
        let is_spread = row.is_closed() || row.variant.is_none();
        let cells = fit.cells(line, is_spread, canvas.glyphs());
        canvas.line(screen_row, &cells);
        if row.is_closed() {
            canvas.text(full_row, "#", Role::Muted);
        }
        if Some(row.key) == screen.selected && common.pane != Pane::Main {
            canvas.cursor(full_row, false);
        }
        if Some(row.key) == screen.selected && common.pane == Pane::Main {
            let cell = if is_spread { None } else { selected_cell(screen, &fit, &cells) };
            canvas.cursor(full_row, true);
            let x = full_row.x + cell.as_ref().map_or(0, |columns| columns.start + 2);
            cursor = Some(Position { x, y: full_row.y });
            underline(canvas, inner, screen_row, cell);
        }
    }
    let y = area.y + 1 + u16::try_from(rows.len()).unwrap_or(0);
    if is_folded && y < area.bottom() {
        let dot = canvas.glyphs().dot;
        let more = format!("  {} more nodes in sync {dot} z unfolds", count(screen.table.folded as u64));
        canvas.text(Rect { y, height: 1, ..area }, &more, Role::Muted);
    }
    cursor
}

/// Draws the number of nodes by state. Returns the area below.
fn draw_counts(screen: &OverviewScreen, canvas: &mut Canvas, area: Rect) -> Rect {
    let counts = screen.table.counts.iter().map(|(state, n)| {
        let theme::StateMark { symbol, word, role } = theme::state_mark(*state, canvas.glyphs());
        span(format!("  {symbol} {} {word}", count(*n as u64)), role)
    });
    let counts: StyledLine = counts.collect();
    canvas.line(area, &counts);
    layout::split(area, 1).1
}

/// Draws the titles, and the number of types that do not fit.
fn draw_titles(canvas: &mut Canvas, area: Rect, fit: &Fitted) {
    let titles = fit.titles.iter().zip(&fit.widths).filter_map(|(t, w)| Some((t, (*w)?)));
    let titles: StyledLine = titles.map(|(title, width)| span(pad(title, width + 1), Role::Muted)).collect();
    canvas.line(area, &titles);
    let more = match fit.hidden {
        (0, 0) => return,
        (0, n) => format!("{} {n} more", canvas.glyphs().to),
        (n, 0) => format!("{n} before"),
        (l, r) => format!("{l} before, {r} more"),
    };
    canvas.right(area, &format!(" {more}"), Role::Warn);
}

/// Underlines the columns of a cell in the selected row.
fn underline(canvas: &mut Canvas, area: Rect, row: Rect, columns: Option<Range<u16>>) {
    let Some(columns) = columns else { return };
    let width = columns.end - columns.start;
    let cell = Rect { x: area.x + columns.start, width, ..row }.intersection(area);
    canvas.buf.set_style(cell, canvas.theme.selection().add_modifier(Modifier::UNDERLINED));
}

impl Fitted {
    /// The cells of a row, cut to their columns. In a spread row the third cell takes the rest.
    fn cells(&self, line: &StyledLine, is_spread: bool, glyphs: &Glyphs) -> StyledLine {
        if is_spread {
            let mut cells = table::fit(&self.columns[..2], &self.widths[..2], &line[..2], glyphs);
            cells.extend(line.get(2).cloned());
            return cells;
        }
        let (left, right) = self.hidden;
        let is_visible = |i: usize| i < 2 || (i >= 2 + left && i < line.len() - right);
        let visible = line.iter().enumerate().filter(|(i, _)| is_visible(*i));
        let visible: StyledLine = visible.map(|(_, cell)| cell.clone()).collect();
        table::fit(&self.columns, &self.widths, &visible, glyphs)
    }
}

/// The columns of the selected type's cell within its row.
fn selected_cell(screen: &OverviewScreen, fit: &Fitted, cells: &StyledLine) -> Option<Range<u16>> {
    let column = screen.column.checked_sub(1)?.checked_sub(fit.hidden.0)?;
    let first_type = fit.widths.iter().take(2).flatten().count();
    let before: usize = cells.iter().take(first_type + column).map(|cell| text::width(&cell.text)).sum();
    let cell = cells.get(first_type + column)?;
    let start = u16::try_from(before).ok()?;
    Some(start..start.saturating_add(u16::try_from(text::width(cell.text.trim_end())).ok()?))
}
