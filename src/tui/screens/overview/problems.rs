//! The list of problems and waits.

use ratatui::layout::{Position, Rect};

use crate::engine::problems::ProblemFact;
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
}

/// The lines of the list: problems with their errors.
pub(super) fn problem_lines(common: &Common) -> impl Iterator<Item = ProblemLine> {
    common.problems.iter().enumerate().flat_map(|(i, problem)| {
        let quote = problem.quote().map(|_| ProblemLine::Quote(i));
        [ProblemLine::Problem(i)].into_iter().chain(quote)
    })
}

/// The symbol, word, age, node and sentence of a problem.
fn problem_line(common: &Common, problem: &ProblemFact, width: usize) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let names: usize = if width < 100 { 12 } else { 16 };
    let (word, role) = report::problem_word(problem);
    let symbol = match problem.state() {
        Some(state) => theme::state_mark(state, glyphs).symbol,
        None => "!",
    };
    let (node, stream) = (report::problem_node(problem), report::problem_stream(problem));
    let room = names.saturating_sub(stream.len());
    let node = text::cut_name(&text::display_safe(&node), room, glyphs.cut).into_owned() + &stream;
    let sentence = report::problem(problem, &common.clock);
    let sentence = if glyphs.times == "x" { sentence.replace('×', "x") } else { sentence };
    vec![
        span(format!(" {symbol} {} ", pad(word, 7)), role),
        plain(pad(&common.age(problem.since), 6)),
        plain(pad(&node, names + 1)),
        plain(sentence),
    ]
}

fn line(common: &Common, line: ProblemLine, width: usize) -> StyledLine {
    match line {
        ProblemLine::Problem(at) => {
            let problem = common.problems.get(at);
            problem.map_or_else(StyledLine::new, |problem| problem_line(common, problem, width))
        }
        ProblemLine::Quote(at) => {
            let quote = common.problems.get(at).and_then(|problem| problem.quote());
            let quote = quote.map_or("", |quote| quote);
            vec![plain(" ".repeat(17)), span(format!("\"{quote}\""), Role::Muted)]
        }
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
    if common.problems.is_empty() {
        canvas.rule(title, "problems and waits", "");
        canvas.text(list, " none", Role::Muted);
        return None;
    }
    let lines: Vec<ProblemLine> = problem_lines(common).collect();
    let has_focus = common.pane == Pane::Second;
    let is_selected = |line: &ProblemLine| matches!(line, ProblemLine::Problem(at) | ProblemLine::Quote(at) if *at == screen.problem);
    let at = lines.iter().position(is_selected).filter(|_| has_focus).unwrap_or(0);
    let top = scroll(0, at, usize::from(list.height), lines.len());
    let remark = match lines.len().saturating_sub(top + usize::from(list.height)) {
        0 => "} next problem, Enter open".to_owned(),
        n => format!("{} below, }} next problem", plural(n as u64, "line")),
    };
    canvas.rule(title, "problems and waits, worst first", &remark);
    let mut cursor = None;
    for (row, problem) in list.rows().zip(lines.iter().skip(top)) {
        canvas.line(row, &line(common, *problem, usize::from(area.width)));
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
