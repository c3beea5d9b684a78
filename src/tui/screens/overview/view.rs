//! Overview drawn: nodes, problems, the selected node.

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane};
use crate::data::Mode;
use crate::input::screen_id::ScreenId;
use crate::screens::shared::message_rows::MessagesApart;
use crate::screens::shared::traffic;
use crate::widgets::canvas::{Canvas, StyledLine, pane_area, plain};
use crate::widgets::layout::{self, Layout};
use crate::widgets::text::field;
use xdscope_present::report::{Role, Row};
use xdscope_present::text;
use xdscope_present::text::wrap;
use xdscope_wire::text::plural;

use super::state::OverviewScreen;
use super::{fleet, matrix, node, problems};

/// The number of lines of the nodes, with their title.
fn node_lines(screen: &OverviewScreen, common: &Common) -> usize {
    let table = &screen.table;
    let none = usize::from(table.rows.is_empty() && common.filter_on(ScreenId::Overview).is_some());
    fleet::chrome_lines(table, common.size.0) + none + table.rows.len()
}

/// The lines that the parts of the screen have content for, with their titles.
pub(super) fn wanted_lines(screen: &OverviewScreen, common: &Common, layout: &Layout) -> WantedLines {
    let titles = if common.problems.all.is_empty() { 1 } else { 2 };
    let has_detail = common.pane == Pane::Second && !common.problems.all.is_empty();
    let has_columns = has_columns(layout);
    let (problems, evidence) = match has_columns {
        true => layout::beside(layout.body, problems_width(layout)),
        false => (layout.body, layout.body),
    };
    let width = usize::from(evidence.width);
    WantedLines {
        nodes: node_lines(screen, common),
        problems: titles + problems::problem_lines(common).count().max(1),
        whole_problems: titles + problems::whole_lines(common, problems.width),
        detail: (has_detail || has_columns).then(|| 1 + detail_lines(screen, common, width).len()),
        band: if common.activity.has_rows() { traffic::band_lines(common, layout) } else { 0 },
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
    if table.nodes == 0 && common.problems.all.is_empty() {
        empty(common, canvas, layout.body);
        return None;
    }
    if common.is_full_screen {
        detail(screen, common, canvas, layout.body, false);
        return Some(layout.body.as_position());
    }
    let areas = screen.areas(common, layout);
    let mut cursor = matrix::draw(screen, common, canvas, areas.nodes);
    if let Some(at) = problems::draw(screen, common, canvas, areas.problems) {
        cursor = Some(at);
    }
    detail(screen, common, canvas, areas.selected, has_columns(layout));
    if has_columns(layout) {
        canvas.bar(Rect { x: areas.problems.right(), width: 1, ..areas.problems });
    }
    newest(screen, common, canvas, areas.newest);
    traffic::draw(canvas, areas.band, &screen.charts.traffic, screen.charts.ack_ms);
    cursor
}

/// Draws the chosen problem if its list has the focus, else the selected node.
fn detail(screen: &OverviewScreen, common: &Common, canvas: &mut Canvas, area: Rect, is_beside: bool) {
    let is_problem = common.pane == Pane::Second;
    if area.height < 2 || (screen.row().is_none() && !is_problem) {
        return;
    }
    let inner = pane_area(area);
    let lines = match is_problem || common.is_full_screen || is_beside {
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
    canvas.pane(area, &name, &remark, common.is_full_screen);
    canvas.lines(inner, &lines, screen.scroll);
}

/// Draws the newest messages of all streams.
fn newest(screen: &OverviewScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    if area.height < 3 {
        return;
    }
    let inner = canvas.pane(area, "newest messages", "3 timeline", false);
    // The evidence may have taken lines since the messages were loaded.
    let left_out = screen.newest.len().saturating_sub(usize::from(inner.height).saturating_sub(1));
    let lines = screen.newest.get(left_out..).unwrap_or_default();
    let list = MessagesApart { lines, of_one: false, marked: None, bright: None };
    list.draw(common, canvas, inner);
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
    /// The last minutes or, of a recording, the whole time, in one band.
    pub band: Rect,
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
    /// The lines of the charts of all nodes.
    pub band: u16,
}

/// Lines about the selected node, with their rule.
const SELECTED_NODE_LINES: u16 = 4;
/// Columns from which on problems and evidence stand side by side.
const WIDTH_OF_TWO: u16 = 140;
/// The fewest lines of the newest messages, with their title.
const MIN_NEWEST_LINES: u16 = 6;

/// Whether problems and evidence stand side by side.
fn has_columns(layout: &Layout) -> bool {
    layout.body.width >= WIDTH_OF_TWO && !layout.low
}

/// Columns of the problems that stand beside their evidence.
fn problems_width(layout: &Layout) -> u16 {
    let width = layout.body.width;
    if layout.wide { width * 3 / 5 } else { width * 11 / 20 }
}

/// Divides the body.
pub(crate) fn areas(layout: &Layout, wanted: WantedLines) -> OverviewAreas {
    let body = layout.body;
    let gap = u16::from(!layout.low);
    let (body, band) = layout::split(body, body.height.saturating_sub(wanted.band));
    let nothing = Rect { height: 0, ..band };
    if has_columns(layout) {
        // The message pane of the previous screen may still take almost all lines.
        let half = body.height / 2;
        let least = layout::height(wanted.problems).clamp(half.min(6), half);
        let room = body.height.saturating_sub(least + gap);
        let (nodes, rest) = layout::split(body, layout::height(wanted.nodes).min(room));
        let (_, rest) = layout::split(rest, gap);
        let lower = layout::height(wanted.whole_problems.max(wanted.detail.unwrap_or(0)));
        let newest = rest.height.saturating_sub(lower.saturating_add(gap));
        let newest = if newest >= MIN_NEWEST_LINES { newest } else { 0 };
        let (lower, newest) = layout::split(rest, rest.height - newest);
        let (lower, _) =
            layout::split(lower, lower.height.saturating_sub(if newest.is_empty() { 0 } else { gap }));
        let (problems, selected) = layout::beside(lower, problems_width(layout));
        return OverviewAreas { nodes, problems, selected, newest, band };
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
    OverviewAreas { nodes, problems, selected, newest: nothing, band }
}
