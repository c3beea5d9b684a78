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

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemLine {
    /// A problem, by its index.
    Problem(usize),
    /// The quoted error of a problem, by the index of the problem.
    Quote(usize),
    /// A problem that a stream closed with, by its index.
    LastWord(usize),
}

/// The lines of the list: problems with their errors, then problems of closed streams.
pub(super) fn problem_lines(screen: &OverviewScreen, common: &Common) -> impl Iterator<Item = ProblemLine> {
    let last = (0..screen.table.last_words.len()).map(ProblemLine::LastWord);
    let problems = common.problems.iter().enumerate().flat_map(|(i, problem)| {
        let quote = problem.quote().map(|_| ProblemLine::Quote(i));
        [ProblemLine::Problem(i)].into_iter().chain(quote)
    });
    problems.chain(last)
}

fn line(screen: &OverviewScreen, common: &Common, line: ProblemLine, width: usize) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let names = if width < 100 { 12 } else { 16 };
    let start = |state, since, node: &str, text: String| {
        let theme::StateMark { symbol, word, role } = theme::state_mark(state, glyphs);
        let node = text::display_safe(node);
        vec![
            span(format!(" {symbol} {} ", pad(word, 6)), role),
            plain(pad(&common.age(since), 5)),
            plain(pad(&text::cut_name(&node, names, glyphs.cut), names + 1)),
            plain(text),
        ]
    };
    match line {
        ProblemLine::Problem(at) => common.problems.get(at).map_or_else(StyledLine::new, |problem| {
            let node =
                problem.node.as_deref().map_or_else(|| format!("#{}", problem.stream.0), str::to_owned);
            start(problem.state, problem.since, &node, report::problem(problem, &common.clock))
        }),
        ProblemLine::Quote(at) => {
            let quote = common.problems.get(at).and_then(|problem| problem.quote());
            let quote = quote.map_or("", |quote| quote);
            vec![plain(" ".repeat(15)), span(format!("\"{quote}\""), Role::Muted)]
        }
        ProblemLine::LastWord(at) => screen.table.last_words.get(at).map_or_else(StyledLine::new, |last| {
            start(last.state, last.closed, &last.node, format!("last {} when its stream closed", last.text))
        }),
    }
}

/// Draws the list. Returns the position of the selected problem if the list has the focus.
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
    let lines: Vec<ProblemLine> = problem_lines(screen, common).collect();
    let has_focus = common.pane == Pane::Second;
    let is_selected = |line: &ProblemLine| matches!(line, ProblemLine::Problem(at) | ProblemLine::Quote(at) if *at == screen.problem);
    let at = lines.iter().position(is_selected).filter(|_| has_focus).unwrap_or(0);
    let top = scroll(0, at, usize::from(list.height), lines.len());
    let remark = match lines.len().saturating_sub(top + usize::from(list.height)) {
        0 => "} next problem, Enter open".to_owned(),
        n => format!("{} below, }} next problem", plural(n as u64, "line")),
    };
    canvas.rule(title, "problems and waits, newest first", &remark);
    let mut cursor = None;
    for (row, problem) in list.rows().zip(lines.iter().skip(top)) {
        canvas.line(row, &line(screen, common, *problem, usize::from(area.width)));
        if has_focus && is_selected(problem) {
            if cursor.is_none() {
                canvas.text(row, canvas.glyphs().selected, Role::Plain);
                cursor = Some(Position { x: row.x, y: row.y });
            }
            canvas.select(row);
        }
    }
    cursor
}
