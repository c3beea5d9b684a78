//! The list of problems and waits, and all words of the chosen one.

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane};
use crate::input::screen_id::ScreenId;
use crate::screens::shared::side_by_side;
use crate::widgets::canvas::{self, Canvas, Span, StyledLine, plain, span};
use crate::widgets::list::{line_at, scroll};
use crate::widgets::table::{self, Column, column};
use crate::widgets::text::{field, long_text};
use crate::widgets::theme;
use xdscope_engine::nack::without_long_dumps;
use xdscope_engine::problems::ProblemFact;
use xdscope_present::body_comparison::BodyComparison;
use xdscope_present::report::{self, Role};
use xdscope_present::text::cut_long_words;
use xdscope_present::text::{Keep, cut, wrap};
use xdscope_wire::text;
use xdscope_wire::text::{display_safe, shown_name, type_label};

use super::state::OverviewScreen;

/// Cells of the reason of a client in the list. The detail has all.
const MAX_REASON_WIDTH: usize = 300;
/// Lines of the reason before the other facts in the detail.
const MAX_REASON_LINES: usize = 2;
/// Rows of a text in the list.
const MAX_TEXT_LINES: usize = 4;
/// The longest list whose texts can be whole.
const MAX_WHOLE_LINES: usize = 40;
/// Columns below which names are short.
const NARROW_WIDTH: u16 = 82;
/// Lines of the refused content beside the accepted one in the detail.
const MAX_BODY_LINES: usize = 20;
/// Messages of the evidence in the detail.
const MAX_SHOWN_MESSAGES: usize = 8;

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemLine {
    /// A problem, by its index.
    Problem(usize),
    /// The reason of the client, by the index of the problem.
    Reason(usize),
}

impl ProblemLine {
    fn index(self) -> usize {
        match self {
            ProblemLine::Problem(at) | ProblemLine::Reason(at) => at,
        }
    }
}

/// The lines of the list: problems with their errors.
pub(super) fn problem_lines(common: &Common) -> impl Iterator<Item = ProblemLine> {
    common.problems.listed().into_iter().flat_map(|i| {
        let reason = common.problems.has_reason(i).then_some(ProblemLine::Reason(i));
        [ProblemLine::Problem(i)].into_iter().chain(reason)
    })
}

/// The columns of a list of this width. Where problems take several lines, names are whole first.
fn columns(width: u16, is_wrapped: bool) -> [Column; 5] {
    let max_node = if width < NARROW_WIDTH { 12 } else { 24 };
    [
        column("STATE", 9, 10, Keep::Head, 0),
        column("AGE", 6, 6, Keep::Head, 0),
        column("NODE", 8, max_node, Keep::Name, 0),
        column("TYPE", 4, 16, Keep::Name, 0),
        column("PROBLEM", 20, 400, Keep::Head, 0).keeping(if is_wrapped { 24 } else { 40 }),
    ]
}

/// The rows of the list, each with the index of its problem.
struct Listing {
    columns: [Column; 5],
    widths: Vec<Option<usize>>,
    rows: Vec<(usize, StyledLine)>,
}

/// Lists these lines in `height` rows. Long texts take further rows while there are free ones.
fn listing(common: &Common, lines: &[ProblemLine], width: u16, height: usize) -> Listing {
    let mut free = height.saturating_sub(lines.len());
    let columns = columns(width, free > 0);
    let cells: Vec<StyledLine> = lines.iter().map(|line| cells(common, *line)).collect();
    let widths = table::widths(&common.widths, &columns, &cells, usize::from(width).saturating_sub(1));
    let text_width = widths.last().copied().flatten().unwrap_or_default();
    let mark = common.theme.glyphs().cut;
    let mut rows = Vec::with_capacity(lines.len());
    for (line, mut row) in lines.iter().zip(cells) {
        let Some(Span { text, role, .. }) = row.pop() else { continue };
        let most = MAX_TEXT_LINES.min(free + 1);
        let mut parts = match most {
            1 => vec![text],
            _ => {
                let text = display_safe(&text);
                let text = cut_long_words(&text, text_width, mark);
                wrap(&cut(&text, text_width * MAX_TEXT_LINES, Keep::Head, mark), text_width)
            }
        };
        if parts.len() > most {
            // The list cuts the last line.
            let last = parts.split_off(most - 1).join(" ");
            parts.push(last);
        }
        free -= parts.len() - 1;
        for part in parts {
            row.push(span(part, role));
            rows.push((line.index(), std::mem::replace(&mut row, vec![plain(""); columns.len() - 1])));
        }
    }
    Listing { columns, widths, rows }
}

