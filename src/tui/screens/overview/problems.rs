//! The list of problems and waits.

use ratatui::layout::{Position, Rect};

use crate::present::report::{self, Role};
use crate::tui::common::{Common, Pane};
use crate::tui::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::tui::widgets::layout;
use crate::tui::widgets::list::scroll;
use crate::tui::widgets::theme;
use crate::wire::text::{self, pad, plural};

use super::state::OverviewScreen;

/// One line a problem, and one for the peer's own words: the index of the problem, and whether it is those. After them the
/// last words of closed streams, which nobody owes anything for any more.
pub(super) fn problem_lines(screen: &OverviewScreen, common: &Common) -> impl Iterator<Item = (usize, bool)> {
    let last = (0..screen.table.last_words.len()).map(|i| (common.problems.len() + i, false));
    let problems = common.problems.iter().enumerate().flat_map(|(i, problem)| {
        let quoted = problem.quote().is_some();
        [(i, false)].into_iter().chain(quoted.then_some((i, true)))
    });
    problems.chain(last)
}

fn problem_line(
    screen: &OverviewScreen,
    common: &Common,
    (i, quoted): (usize, bool),
    width: usize,
) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let names = if width < 100 { 12 } else { 16 };
    let start = |state, since, node: &str| {
        let (symbol, word, role) = theme::state(state, glyphs);
        let node = text::display_safe(node);
        vec![
            span(format!(" {symbol} {} ", pad(word, 6)), role),
            plain(pad(&common.age(since), 5)),
            plain(pad(&text::cut_name(&node, names, glyphs.cut), names + 1)),
        ]
    };
    let Some(problem) = common.problems.get(i) else {
        let last = i.checked_sub(common.problems.len()).and_then(|i| screen.table.last_words.get(i));
        let Some(last) = last else { return StyledLine::new() };
        let mut line = start(last.state, last.closed, &last.node);
        line.push(plain(format!("last {} when its stream closed", last.text)));
        return line;
    };
    if quoted {
        let quote = problem.quote().map_or("", |quote| quote);
        return vec![plain(" ".repeat(15)), span(format!("\"{quote}\""), Role::Muted)];
    }
    let node = problem.node.as_deref().map_or_else(|| format!("#{}", problem.stream.0), str::to_owned);
    let mut line = start(problem.state, problem.since, &node);
    line.push(plain(report::problem(problem, &common.clock)));
    line
}

pub(super) fn draw(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
) -> Option<Position> {
    let (title, list) = layout::split(area, 1);
    if common.problems.is_empty() && screen.table.last_words.is_empty() {
        canvas.rule(title, "problems and waits", "");
        canvas.text(list, " none", Role::Muted);
        return None;
    }
    let lines: Vec<(usize, bool)> = problem_lines(screen, common).collect();
    let focused = common.pane == Pane::Second;
    let at = lines.iter().position(|(i, _)| *i == screen.problem).filter(|_| focused).unwrap_or(0);
    let top = scroll(0, at, usize::from(list.height), lines.len());
    let remark = match lines.len().saturating_sub(top + usize::from(list.height)) {
        0 => "} next problem, Enter open".to_owned(),
        n => format!("{} below, }} next problem", plural(n as u64, "line")),
    };
    canvas.rule(title, "problems and waits, newest first", &remark);
    let mut cursor = None;
    for (row, place) in list.rows().zip(lines.iter().skip(top)) {
        canvas.line(row, &problem_line(screen, common, *place, usize::from(area.width)));
        if focused && place.0 == screen.problem && place.0 < common.problems.len() {
            if cursor.is_none() {
                canvas.text(row, canvas.glyphs().selected, Role::Plain);
                cursor = Some(Position { x: row.x, y: row.y });
            }
            canvas.select(row);
        }
    }
    cursor
}
