//! Many nodes at once: a strip with one cell per node, and the slowest and the busiest of them.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::data::Data;
use crate::screens::shared::millis;
use crate::widgets::canvas::{Canvas, StyledLine, span};
use crate::widgets::layout;
use crate::widgets::table::short_names;
use crate::widgets::theme;
use xdscope_present::report::{Role, Row};
use xdscope_present::text::{pad, pad_left, width};
use xdscope_wire::event::Time;
use xdscope_wire::text::{age, count, plural};

use super::charts;
use super::table::NodeTable;

/// Nodes in the lists of the slowest and of the busiest.
const MAX_LISTED: usize = 10;
/// The most lines of the strip. With more nodes, a cell stands for several.
const MAX_STRIP_LINES: usize = 8;
/// The age at which all nodes of a live source are measured again.
const MEASURE_INTERVAL: Duration = Duration::from_secs(2);
/// The fewest lines of the lists, with their title.
const MIN_LIST_LINES: u16 = 4;
/// Columns of a figure in the lists.
const FIGURE_WIDTH: usize = 9;
/// The widest name in the lists.
const MAX_NAME_WIDTH: usize = 40;

/// The parts of the area of the nodes.
pub(super) struct NodeParts {
    /// The number of nodes by state.
    counts: Rect,
    strip: Rect,
    /// Titles, rows and the line of the folded nodes.
    pub(super) table: Rect,
    /// The slowest and the busiest nodes.
    extremes: Rect,
}

/// Columns of the strip.
fn strip_width(columns: u16) -> usize {
    usize::from(columns.saturating_sub(4)).max(1)
}

fn strip_lines(table: &NodeTable, columns: u16) -> usize {
    if table.folded == 0 {
        return 0;
    }
    let nodes: usize = table.counts.iter().map(|(_, nodes)| nodes).sum();
    nodes.div_ceil(strip_width(columns)).clamp(1, MAX_STRIP_LINES)
}

/// The lines besides the rows of the table: of many nodes more than the titles.
pub(super) fn chrome_lines(table: &NodeTable, columns: u16) -> usize {
    match table.folded {
        0 => 1,
        _ => 1 + strip_lines(table, columns) + 2 + 2 + MAX_LISTED,
    }
}

/// Divides the area of the nodes.
pub(super) fn parts(table: &NodeTable, area: Rect) -> NodeParts {
    let is_folded = table.folded > 0;
    let (counts, rest) = layout::split(area, u16::from(is_folded));
    let lines = layout::height(strip_lines(table, area.width)).min((area.height / 3).max(1));
    let (strip, rest) = layout::split(rest, if is_folded { lines } else { 0 });
    let wanted = layout::height(1 + usize::from(is_folded) + table.rows.len());
    let left = rest.height.saturating_sub(wanted.min(rest.height / 2));
    let lists = if is_folded && left > MIN_LIST_LINES { left.min(layout::height(MAX_LISTED + 2)) } else { 0 };
    let (table, extremes) = layout::split(rest, rest.height - lists);
    NodeParts { counts, strip, table, extremes }
}

/// The slowest and the busiest nodes.
///
/// Measured for all nodes, and therefore less often than the rows on the screen are drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Extremes {
    /// When the nodes were measured, and whether all messages of the last minutes counted.
    measured: Option<(Time, bool)>,
    /// The 99th percentile of the answers in milliseconds, the slowest first.
    slowest: Vec<(String, f64)>,
    /// The pushes in the last minutes, the most first.
    busiest: Vec<(String, u64)>,
}

impl Extremes {
    /// Measures all nodes of a table that folds some, unless the figures are fresh enough.
    pub(super) fn settle(&mut self, common: &Common, data: &dyn Data, table: &NodeTable) {
        if table.folded == 0 {
            *self = Extremes::default();
            return;
        }
        let is_counted = !common.activity.is_counting();
        let is_fresh = self.measured.is_some_and(|(at, was_counted)| {
            let is_young = match common.refresh.is_live {
                true => at <= common.now && common.now.since(at) < MEASURE_INTERVAL,
                false => at == common.now,
            };
            is_young && was_counted == is_counted
        });
        if !is_fresh {
            *self =
                Extremes { measured: Some((common.now, is_counted)), ..Extremes::load(common, data, table) };
        }
    }

    #[cfg(test)]
    pub(super) fn measured(&self) -> Option<(Time, bool)> {
        self.measured
    }

