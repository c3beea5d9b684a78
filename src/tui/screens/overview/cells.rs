//! The cells of a node: states, stream, and what is wrong.

use crate::common::Common;
use crate::screens::shared::millis;
use crate::widgets::canvas::{Span, marked, plain, span};
use crate::widgets::theme;
use xdscope_engine::problems::Problem;
use xdscope_engine::store::{SummaryFact, TypeState};
use xdscope_present::report::{self, Role, Row};
use xdscope_present::text::{Keep, cut, pad, width};
use xdscope_wire::event::Variant;
use xdscope_wire::text::{count, display_safe};

/// Columns of an age in one unit, so that columns keep their widths while ages change.
const AGE_WIDTH: usize = 4;

/// The cells of a row as text: node, variant, one per type, and what is wrong.
pub(super) fn overview_row(common: &Common, row: &Row) -> Vec<Span> {
    let mut cells = vec![name(row), span(row.variant.map_or("opaque", Variant::word), Role::Muted)];
    cells.extend(row.cells.iter().map(|cell| state(common, cell.as_deref())));
    cells.push(reason(common, row));
    cells
}

/// The name of a node.
pub(super) fn name(row: &Row) -> Span {
    let is_gone = row.is_closed() || row.variant.is_none();
    span(row.title(), if is_gone { Role::Muted } else { Role::Plain })
}

/// The symbol, word and age of a state: `✗ NACK×3 8s`, `∅ MISS 1/119 22s`.
pub(super) fn state(common: &Common, cell: Option<&SummaryFact>) -> Span {
    let glyphs = common.theme.glyphs();
    let Some(cell) = cell else { return span("- idle", Role::Muted) };
    let theme::StateMark { symbol, role, .. } = theme::state_mark(cell.state, glyphs);
    let words = report::state_text(cell.state, cell, glyphs.times);
    let state = match cell.state {
        TypeState::Idle => span(format!("{symbol} {words}"), role),
        TypeState::Closed => closed_state(common, cell, &words),
        TypeState::Synced => marked(format!("{symbol} {words} {}", age(common, cell)), role, Role::Muted),
        _ => span(format!("{symbol} {words} {}", age(common, cell)), role),
    };
    diverged(common, cell, state)
}

/// Marks a state of a type on which client and server believe different things.
fn diverged(common: &Common, cell: &SummaryFact, state: Span) -> Span {
    match cell.is_diverged {
        true => span(format!("{}{}", common.theme.glyphs().diverged, state.text), Role::Warn),
        false => state,
    }
}

/// The state in few columns: `✓ 21s`, `✗ NACK×3`, `∅ 1/119`, with the age of a problem if wanted.
pub(super) fn brief_state(common: &Common, cell: Option<&SummaryFact>, with_age: bool) -> Span {
    let glyphs = common.theme.glyphs();
    let Some(cell) = cell.filter(|cell| cell.state != TypeState::Idle) else {
        return span(theme::state_mark(TypeState::Idle, glyphs).symbol, Role::Muted);
    };
    let mark = theme::state_mark(cell.state, glyphs);
    let age = pad(&age(common, cell), AGE_WIDTH);
    let words = report::state_text(cell.state, cell, glyphs.times);
    let missing = cell.overdue + cell.errors;
    let state = match (cell.state, with_age) {
        // Green is quiet.
        (TypeState::Synced, _) => marked(format!("{} {age}", mark.symbol), mark.role, Role::Muted),
        (TypeState::Closed, _) => {
            let is_quiet = matches!(cell.last_state, Some(TypeState::Synced | TypeState::Idle));
            closed_state(common, cell, if is_quiet { "" } else { &words })
        }
        (TypeState::Miss, false) if missing > 0 && missing <= cell.names => {
            span(format!("{} {}/{}", mark.symbol, count(missing), count(cell.names)), mark.role)
        }
        (_, false) => span(format!("{} {words}", mark.symbol), mark.role),
        (_, true) => span(format!("{} {words} {age}", mark.symbol), mark.role),
    };
    diverged(common, cell, state)
}

