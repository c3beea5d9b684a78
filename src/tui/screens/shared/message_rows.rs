//! Messages as rows of a table.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::table::{self, Column, Cut, column};
use crate::widgets::theme::Glyphs;
use xdscope_engine::store::{LineFact, MessageKind};
use xdscope_present::report::{self, Role};
use xdscope_wire::event::{Dir, Seq};
use xdscope_wire::text::{latency, shown_name, size, time_of_day, type_label};

/// The default message size limit of gRPC clients. Larger messages are marked.
const GRPC_MESSAGE_LIMIT_BYTES: u64 = 4 << 20;

/// The fewest columns of notes.
const MIN_NOTE_WIDTH: usize = 20;
/// Columns that other columns may take beyond their least widths, beside notes.
const SLACK: usize = 16;

/// The columns in `room` cells; without the node, if all messages are of one stream. Notes take
/// what the other columns leave.
pub(crate) fn columns(common: &Common, of_one: bool, room: u16) -> [Column; 13] {
    let glyphs = common.theme.glyphs();
    let node = if of_one { 0 } else { 24 };
    let mut columns = [
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
        column("NOTE", MIN_NOTE_WIDTH, 0, Cut::Head, 0),
    ];
    let others: usize = columns.iter().map(|column| column.min + 1).sum::<usize>() - MIN_NOTE_WIDTH;
    let left = usize::from(room).saturating_sub(others + SLACK);
    let [.., note] = &mut columns;
    note.max = if left < MIN_NOTE_WIDTH { 0 } else { left };
    columns
}

/// The columns of messages that do not follow each other: without the time since the one before.
fn apart_columns(common: &Common, of_one: bool, room: u16) -> [Column; 13] {
    let mut columns = columns(common, of_one, room);
    for column in columns.iter_mut().filter(|column| column.title == common.theme.glyphs().delta) {
        (column.min, column.max) = (0, 0);
    }
    columns
}

/// Draws messages that do not follow each other. The number of the `marked` one stands out.
pub(crate) fn draw_apart(
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
    messages: &[LineFact],
    of_one: bool,
    marked: Option<Seq>,
) {
    let row = |message: &LineFact| {
        let mut row = cells(common, message, None, of_one);
        if let Some(number) = row.first_mut()
            && marked.is_some()
            && message.n == marked
        {
            number.role = Role::Key;
        }
        row
    };
    let rows: Vec<StyledLine> = messages.iter().map(row).collect();
    table::draw(canvas, area, &apart_columns(common, of_one, area.width), &rows, None, false);
}

/// The cells of a message, in the order of the columns. `delta` is the time since the message
/// before.
pub(crate) fn cells(common: &Common, fact: &LineFact, delta: Option<Duration>, of_one: bool) -> Vec<Span> {
    let glyphs = common.theme.glyphs();
    let (arrow, type_name) = match fact.dir {
        Some(Dir::Req) => (glyphs.request, type_label(fact.type_url.as_str())),
        Some(Dir::Resp) => (glyphs.response, type_label(fact.type_url.as_str())),
        None => ("", String::new()),
    };
    let node = match of_one {
        true => String::new(),
        false => common.client_name(fact.node.as_deref(), fact.stream),
    };
    let large = fact.size > GRPC_MESSAGE_LIMIT_BYTES;
    let delta = if common.clock.untimed { None } else { delta };
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
        plain(match fact.latency {
            Some(time) if fact.dir == Some(Dir::Req) => latency(time),
            _ => String::new(),
        }),
        note(fact, glyphs),
    ]
}

/// The reason of a NACK, the note of a row, or the only name that was added or removed.
fn note(fact: &LineFact, glyphs: &Glyphs) -> Span {
    match (fact.kind, &fact.error, &fact.note, &fact.one) {
        (MessageKind::Nack, Some(_), ..) => {
            span(format!("{} {}", glyphs.bad, report::error_reason(fact.stated_faults())), Role::Bad)
        }
        (_, _, Some(note), _) => span(report::row_note(note), Role::Muted),
        (MessageKind::Nack, None, ..) => span(format!("{} by version alone", glyphs.bad), Role::Bad),
        (_, _, _, Some(name)) => {
            span(format!("{}{}", if fact.added > 0 { "+" } else { "-" }, shown_name(name)), Role::Muted)
        }
        _ => plain(""),
    }
}