    /// Measures all nodes of a table.
    fn load(common: &Common, data: &dyn Data, table: &NodeTable) -> Extremes {
        let rows = || table.rows.iter().chain(&table.folded_rows);
        let slow = |row: &Row| Some((row.full_name(), charts::answers(data, row)?.1));
        let mut slowest: Vec<(String, f64)> = rows().filter_map(slow).collect();
        slowest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        slowest.truncate(MAX_LISTED);
        let mut busiest: Vec<(String, u64)> =
            rows().map(|row| (row.full_name(), charts::pushes(common, data, row))).collect();
        busiest.retain(|(_, pushes)| *pushes > 0);
        busiest.sort_by_key(|(_, pushes)| std::cmp::Reverse(*pushes));
        busiest.truncate(MAX_LISTED);
        Extremes { measured: None, slowest, busiest }
    }
}

/// Draws the number of nodes by state, the strip, and the lists.
pub(super) fn draw(
    common: &Common,
    canvas: &mut Canvas,
    parts: &NodeParts,
    table: &NodeTable,
    extremes: &Extremes,
) {
    if table.folded == 0 {
        return;
    }
    let cells = strip_width(parts.strip.width) * usize::from(parts.strip.height);
    draw_counts(canvas, parts.counts, table, cells);
    draw_strip(canvas, parts.strip, table);
    if parts.extremes.is_empty() {
        return;
    }
    let (_, area) = layout::split(parts.extremes, 1);
    let (left, right) = layout::beside(area, area.width / 2);
    let slowest = extremes.slowest.iter().map(|(name, ms)| (name.as_str(), millis(*ms))).collect();
    list(canvas, left, "slowest to answer, p99", slowest);
    let busiest = extremes.busiest.iter().map(|(name, pushes)| (name.as_str(), count(*pushes))).collect();
    let span = age(common.chart_axis(1).span());
    list(canvas, right, &format!("most pushes in {span}"), busiest);
}

/// Draws the number of nodes by state, and that of each cell of the strip.
fn draw_counts(canvas: &mut Canvas, area: Rect, table: &NodeTable, cells: usize) {
    let counts = table.counts.iter().map(|(state, n)| {
        let theme::StateMark { symbol, word, role } = theme::state_mark(*state, canvas.glyphs());
        span(format!("  {symbol} {} {word}", count(*n as u64)), role)
    });
    let mut line: StyledLine = counts.collect();
    let nodes: usize = table.counts.iter().map(|(_, nodes)| nodes).sum();
    if nodes > cells {
        let each = nodes.div_ceil(cells.max(1)) as u64;
        line.push(span(format!("   a cell is {}", plural(each, "node")), Role::Muted));
    }
    canvas.line(area, &line);
}

/// Draws one cell per node, the worst first.
fn draw_strip(canvas: &mut Canvas, area: Rect, table: &NodeTable) {
    let nodes: usize = table.counts.iter().map(|(_, nodes)| nodes).sum();
    let width = strip_width(area.width);
    let each = nodes.div_ceil((width * usize::from(area.height)).max(1)).max(1);
    let marks = table.counts.iter().flat_map(|(state, nodes)| {
        let mark = theme::state_mark(*state, canvas.glyphs());
        std::iter::repeat_n((mark.symbol, mark.role), nodes.div_ceil(each))
    });
    let marks: Vec<(&str, Role)> = marks.collect();
    for (row, cells) in area.rows().zip(marks.chunks(width)) {
        let mut line: StyledLine = vec![span("  ", Role::Plain)];
        for same in cells.chunk_by(|a, b| a == b) {
            let role = same.first().map_or(Role::Plain, |(_, role)| *role);
            line.push(span(same.iter().map(|(symbol, _)| *symbol).collect::<String>(), role));
        }
        canvas.line(row, &line);
    }
}

/// Draws names with their figures below a title.
fn list(canvas: &mut Canvas, area: Rect, title: &str, rows: Vec<(&str, String)>) {
    let (head, rest) = layout::split(area, 1);
    canvas.text(head, &format!("  {title}"), Role::Muted);
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    let room = usize::from(area.width).saturating_sub(FIGURE_WIDTH + 4).min(MAX_NAME_WIDTH);
    let names = short_names(&names, room, canvas.glyphs().cut);
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    for (row, (name, (_, figure))) in rest.rows().zip(names.iter().zip(&rows)) {
        let name = span(format!("  {}", pad(name, widest)), Role::Plain);
        canvas.line(row, &[name, span(pad_left(figure, FIGURE_WIDTH), Role::Muted)]);
    }
}