/// The last state of a closed stream, behind the sign of a closed one: `#✗ NACK`. `words`: those of
/// the state.
fn closed_state(common: &Common, cell: &SummaryFact, words: &str) -> Span {
    let last = cell.last_state.or(Some(cell.state));
    span(theme::marked_state(cell.state, last, words, common.theme.glyphs()), Role::Muted)
}

fn age(common: &Common, cell: &SummaryFact) -> String {
    common.short_age(cell.since)
}

/// The stream of a node: variant and age, or how often streams have ended.
pub(super) fn stream(common: &Common, row: &Row) -> Span {
    let glyphs = common.theme.glyphs();
    let worst = common.problems.worst_of(row);
    let lives = worst.and_then(|problem| Some((problem, report::problem_lives(problem, &common.clock)?)));
    if let Some((problem, lives)) = lives {
        return span(format!("{} {lives}", glyphs.again), report::problem_word(problem).1);
    }
    let newest = row.streams.last();
    match (newest.and_then(|stream| stream.closed), row.variant) {
        (Some(at), _) if row.is_closed() => {
            span(format!("closed {}", pad(&common.short_age(at), AGE_WIDTH)), Role::Muted)
        }
        (_, None) => span("opaque", Role::Muted),
        (_, Some(variant)) => {
            let age = newest.map(|stream| common.short_age(stream.opened)).unwrap_or_default();
            span(format!("{} {}", variant.word(), pad(&age, AGE_WIDTH)), Role::Muted)
        }
    }
}

/// The defect of a node in at most `cells` cells.
///
/// A refusal keeps the reason of the client. A broken rule keeps the beginning of its sentence,
/// which has the names, and the mark of a guess.
pub(super) fn short_reason(common: &Common, row: &Row, cells: usize) -> Span {
    let reason = reason(common, row);
    let mut text = display_safe(&reason.text);
    let mark = common.theme.glyphs().cut;
    let worst = common.problems.worst_of(row);
    // The cell of the type says that it is refused; why it is, no other cell.
    let guess = if worst.is_some_and(|problem| problem.is_guess()) { "?" } else { "" };
    let refused = worst.filter(|problem| matches!(problem.problem, Problem::Refused(_)));
    let why = refused.and_then(|problem| problem.reason()).map(|why| format!("{why}{guess}"));
    if let Some(why) = &why
        && width(&text) > cells
    {
        text = display_safe(why);
    }
    let is_rule = worst.is_some_and(|problem| matches!(problem.problem, Problem::Broken(_)));
    let shortened = match text.strip_suffix('?') {
        Some(sentence) if is_rule && cells > 0 => {
            format!("{}?", cut(sentence, cells - 1, Keep::Head, mark))
        }
        _ => cut(&text, cells, if is_rule { Keep::Head } else { Keep::Reason }, mark).into_owned(),
    };
    Span { text: shortened, ..reason }
}

/// The defect of a node in a few words.
pub(super) fn reason(common: &Common, row: &Row) -> Span {
    if let Some(problem) = common.problems.worst_of(row) {
        let text = report::problem_reason(problem);
        return span(text, report::problem_word(problem).1);
    }
    if row.variant.is_none() {
        return span(row.opaque(), Role::Muted);
    }
    if row.is_closed()
        && let Some(end) = row.streams.last().and_then(|stream| stream.end.as_ref())
    {
        return span(report::end_words(end), Role::Muted);
    }
    plain("")
}

/// Median and 99th percentile of the answers.
pub(super) fn answers(ack_ms: Option<(f64, f64)>) -> [String; 2] {
    ack_ms.map_or(["-".to_owned(), "-".to_owned()], |(p50, p99)| [millis(p50), millis(p99)])
}
