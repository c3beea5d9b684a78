//! Screen 2 drawn: types, the selected type, the stream history.

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane};
use crate::input::screen_id::ScreenId;
use crate::screens::list_screen::draw_text;
use crate::screens::shared::list_table::ListTable;
use crate::screens::shared::message_rows::MessagesApart;
use crate::screens::shared::{lifetimes, millis, traffic};
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::list::{List, below_title};
use crate::widgets::table::{Column, column};
use crate::widgets::theme;
use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::store::{LineFact, StateFact, TypeState};
use xdscope_present::applied::applied_summary;
use xdscope_present::report::{self, Role};
use xdscope_present::text::{Keep, pad};
use xdscope_wire::text::{count, plural, type_label};

use super::{StreamScreen, detail, history};

/// Columns of an age, so that the column keeps its width while ages change.
const AGE_WIDTH: usize = 6;

/// The columns of the types.
pub(super) fn columns() -> [Column; 11] {
    [
        column("TYPE", 4, 16, Keep::Name, 0),
        column("STATE", 16, 24, Keep::Head, 0),
        column("IN FORCE", 8, 24, Keep::Tail, 0),
        column("OFFERED", 7, 24, Keep::Tail, 0),
        column("NONCE", 5, 16, Keep::Tail, 4),
        column("SUBSCRIBED", 10, 20, Keep::Head, 6),
        column("RESOURCES", 9, 16, Keep::Head, 7),
        column("PUSHES", 6, 9, Keep::Head, 3),
        column("RECENT", 8, 24, Keep::Tail, 2),
        column("ACK p50", 7, 9, Keep::Head, 5),
        column("LAST", 10, 10, Keep::Head, 1),
    ]
}

/// The index of the column with what the client has applied, if the source comes with a dump of
/// the client.
const APPLIED_COLUMN: usize = 7;

fn with_applied(columns: [Column; 11]) -> Vec<Column> {
    let mut columns = columns.to_vec();
    columns.insert(APPLIED_COLUMN, column("APPLIED", 9, 40, Keep::Head, 8));
    columns
}

fn applied_span(applied: Option<&AppliedDiff>) -> Span {
    match applied {
        None => span("-", Role::Muted),
        Some(applied) => {
            span(applied_summary(applied), if applied.is_problem() { Role::Bad } else { Role::Plain })
        }
    }
}

/// The cells of a type, in the order of the columns. `recent` are its pushes in the last minutes.
pub(super) fn stream_row(common: &Common, state: &StateFact, recent: Span) -> Vec<Span> {
    let muted = |text: Option<&str>| match text {
        Some(text) if !text.is_empty() => plain(text),
        _ => span("-", Role::Muted),
    };
    vec![
        plain(type_label(state.summary.type_url.as_str())),
        state_span(common, state),
        muted(state.versions.in_force.as_deref()),
        muted(state.versions.offered.as_deref()),
        muted(state.nonce.as_deref()),
        plain(report::subscribed(state)),
        plain(report::resource_count(state)),
        plain(count(state.traffic.pushes)),
        recent,
        plain(state.verdicts.ack_ms.map_or("-".to_owned(), |(p50, _)| millis(p50))),
        match &state.traffic.last_push {
            Some(push) if !common.clock.untimed => plain(format!("{} ago", common.age(push.at))),
            _ => span("-", Role::Muted),
        },
    ]
}

/// Returns the state of a type with its age.
fn state_span(common: &Common, state: &StateFact) -> Span {
    let glyphs = common.theme.glyphs();
    let theme::StateMark { symbol, role, .. } = theme::state_mark(state.summary.state, glyphs);
    let age = pad(&common.age(state.summary.since), AGE_WIDTH);
    let words = report::state_text(state.summary.state, state, glyphs.times);
    let text = match (state.summary.state, state.summary.last_state) {
        (TypeState::Idle, _) => format!("{symbol} {words}"),
        (TypeState::Closed, Some(last)) => {
            theme::marked_state(state.summary.state, Some(last), &words, glyphs)
        }
        _ => format!("{symbol} {words} {age}"),
    };
    span(text, role)
}

