//! Overview drawn: nodes, problems, the selected node.

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane};
use crate::data::Mode;
use crate::input::screen_id::ScreenId;
use crate::screens::shared::{message_rows, traffic};
use crate::widgets::canvas::{Canvas, StyledLine, pane_area, plain};
use crate::widgets::layout::{self, Layout};
use crate::widgets::text::field;
use xdscope_present::report::{Role, Row};
use xdscope_present::text;
use xdscope_present::text::wrap;
use xdscope_wire::text::plural;

use super::state::OverviewScreen;
use super::{matrix, node, problems};

/// The number of lines of the nodes, with their title.
pub(super) fn node_lines(screen: &OverviewScreen, common: &Common) -> usize {
    let table = &screen.table;
    let none = usize::from(table.rows.is_empty() && common.filter_on(ScreenId::Overview).is_some());
    1 + none + table.rows.len() + 2 * usize::from(table.folded > 0)
}

/// The lines that the parts of the screen have content for, with their titles.
pub(super) fn wanted_lines(screen: &OverviewScreen, common: &Common, layout: &Layout) -> WantedLines {
    let titles = if common.problems.is_empty() { 1 } else { 2 };
    let has_detail = common.pane == Pane::Second && !common.problems.is_empty();
    let is_framed = is_framed(layout);
    let width = usize::from(layout.body.width);
    let width = if is_framed { width * 2 / 5 } else { width };
    let problems_width = if is_framed { framed_problems(layout) - 2 } else { layout.body.width };
    WantedLines {
        nodes: node_lines(screen, common),
        problems: titles + problems::problem_lines(common).count().max(1),
        whole_problems: titles + problems::whole_lines(common, problems_width),
        detail: (has_detail || is_framed).then(|| 1 + detail_lines(screen, common, width).len()),
        has_charts: common.activity.has_rows(),
    }
}

/// The lines about the chosen problem if its list has the focus, else about the selected node and
/// its worst problem.
pub(super) fn detail_lines(screen: &OverviewScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let refused = screen.refused.as_ref().and_then(|(_, compared)| compared.as_ref());
    let problem = screen.problem_in_detail(common);
    if common.pane == Pane::Second {
        return problems::detail_lines(problem, refused, &screen.rules, common, width);
    }
    let mut lines = problems::detail_lines(problem, refused, &[], common, width);
    if !lines.is_empty() {
        lines.push(vec![]);
    }
    let node = node::lines(screen, common, usize::MAX);
    lines.extend(node.iter().flat_map(|line| unfolded(line, width)));
    lines
}

/// A line of a label and words, wrapped.
fn unfolded(line: &StyledLine, width: usize) -> Vec<StyledLine> {
    let Some((label, words)) = line.split_first() else { return Vec::new() };
    let role = words.first().map_or(Role::Plain, |word| word.role);
    let words: String = words.iter().map(|word| word.text.as_str()).collect();
    field(&label.text, &words, role, width)
}

/// Draws the problems above the table of nodes. Returns the cursor.
pub(super) fn draw(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    let table = &screen.table;
    if table.nodes == 0 && common.problems.is_empty() {
        empty(common, canvas, layout.body);
        return None;
    }
    if common.is_full_screen {
        detail(screen, common, canvas, layout.body, false);
        return Some(layout.body.as_position());
    }
    let areas = screen.areas(common, layout);
    let mut cursor = matrix::draw(screen, common, canvas, areas.nodes);
    if let Some(at) = problems::draw(screen, common, canvas, areas.problems, areas.is_framed) {
        cursor = Some(at);
    }
    detail(screen, common, canvas, areas.selected, areas.is_framed);
    newest(screen, common, canvas, areas.newest);
    traffic::draw(canvas, areas.charts, &screen.charts.traffic, screen.charts.ack_ms);
    cursor
}

/// Draws the chosen problem if its list has the focus, else the selected node.
fn detail(screen: &OverviewScreen, common: &Common, canvas: &mut Canvas, area: Rect, is_framed: bool) {
    let is_problem = common.pane == Pane::Second;
    if area.height < 2 || (screen.row().is_none() && !is_problem) {
        return;
    }
    let inner = pane_area(area, is_framed);
    let lines = match is_problem || common.is_full_screen || is_framed {
        true => detail_lines(screen, common, usize::from(inner.width)),
        false => node::lines(screen, common, usize::from(inner.height)),
    };
    let name = match is_problem {
        true => problems::detail_title(common),
        false => format!("selected: {}", screen.row().map_or(String::new(), Row::full_name)),
    };
    let hidden = lines.len().saturating_sub(screen.scroll + usize::from(inner.height)) as u64;
    let remark = match (hidden, common.is_full_screen) {
        (0, _) => String::new(),
        (n, true) => format!("{} below, j", plural(n, "line")),
        (n, false) => format!("{} below, \\ full screen", plural(n, "line")),
    };
    let fits = text::width(&name) + text::width(&remark) + 10 <= usize::from(area.width);
    let remark = if hidden > 0 && !fits { "\\ full screen".to_owned() } else { remark };
    canvas.pane(area, &name, &remark, common.is_full_screen, is_framed);
    canvas.lines(inner, &lines, screen.scroll);
}