/// The number of rows of the whole list in this width, without its titles, if each text is whole.
pub(super) fn whole_lines(common: &Common, width: u16) -> usize {
    let lines: Vec<ProblemLine> = problem_lines(common).take(MAX_WHOLE_LINES + 1).collect();
    match lines.len() {
        0 => 1,
        n if n > MAX_WHOLE_LINES => n,
        n => listing(common, &lines, width, n * MAX_TEXT_LINES).rows.len(),
    }
}

/// The sentence of a problem, in the signs of the theme.
fn sentence(common: &Common, problem: &ProblemFact) -> String {
    let sentence = report::problem(problem, &common.clock);
    if common.theme.ascii { sentence.replace('×', "x") } else { sentence }
}

/// The symbol and word of a problem.
fn state(common: &Common, problem: &ProblemFact) -> Span {
    let (word, role) = report::problem_word(problem);
    span(format!("{} {word}", theme::problem_symbol(problem, common.theme.glyphs())), role)
}

/// The cells of a line, in the order of the columns.
fn cells(common: &Common, line: ProblemLine) -> StyledLine {
    let Some(problem) = common.problems.all.get(line.index()) else { return StyledLine::new() };
    if let ProblemLine::Reason(_) = line {
        let reason = problem.reason().unwrap_or_default();
        let reason = cut(&reason, MAX_REASON_WIDTH, Keep::Ends, common.theme.glyphs().cut);
        let reason = span(reason, Role::Muted);
        return vec![plain(""), plain(""), plain(""), plain(""), reason];
    }
    let label = match problem.type_url.is_empty() {
        true => "-".to_owned(),
        false => type_label(problem.type_url.as_str()),
    };
    vec![
        state(common, problem),
        plain(common.age(problem.since)),
        plain(report::problem_client(problem)),
        plain(label),
        plain(sentence(common, problem)),
    ]
}

/// The rows of the list in its area, from the first one shown.
fn shown_rows(screen: &OverviewScreen, common: &Common, list: Rect) -> (Listing, usize) {
    let lines: Vec<ProblemLine> = problem_lines(common).collect();
    let chosen = chosen_problem(screen, common);
    let chosen_line = lines.iter().position(|line| chosen == Some(line.index())).unwrap_or(0);
    let height = usize::from(list.height).saturating_sub(1);
    let top = scroll(0, chosen_line, height, lines.len());
    let below = lines.len().saturating_sub(top + height);
    let visible = lines.get(top..lines.len() - below).unwrap_or_default();
    (listing(common, visible, list.width, height), below)
}

/// The problem at a row of the terminal.
pub(super) fn problem_at(screen: &OverviewScreen, common: &Common, area: Rect, y: u16) -> Option<usize> {
    let list = canvas::pane_area(area);
    let (listing, _) = shown_rows(screen, common, list);
    let line = line_at(list, Position { x: list.x, y })?;
    listing.rows.get(line).map(|(index, _)| *index)
}

/// The problem with the mark: the chosen one or, without the focus, that of the selected node.
fn chosen_problem(screen: &OverviewScreen, common: &Common) -> Option<usize> {
    match common.pane {
        Pane::Second => Some(common.problems.index()),
        Pane::Main => screen.row().and_then(|row| common.problems.worst.of_row(row)),
    }
}

/// The words of an empty list, with the key that leads to problems out of its scope.
fn no_problem(common: &Common) -> String {
    let all = common.problems.all.len();
    let key = if common.filter_on(ScreenId::Overview).is_some() {
        "Esc clears the filter"
    } else {
        "T shows all types"
    };
    match all {
        0 => " none".to_owned(),
        _ => format!(" none in this scope, {} in all; {key}", text::count(all as u64)),
    }
}

