//! Overview drawn: nodes, problems, the selected node.

use ratatui::layout::{Position, Rect};

use crate::present::report::{Role, Row};
use crate::tui::common::{Common, Pane};
use crate::tui::widgets::canvas::{Canvas, StyledLine, plain};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::text::field;
use crate::wire::text::plural;

use super::state::OverviewScreen;
use super::{matrix, node, problems};

/// The number of lines of the nodes, with their title.
pub(super) fn node_lines(screen: &OverviewScreen, common: &Common) -> usize {
    let table = &screen.table;
    let none = usize::from(table.rows.is_empty() && common.filter.is_some());
    1 + none + table.rows.len() + 2 * usize::from(table.folded > 0)
}

/// The number of lines of the nodes, of the problems, and of the chosen problem if the list has the
/// focus, with their titles.
pub(super) fn wanted_lines(
    screen: &OverviewScreen,
    common: &Common,
    layout: &Layout,
) -> (usize, usize, Option<usize>) {
    let titles = if common.problems.is_empty() { 1 } else { 2 };
    let detail = (common.pane == Pane::Second && !common.problems.is_empty())
        .then(|| 1 + detail_lines(screen, common, usize::from(layout.body.width)).len());
    let problems = titles + problems::problem_lines(common).count().max(1);
    (node_lines(screen, common), problems, detail)
}

/// The lines about the chosen problem if its list has the focus, else about the selected node.
pub(super) fn detail_lines(screen: &OverviewScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    match common.pane {
        Pane::Second => problems::detail_lines(screen, common, width),
        Pane::Main => {
            node::lines(screen, common, usize::MAX).iter().flat_map(|l| unfolded(l, width)).collect()
        }
    }
}

/// A line of a label and words, wrapped.
fn unfolded(line: &StyledLine, width: usize) -> Vec<StyledLine> {
    let Some((label, words)) = line.split_first() else { return Vec::new() };
    let role = words.first().map_or(Role::Plain, |word| word.role);
    let words: String = words.iter().map(|word| word.text.as_str()).collect();
    field(&label.text, &words, role, width)
}

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
        detail(screen, common, canvas, layout.body);
        return Some(layout.body.as_position());
    }
    let areas = screen.areas(common, layout);
    let mut cursor = matrix::draw(screen, common, canvas, areas.nodes, layout);
    if let Some(at) = problems::draw(common, canvas, areas.problems) {
        cursor = Some(at);
    }
    detail(screen, common, canvas, areas.selected);
    cursor
}

/// Draws the chosen problem if its list has the focus, else the selected node.
fn detail(screen: &OverviewScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    let is_problem = common.pane == Pane::Second;
    if area.height < 2 || (screen.row().is_none() && !is_problem) {
        return;
    }
    let (title, rest) = layout::split(area, 1);
    let lines = match is_problem || common.is_full_screen {
        true => detail_lines(screen, common, usize::from(rest.width)),
        false => node::lines(screen, common, usize::from(rest.height)),
    };
    let name = match is_problem {
        true => problems::detail_title(common),
        false => format!("selected: {}", screen.row().map_or(String::new(), Row::full_name)),
    };
    let hidden = lines.len().saturating_sub(screen.scroll + usize::from(rest.height)) as u64;
    let remark = match (hidden, common.is_full_screen) {
        (0, _) => String::new(),
        (n, true) => format!("{} below, j", plural(n, "line")),
        (n, false) => format!("{} below, \\ full screen", plural(n, "line")),
    };
    canvas.rule(title, &name, &remark);
    canvas.lines(rest, &lines, screen.scroll);
}

fn empty(common: &Common, canvas: &mut Canvas, area: Rect) {
    let lines = if common.info.empty.is_empty() {
        vec!["no stream yet".to_owned()]
    } else {
        common.info.empty.clone()
    };
    let lines: Vec<StyledLine> = lines.into_iter().map(|line| vec![plain(format!("   {line}"))]).collect();
    let (_, area) = layout::split(area, 1);
    canvas.lines(area, &lines, 0);
}

/// The areas of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverviewAreas {
    pub nodes: Rect,
    pub problems: Rect,
    /// The selected node.
    pub selected: Rect,
}

/// Lines about the selected node, with their rule.
const SELECTED_NODE_LINES: u16 = 4;

/// Divides the body for `rows` lines of nodes, `problems` lines of problems, and `detail` lines of
/// the chosen problem if its list has the focus, all with their titles.
pub(crate) fn areas(layout: &Layout, rows: usize, problems: usize, detail: Option<usize>) -> OverviewAreas {
    let body = layout.body;
    let want = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let selected = match detail {
        _ if layout.wide => 0,
        Some(lines) => want(lines).min((body.height / 3).max(SELECTED_NODE_LINES)) + gap,
        None if layout.low => 0,
        None => SELECTED_NODE_LINES + gap,
    };
    let least = want(problems).min(body.height / 3);
    let room = body.height.saturating_sub(selected + least + gap);
    let (nodes, rest) = layout::split(body, want(rows).min(room));
    let (_, rest) = layout::split(rest, gap);
    if layout.wide {
        let (problems, selected) = layout::beside(rest, rest.width * 5 / 9);
        return OverviewAreas { nodes, problems, selected };
    }
    let (problems, rest) = layout::split(rest, want(problems).min(rest.height.saturating_sub(selected)));
    let (_, selected) = layout::split(rest, gap);
    OverviewAreas { nodes, problems, selected }
}