/// Draws the newest messages of all streams.
fn newest(screen: &OverviewScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    if area.height < 3 {
        return;
    }
    let inner = canvas.pane(area, "newest messages", "3 timeline", false, true);
    message_rows::draw_apart(common, canvas, inner, &screen.newest, false, None);
}

/// Says how to get a first stream.
fn empty(common: &Common, canvas: &mut Canvas, area: Rect) {
    let lines = if common.info.empty.is_empty() {
        vec!["no stream yet".to_owned()]
    } else {
        common.info.empty.clone()
    };
    let is_cut_off = common.info.mode == Mode::Disconnected;
    let retry = (common.info.client && is_cut_off).then(|| "      R! connects again now".to_owned());
    let room = usize::from(area.width).saturating_sub(6);
    let wrapped = |line: String| {
        let indent = line.len() - line.trim_start().len();
        let parts = wrap(line.trim_start(), room.saturating_sub(indent));
        parts.into_iter().map(move |part| vec![plain(format!("   {}{part}", " ".repeat(indent)))])
    };
    let lines: Vec<StyledLine> = lines.into_iter().chain(retry).flat_map(wrapped).collect();
    let (_, area) = layout::split(area, 1);
    canvas.lines(area, &lines, 0);
}

/// The areas of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverviewAreas {
    pub nodes: Rect,
    pub problems: Rect,
    /// The chosen problem or the selected node.
    pub selected: Rect,
    /// The newest messages, on a high terminal.
    pub newest: Rect,
    /// The last minutes.
    pub charts: Rect,
    /// Problems and evidence stand side by side in frames.
    pub is_framed: bool,
}

/// The lines that parts of the screen have content for, with their titles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedLines {
    pub nodes: usize,
    pub problems: usize,
    /// The lines of the problems if each text is whole.
    pub whole_problems: usize,
    /// All words of the chosen problem or about the selected node, if they stand beside the list or
    /// the list has the focus.
    pub detail: Option<usize>,
    pub has_charts: bool,
}

/// Lines about the selected node, with their rule.
const SELECTED_NODE_LINES: u16 = 4;
/// Columns from which on problems and evidence stand side by side.
const FRAMED_WIDTH: u16 = 140;
/// The fewest lines of the newest messages, with their frame.
const MIN_NEWEST_LINES: u16 = 6;

/// The lines of the charts in a body of this height.
fn chart_lines(height: u16) -> u16 {
    match height {
        0..22 => 0,
        22..25 => 2,
        25..34 => 5,
        34..46 => 8,
        _ => 11,
    }
}

/// Whether problems and evidence stand side by side.
pub(super) fn is_framed(layout: &Layout) -> bool {
    layout.body.width >= FRAMED_WIDTH && !layout.low
}

/// Columns of the problems that stand beside their evidence, with their frame.
fn framed_problems(layout: &Layout) -> u16 {
    let width = layout.body.width;
    if layout.wide { width * 3 / 5 } else { width * 11 / 20 }
}

/// Columns of the charts.
pub(super) fn charts_width(areas: &OverviewAreas) -> u16 {
    traffic::charts_width(areas.charts)
}

/// Divides the body.
pub(crate) fn areas(layout: &Layout, wanted: WantedLines) -> OverviewAreas {
    let body = layout.body;
    let gap = u16::from(!layout.low);
    let charts = if wanted.has_charts { chart_lines(body.height) } else { 0 };
    let (body, charts) = layout::split(body, body.height - charts);
    let nothing = Rect { height: 0, ..charts };
    if is_framed(layout) {
        // The message pane of the previous screen may still take almost all lines.
        let half = body.height / 2;
        let least = layout::height(wanted.problems).saturating_add(1).clamp(half.min(6), half);
        let room = body.height.saturating_sub(least + gap);
        let (nodes, rest) = layout::split(body, layout::height(wanted.nodes).min(room));
        let (_, rest) = layout::split(rest, gap);
        // The frame of a list adds a line: its title is in the frame.
        let lower = layout::height(wanted.whole_problems.max(wanted.detail.unwrap_or(0))).saturating_add(1);
        let newest = rest.height.saturating_sub(lower);
        let newest = if newest >= MIN_NEWEST_LINES { newest } else { 0 };
        let (lower, newest) = layout::split(rest, rest.height - newest);
        let left = framed_problems(layout);
        let problems = Rect { width: left, ..lower };
        let selected = Rect { x: lower.x + left, width: lower.width - left, ..lower };
        return OverviewAreas { nodes, problems, selected, newest, charts, is_framed: true };
    }
    let selected = match wanted.detail {
        Some(lines) => layout::height(lines).min((body.height / 3).max(SELECTED_NODE_LINES)) + gap,
        None if layout.low => 0,
        None => SELECTED_NODE_LINES + gap,
    };
    let least = layout::height(wanted.problems).min(body.height / 3);
    let room = body.height.saturating_sub(selected + least + gap);
    let (nodes, rest) = layout::split(body, layout::height(wanted.nodes).min(room));
    let (_, rest) = layout::split(rest, gap);
    let problems = layout::height(wanted.whole_problems).min(rest.height.saturating_sub(selected));
    let (problems, rest) = layout::split(rest, problems);
    let (_, selected) = layout::split(rest, gap);
    OverviewAreas { nodes, problems, selected, newest: nothing, charts, is_framed: false }
}