/// Draws the list. Returns the position of the selected problem if the list has the focus.
pub(super) fn draw(
    screen: &OverviewScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
) -> Option<Position> {
    let listed = common.problems.listed().len();
    if listed == 0 {
        let list = canvas.pane(area, "problems and waits", "", false);
        canvas.text(list, &no_problem(common), Role::Muted);
        return None;
    }
    let heading = match listed < common.problems.all.len() {
        true => format!("problems and waits, {listed} of {} in scope", common.problems.all.len()),
        false => "problems and waits, worst first".to_owned(),
    };
    let has_focus = common.pane == Pane::Second;
    let chosen = chosen_problem(screen, common);
    let list = canvas::pane_area(area);
    let (Listing { columns, widths, rows }, below) = shown_rows(screen, common, list);
    let remark = match below {
        0 => "Tab j next problem, Enter open".to_owned(),
        n => format!("{} below, Tab j next problem", text::plural(n as u64, "line")),
    };
    canvas.pane(area, &heading, &remark, has_focus);
    let inner = Rect { x: list.x + 1, width: list.width.saturating_sub(1), ..list };
    canvas.line(inner, &table::titles(&columns, &widths, has_focus));
    let mut cursor = None;
    for (area, (index, row)) in inner.rows().skip(1).zip(&rows) {
        canvas.line(area, &table::fit(&columns, &widths, row, common.theme.glyphs()));
        if chosen == Some(*index) {
            let whole = Rect { x: list.x, width: list.width, ..area };
            canvas.cursor(whole, has_focus);
            cursor = cursor.or(Some(whole.as_position()));
        }
    }
    if has_focus { cursor } else { None }
}

/// The title above the words of the chosen problem.
pub(super) fn detail_title(common: &Common) -> String {
    let Some(problem) = common.problems.chosen() else { return "no problem".to_owned() };
    let (at, count) = (common.problems.index() + 1, common.problems.count());
    let number = match problem.is_wrong() {
        true => format!("problem {at} of {count}"),
        false => "in time".to_owned(),
    };
    format!("{number}: {} {}", report::problem_place(problem), report::problem_word(problem).0)
}

/// All words of a problem, with its refused field and the rules that were broken by its cause.
pub(super) fn detail_lines(
    problem: Option<&ProblemFact>,
    refused: Option<&BodyComparison>,
    rules: &[&'static str],
    common: &Common,
    width: usize,
) -> Vec<StyledLine> {
    let Some(problem) = problem else { return Vec::new() };
    let (_, role) = report::problem_word(problem);
    let mut lines = long_text(&sentence(common, problem), role, width);
    if let Some(reason) = problem.reason() {
        // The whole text is at the end.
        let brief = cut(&reason, MAX_REASON_LINES * width, Keep::Ends, common.theme.glyphs().cut);
        lines.extend(long_text(&brief, Role::Bad, width));
    }
    let mut add = |label: &str, value: &str| {
        if !value.is_empty() {
            lines.extend(field(&format!(" {label:<8} "), value, Role::Plain, width));
        }
    };
    if let Some(compared) = refused
        && let Some(field) = compared.faulty_field()
    {
        add("field", &format!("{} {}", shown_name(&compared.name), display_safe(field.path)));
        if let Some(version) = &compared.version {
            let value = field.good.unwrap_or("not set");
            add("accepted", &format!("{}: {}", display_safe(version), display_safe(value)));
        }
        add("refused", &format!("{}   {}", display_safe(field.refused), display_safe(field.why)));
    }
    let since = report::problem_since(problem, &common.clock, common.now, &common.zone);
    add("since", &since);
    add("blame", problem.blame.word());
    let messages = problem.messages.iter().take(MAX_SHOWN_MESSAGES);
    let mut messages = messages.map(|n| format!("#{}", n.0)).collect::<Vec<_>>().join(" ");
    if let more @ 1.. = problem.messages.len().saturating_sub(MAX_SHOWN_MESSAGES) {
        messages.push_str(&format!(" +{} more", text::count(more as u64)));
    }
    add("messages", &messages);
    add("rules", &rules.join(", "));
    add("more", &report::next_step(problem, &common.info.rerun));
    if let Some(quote) = problem.quote() {
        lines.extend(long_text(&format!("\"{}\"", without_long_dumps(quote)), Role::Bad, width));
    }
    if let Some(compared) = refused {
        lines.push(vec![]);
        let bodies = side_by_side::bodies(common.theme, compared, false, width);
        lines.extend(bodies.into_iter().take(MAX_BODY_LINES));
    }
    lines
}
