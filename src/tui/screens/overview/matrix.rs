//! The rows of nodes by types.

use std::ops::Range;

use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::common::{Common, Pane};
use crate::input::screen_id::ScreenId;
use crate::screens::shared::traffic;
use crate::widgets::canvas::{Canvas, Span, StyledLine, line_width, span};
use crate::widgets::chart;
use crate::widgets::layout;
use crate::widgets::table::{short_names, title_role};
use xdscope_engine::activity::Tally;
use xdscope_present::report::{Role, Row};
use xdscope_present::text::{Keep, cut, pad, pad_left, width};
use xdscope_wire::text::{age, count, display_safe, plural, type_label};

use super::plan::{ANSWER_WIDTH, ANSWERS, PUSHES, Plan, STREAM, plan, states, type_title};
use super::state::OverviewScreen;
use super::{cells, fleet};

/// Columns to the left of the first cell.
const LEFT: u16 = 2;

/// Draws the rows. Returns the position of the selected cell.
pub(super) fn draw(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
) -> Option<Position> {
    let is_folded = screen.table.folded > 0;
    let parts = fleet::parts(&screen.table, area);
    fleet::draw(common, canvas, &parts, &screen.table, &screen.charts.extremes);
    let area = parts.table;
    // Only rows on the screen decide about widths, so that a long list costs no more than a short
    // one.
    let height = usize::from(area.height.saturating_sub(1 + u16::from(is_folded)));
    let rows: Vec<&Row> = screen.table.rows.iter().skip(screen.top).take(height).collect();
    let inner = Rect { x: area.x + LEFT, width: area.width.saturating_sub(LEFT), ..area };
    let plan = plan(screen, common, &rows, usize::from(inner.width));
    let has_focus = common.pane == Pane::Main;
    let below = screen.table.rows.len().saturating_sub(screen.top + rows.len());
    draw_titles(screen, common, canvas, inner, &plan, below);
    if common.filter_on(ScreenId::Overview).is_some() && rows.is_empty() && !is_folded {
        let text = format!("0 of {} match; Esc clears the filter", count(screen.table.nodes as u64));
        canvas.text(layout::split(inner, 1).1, &text, Role::Muted);
    }
    let mut cursor = None;
    let names: Vec<String> =
        rows.iter().map(|row| display_safe(&cells::name(row).text).into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names = short_names(&names, plan.node, canvas.glyphs().cut);
    for (at, ((line, row), name)) in inner.rows().skip(1).zip(&rows).zip(names).enumerate() {
        let cells = row_cells(screen, common, &plan, (row, name), at, canvas);
        canvas.line(line, &cells);
        draw_pushes(screen, canvas, line, &plan, at);
        if Some(row.key) == screen.selected {
            let whole = Rect { x: area.x, width: area.width, ..line };
            canvas.cursor(whole, has_focus);
            if has_focus {
                let cell = selected_cell(screen, &plan);
                let x = whole.x + cell.as_ref().map_or(0, |columns| columns.start + LEFT);
                cursor = Some(Position { x, y: whole.y });
                underline(canvas, inner, line, cell);
            }
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

/// The column at a column of the terminal: 0 is the node, then the types.
pub(super) fn column_at(screen: &OverviewScreen, common: &Common, area: Rect, x: u16) -> usize {
    let rows: Vec<&Row> = screen.table.rows.iter().skip(screen.top).take(usize::from(area.height)).collect();
    let plan = plan(screen, common, &rows, usize::from(area.width.saturating_sub(LEFT)));
    let mut end = usize::from(area.x + LEFT) + plan.node + 1;
    if usize::from(x) < end {
        return 0;
    }
    for (at, width) in plan.types.iter().enumerate() {
        end += width + 1;
        if usize::from(x) < end {
            return at + 1 + plan.hidden.0;
        }
    }
    screen.column
}

/// A cell cut and padded to its width.
fn fit(cell: Span, width: usize) -> Span {
    Span { text: pad(&cell.text, width + 1), ..cell }
}

/// The cells of a row with its short name, and blanks in place of its sparkline.
fn row_cells(
    screen: &OverviewScreen,
    common: &Common,
    plan: &Plan,
    (row, name): (&Row, String),
    at: usize,
    canvas: &Canvas,
) -> StyledLine {
    let mark = canvas.glyphs().cut;
    let mut line = vec![fit(Span { text: name, ..cells::name(row) }, plan.node)];
    let states = states(common, row, plan.with_age).into_iter().skip(plan.hidden.0);
    line.extend(states.zip(&plan.types).map(|(cell, width)| fit(cell, *width)));
    let charts = screen.charts.rows.get(at);
    if plan.spark > 0 {
        let pushes = charts.map_or(0, |row| row.pushes);
        let number = pad_left(&count(pushes), plan.pushes());
        line.push(span(format!("{number} "), Role::Muted));
    }
    if plan.has_answers {
        let answers = cells::answers(charts.and_then(|row| row.ack_ms));
        let text = answers.map(|time| format!("{} ", pad_left(&time, ANSWER_WIDTH)));
        line.push(span(text.concat(), Role::Muted));
    }
    if plan.stream > 0 {
        let cell = cells::stream(common, row);
        let shortened = cut(&cell.text, plan.stream, Keep::Head, mark).into_owned();
        line.push(fit(Span { text: shortened, ..cell }, plan.stream));
    }
    line.push(cells::short_reason(common, row, plan.reason));
    line
}

/// Draws the sparkline of a row.
fn draw_pushes(screen: &OverviewScreen, canvas: &mut Canvas, line: Rect, plan: &Plan, at: usize) {
    let Some(row) = screen.charts.rows.get(at) else { return };
    if plan.spark == 0 {
        return;
    }
    let start = u16::try_from(plan.spark_start()).unwrap_or(u16::MAX);
    let width = u16::try_from(plan.spark).unwrap_or(0);
    let area = Rect { x: line.x.saturating_add(start), width, ..line }.intersection(line);
    // A column takes several cells if there are more cells than columns.
    let cells_per_column = row.cells.len().div_ceil(plan.spark).max(1);
    let columns: Vec<Option<Tally>> = row.cells.rchunks(cells_per_column).rev().map(Tally::sum).collect();
    chart::sparkline(canvas, area, &traffic::pushes(&columns));
}

/// Draws the titles, and the number of types and of nodes that do not fit.
fn draw_titles(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
    plan: &Plan,
    below: usize,
) {
    let has_focus = common.pane == Pane::Main;
    let title = |title: String, width: usize| span(pad(&title, width + 1), title_role(has_focus));
    let mut line = vec![title("NODE".to_owned(), plan.node)];
    for (at, width) in plan.types.iter().enumerate() {
        line.push(title(type_title(screen, at + plan.hidden.0), *width));
    }
    if plan.spark > 0 {
        line.push(title(format!("PUSHES {}", age(screen.charts.row_span)), plan.pushes()));
    }
    if plan.has_answers {
        line.push(title("ACK p50 p99".to_owned(), 2 * ANSWER_WIDTH + 1));
    }
    if plan.stream > 0 {
        line.push(title("STREAM".to_owned(), plan.stream));
    }
    let parts = [(PUSHES, plan.spark > 0), (ANSWERS, plan.has_answers), (STREAM, plan.stream > 0)];
    for (title, fits) in parts {
        canvas.widths.note_fit(title, fits);
    }
    let fitting = plan.hidden.0..plan.hidden.0 + plan.types.len();
    for (at, url) in screen.table.types.iter().enumerate() {
        canvas.widths.note_fit(&type_label(url.as_str()), fitting.contains(&at));
    }
    let reason_start = line_width(&line);
    line.push(title("REASON".to_owned(), plan.reason.saturating_sub(1)));
    let types = match plan.hidden {
        (0, 0) => None,
        (0, n) => Some(format!("{} {n} more", canvas.glyphs().to)),
        (n, 0) => Some(format!("{n} before")),
        (l, r) => Some(format!("{l} before, {r} more")),
    };
    let rows = (below > 0).then(|| format!("{} below", plural(below as u64, "node")));
    let more = types.into_iter().chain(rows).collect::<Vec<_>>().join("  ");
    // Counts of hidden columns and rows may take the place of the last title, and of no other.
    let beside = width(&more) + 1;
    if !more.is_empty() && "REASON".len() + 1 + beside > plan.reason {
        line.pop();
    }
    canvas.line(area, &line);
    if !more.is_empty() {
        let start = u16::try_from(reason_start).unwrap_or(area.width).min(area.width);
        let room = Rect { x: area.x + start, width: area.width - start, ..area };
        let more = cut(&more, usize::from(room.width), Keep::Head, canvas.glyphs().cut).into_owned();
        canvas.right(room, &more, Role::Warn);
    }
}

/// Underlines the columns of a cell in the selected row.
fn underline(canvas: &mut Canvas, area: Rect, row: Rect, columns: Option<Range<u16>>) {
    let Some(columns) = columns else { return };
    let width = columns.end - columns.start;
    let cell = Rect { x: area.x + columns.start, width, ..row }.intersection(area);
    canvas.buf.set_style(cell, canvas.theme.selection().add_modifier(Modifier::UNDERLINED));
}

/// The columns of the selected type's cell within its row.
fn selected_cell(screen: &OverviewScreen, plan: &Plan) -> Option<Range<u16>> {
    let at = screen.column.checked_sub(1)?.checked_sub(plan.hidden.0)?;
    let width = plan.types.get(at)?;
    let before = plan.node + 1 + plan.types.iter().take(at).map(|width| width + 1).sum::<usize>();
    let start = u16::try_from(before).ok()?;
    Some(start..start.saturating_add(u16::try_from(*width).ok()?))
}
