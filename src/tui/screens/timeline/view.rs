//! The timeline drawn as a list, and the detail pane.

use ratatui::layout::{Position, Rect};

use super::state::{TimelineRow, TimelineScreen};
use super::{areas, detail, ladder};
use crate::engine::store::{MessageFact, MessageKind};
use crate::present::report::{self, Role};
use crate::tui::common::{Common, Pane};
use crate::tui::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::wire::event::Dir;
use crate::wire::text::{count, latency, size, time_of_day, type_label};

/// The default message size limit of gRPC clients. Larger messages are marked.
const GRPC_MESSAGE_LIMIT_BYTES: u64 = 4 << 20;

fn columns(common: &Common) -> [Column; 12] {
    let glyphs = common.theme.glyphs();
    let node = if common.scope.stream.is_some() { 0 } else { 20 };
    [
        column("#", 5, 12, Cut::Tail, 0),
        column("TIME", 12, 14, Cut::Head, 0),
        column(glyphs.delta, 8, 10, Cut::Head, 2),
        column("NODE", node.min(10), node, Cut::Name, 0),
        column("", glyphs.request.chars().count(), 2, Cut::Head, 0),
        column("TYPE", 4, 12, Cut::Name, 0),
        column("KIND", 12, 24, Cut::Head, 0),
        column("VER", 4, 16, Cut::Tail, 0),
        column("NONCE", 5, 12, Cut::Tail, 3),
        column("RESOURCES", 9, 24, Cut::Head, 5),
        column("SIZE", 8, 9, Cut::Head, 1),
        column("LAT", 5, 8, Cut::Head, 4),
    ]
}

/// The cells of a row, in the order of the columns.
pub(super) fn timeline_row(common: &Common, shown: &TimelineRow) -> Vec<Span> {
    let glyphs = common.theme.glyphs();
    let fact = &*shown.line;
    let (arrow, type_name) = match fact.dir {
        Some(Dir::Req) => (glyphs.request, type_label(fact.type_url.as_str())),
        Some(Dir::Resp) => (glyphs.response, type_label(fact.type_url.as_str())),
        None => ("", String::new()),
    };
    let node = match (&fact.node, common.scope.stream) {
        (_, Some(_)) => String::new(),
        (node, None) => common.client_name(node.as_deref(), fact.stream),
    };
    let large = fact.size > GRPC_MESSAGE_LIMIT_BYTES;
    let delta = shown.delta.filter(|_| !common.clock.untimed);
    let (kind, role) = report::kind(fact, glyphs.answer);
    vec![
        span(fact.n.map_or("-".to_owned(), |n| n.0.to_string()), Role::Muted),
        plain(time_of_day(fact.at, common.clock, &common.zone)),
        span(delta.map(report::delta).unwrap_or_default(), Role::Muted),
        plain(node),
        plain(arrow),
        plain(type_name),
        span(kind, role),
        plain(fact.version.to_string()),
        plain(fact.nonce.to_string()),
        plain(report::resources(fact)),
        span(
            if fact.n.is_none() {
                String::new()
            } else {
                format!("{}{}", size(fact.size), if large { "!" } else { "" })
            },
            if large { Role::Warn } else { Role::Plain },
        ),
        plain(fact.latency.filter(|_| fact.dir == Some(Dir::Req)).map(latency).unwrap_or_default()),
    ]
}

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
        let at = if screen.is_ladder {
            ladder::draw(screen, common, canvas, list)
        } else {
            rows(screen, common, canvas, list)
        };
        cursor = at.map(|y| Position { x: list.x, y });
    }
    let (title, rest) = layout::split(detail, 1);
    let format = screen.format.map_or("fields", |format| format.word());
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

fn rows(screen: &TimelineScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let lines: Vec<StyledLine> = screen.window.iter().map(|shown| timeline_row(common, shown)).collect();
    let columns = columns(common);
    let selected = screen.window.iter().position(|shown| Some(shown.row) == screen.selected);
    let at = table::draw(canvas, area, &columns, &lines, selected, !common.is_in_second_pane());
    // The note of a stream event covers the columns that the event has no values for.
    let widths = table::widths(&columns, &lines, usize::from(area.width.saturating_sub(2)));
    let start: usize = widths.iter().take(7).flatten().map(|w| w + 1).sum();
    for (row, shown) in area.rows().skip(1).zip(&screen.window) {
        if let Some(note) = &shown.line.note {
            let x = area.x + 2 + u16::try_from(start).unwrap_or(0);
            let rest = Rect { x, width: area.right().saturating_sub(x), ..row };
            canvas.line(rest, &[span(report::row_note(note), Role::Muted)]);
            if Some(shown.row) == screen.selected && !common.is_in_second_pane() {
                canvas.select(row);
            }
        }
    }
    at
}

fn nothing(screen: &TimelineScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    let total = screen.total();
    let index = &screen.index;
    let text = if total == 0 {
        "no message yet".to_owned()
    } else if !index.is_complete() {
        format!("searching: {} of {} looked at", count(index.searched() as u64), count(total as u64))
    } else if common.filter.is_some() {
        format!("0 of {} match; Esc clears the filter", count(total as u64))
    } else {
        format!("0 of {} in this scope; T shows all types, Esc goes back", count(total as u64))
    };
    canvas.text(layout::split(area, 1).1, &format!("   {text}"), Role::Muted);
}