/// Draws the stream: reconnects, traffic, types, details. Returns the cursor.
pub(super) fn draw(
    screen: &StreamScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if screen.chain.is_empty() {
        let text = match &common.filter {
            Some(_) => "   no stream matches; Esc clears the filter",
            None if common.has_cursor() => "   no stream is open yet at the time cursor; $ goes to the end",
            None => "   no stream yet; 1 shows how to get one",
        };
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let lines = detail::lines(screen, common);
    let areas = super::areas(layout, screen.wanted_lines(common, layout, lines.len()));
    if !areas.lives.is_empty() {
        let (title, rest) = layout::split(areas.lives, 1);
        let lives = lifetimes::lives(&screen.chain).len();
        let below = lives.saturating_sub(usize::from(rest.height)) as u64;
        let remark = match below {
            0 => "newest first".to_owned(),
            n => format!("newest first, {} below: a lists all", count(n)),
        };
        canvas.rule(title, &plural(screen.chain.len() as u64, "stream"), &remark);
        lifetimes::draw(canvas, common, rest, &screen.chain, None, false);
    }
    traffic::draw(
        canvas,
        areas.charts,
        &screen.traffic,
        screen.state().and_then(|state| state.verdicts.ack_ms),
    );
    let height = below_title(areas.types);
    let has_applied = screen.applied.iter().any(Option::is_some);
    let row = |((state, applied), recent): ((&StateFact, &Option<AppliedDiff>), &Span)| {
        let mut row = stream_row(common, state, recent.clone());
        if has_applied {
            row.insert(APPLIED_COLUMN, applied_span(applied.as_ref()));
        }
        row
    };
    let types = screen.types.rows.iter().zip(&screen.applied).zip(&screen.recent);
    let rows: Vec<StyledLine> = types.skip(screen.types.top).take(height).map(row).collect();
    let table = ListTable {
        screen: ScreenId::Stream,
        columns: &if has_applied { with_applied(columns()) } else { columns().to_vec() },
        rows: &rows,
        selected: screen.types.selected_line(),
        has_focus: !common.is_in_second_pane(),
    };
    let cursor = table.draw(common, canvas, areas.types);
    let label = match screen.fact().and_then(|fact| fact.node.as_ref()) {
        Some(node) if screen.is_node_open => format!("node {}", node.id),
        _ => match &screen.types.selected {
            Some(type_url) => type_label(type_url.as_str()),
            None => "no type asked for yet".to_owned(),
        },
    };
    let opens = match screen.state().map(|state| state.summary.open_nack.is_some()) {
        _ if screen.is_node_open => "z closes the node",
        Some(true) => "Enter opens the NACK",
        _ => "Enter opens its messages",
    };
    draw_text(common, canvas, areas.detail, &label, opens, &lines, screen.types.scroll);
    let (title, rest) = layout::split(areas.history, 1);
    canvas.rule(title, "stream history", "");
    canvas.lines(rest, &history::lines(&screen.chain, common, usize::from(rest.width)), 0);
    newest(screen, common, canvas, areas.newest);
    let second = Position { x: areas.detail.x, y: areas.detail.y };
    match common.pane {
        Pane::Main => cursor,
        Pane::Second => Some(second),
    }
}

/// Draws the newest messages of the stream.
fn newest(screen: &StreamScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    if area.height < 3 {
        return;
    }
    let (title, rest) = layout::split(area, 1);
    canvas.rule(title, "newest messages", "3 timeline");
    let newest: Vec<LineFact> = screen.newest.iter().take(below_title(rest)).rev().cloned().collect();
    let list = MessagesApart { lines: &newest, of_one: true, marked: None, bright: None };
    list.draw(common, canvas, rest);
}
