//! Overview drawn: nodes, problems, the selected node.

use ratatui::layout::{Position, Rect};

use crate::tui::common::Common;
use crate::tui::widgets::canvas::{Canvas, StyledLine, plain};
use crate::tui::widgets::layout::{self, Layout};

use super::state::OverviewScreen;
use super::{matrix, node, problems};

/// The number of lines of the nodes and of the problems, with their titles.
pub(super) fn wanted_lines(screen: &OverviewScreen, common: &Common) -> (usize, usize) {
    let table = &screen.table;
    let none = usize::from(table.rows.is_empty() && common.filter.is_some());
    let rows = 1 + none + table.rows.len() + 2 * usize::from(table.folded > 0);
    (rows, 1 + problems::problem_lines(common).count().max(1))
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
    let (rows, problem_lines) = wanted_lines(screen, common);
    let areas = areas(layout, rows, problem_lines);
    let mut cursor = matrix::draw(screen, common, canvas, areas.nodes, layout);
    if let Some(at) = problems::draw(screen, common, canvas, areas.problems) {
        cursor = Some(at);
    }
    node::draw(screen, common, canvas, areas.selected);
    cursor
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

/// Divides the body for `rows` lines of nodes and `problems` lines of problems, both with their
/// titles.
pub(crate) fn areas(layout: &Layout, rows: usize, problems: usize) -> OverviewAreas {
    let body = layout.body;
    let want = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let selected = if layout.low || layout.wide { 0 } else { SELECTED_NODE_LINES + gap };
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
