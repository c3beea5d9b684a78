//! The timeline drawn as a list, and the detail pane.

use ratatui::layout::{Position, Rect};

use super::state::{TimelineRow, TimelineScreen};
use super::{areas, detail, ladder};
use crate::common::{Common, Pane};
use crate::input::screen_id::ScreenId;
use crate::screens::shared::message_rows;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::table::{self, Column};
use xdscope_engine::store::{MessageFact, MessageKind};
use xdscope_present::report::Role;
use xdscope_wire::event::Dir;
use xdscope_wire::text::count;

/// The titles of the columns.
pub(super) fn titles(common: &Common) -> Vec<&'static str> {
    let columns = message_rows::columns(common, common.scope.stream.is_some(), u16::MAX);
    columns.iter().map(|column| column.title).collect()
}

/// The cells of a row, in the order of the columns.
pub(super) fn timeline_row(common: &Common, shown: &TimelineRow) -> Vec<Span> {
    message_rows::cells(common, &shown.line, shown.delta, common.scope.stream.is_some())
}

/// Draws the rows and the selected message. Returns the cursor.
pub(super) fn draw(
    screen: &TimelineScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    let (list, detail) = areas(layout, common.is_full_screen);
    let mut cursor = None;
    if screen.index.len() == 0 {
        nothing(screen, common, canvas, layout.body);
        return None;
    }
    if !list.is_empty() {
        let selected_row = if screen.is_ladder {
            ladder::draw(screen, common, canvas, list)
        } else {
            rows(screen, common, canvas, list)
        };
        cursor = selected_row.map(|y| Position { x: list.x, y });
    }
    let (title, rest) = layout::split(detail, 1);
    let format = match (screen.format, &screen.body) {
        (Some(format), _) => format.word(),
        (None, Some(_)) => "fields, yaml",
        (None, None) => "fields",
    };
    let name = screen.selected_message.as_ref().map(|selected| title_of(&selected.fact)).unwrap_or_default();
    let lines = detail::lines(screen, common);
    let how = match lines.len().saturating_sub(screen.scroll + usize::from(rest.height)) {
        0 => "v yaml/json/text/hex, \\ full screen".to_owned(),
        n => common.lines_below(n),
    };
    canvas.heading(title, &format!("{name}: {format}"), &how, common.is_in_second_pane());
    canvas.lines(rest, &lines, screen.scroll);
    if common.pane == Pane::Second || common.is_full_screen {
        cursor = Some(Position { x: detail.x, y: detail.y });
    }
    cursor
}

fn title_of(fact: &MessageFact) -> String {
    let kind = if fact.kind == MessageKind::Nack { "NACK" } else { fact.kind.word() };
    match (fact.n, fact.dir) {
        (Some(n), Some(Dir::Req)) => format!("#{} request, {kind}", n.0),
        (Some(n), _) => format!("#{} response, {kind}", n.0),
        (None, _) => format!("stream #{} {kind}", fact.stream.0),
    }
}

/// The columns of the list.
pub(super) fn columns(common: &Common, room: u16) -> [Column; 13] {
    let mut columns = message_rows::columns(common, common.scope.stream.is_some(), room);
    common.hidden_columns.hide(ScreenId::Timeline, &mut columns);
    columns
}

/// Draws the list of messages. Returns the selected row.
fn rows(screen: &TimelineScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let columns = columns(common, area.width);
    let (mut lines, mut notes, mut selected) = (Vec::<StyledLine>::new(), Vec::new(), None);
    for shown in &screen.window {
        if Some(shown.row) == screen.selected {
            selected = Some(lines.len());
        }
        lines.push(timeline_row(common, shown));
        let Some(note) = shown.line.note.as_ref().filter(|_| screen.has_notes_below) else { continue };
        if shown.has_note_below() {
            lines.push(vec![plain(""); columns.len()]);
        }
        notes.push((lines.len() - 1, note));
    }
    table::note_fit(canvas.widths, &columns, &lines, area);
    let has_focus = !common.is_in_second_pane();
    let selected_row = table::draw(canvas, area, &columns, &lines, selected, has_focus);
    let widths = table::widths(canvas.widths, &columns, &lines, usize::from(area.width.saturating_sub(2)));
    let start: usize = widths.iter().take(7).flatten().map(|w| w + 1).sum();
    let x = area.x + 2 + u16::try_from(start).unwrap_or(0);
    for (at, note) in notes {
        let Some(row) = area.rows().nth(at + 1) else { break };
        let rest = Rect { x, width: area.right().saturating_sub(x), ..row };
        canvas.line(rest, &[span(message_rows::brief_note(note), Role::Muted)]);
        if has_focus && Some(row.y) == selected_row {
            canvas.select(row);
        }
    }
    selected_row
}

/// Says why there is no row.
fn nothing(screen: &TimelineScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    let total = screen.total();
    let index = &screen.index;
    let text = if total == 0 {
        "no message yet".to_owned()
    } else if !index.is_complete() {
        format!("searching: {} of {} looked at", count(index.searched() as u64), count(total as u64))
    } else if common.filter_on(ScreenId::Timeline).is_some() {
        format!("0 of {} match; Esc clears the filter", count(total as u64))
    } else {
        format!("0 of {} in this scope; T shows all types, Esc goes back", count(total as u64))
    };
    canvas.text(layout::split(area, 1).1, &format!("   {text}"), Role::Muted);
}
