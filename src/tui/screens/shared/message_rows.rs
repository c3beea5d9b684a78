//! Messages as rows of a table.

use std::borrow::Cow;
use std::time::Duration;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::table::{self, Column, column};
use crate::widgets::theme::Glyphs;
use xdscope_engine::store::{LineFact, MessageKind, RowNote};
use xdscope_present::report::{self, Role};
use xdscope_present::table::{LogRow, Style};
use xdscope_present::text::Keep;
use xdscope_wire::event::{Seq, TypeUrl};
use xdscope_wire::text::shown_name;

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
        column("#", 5, 12, Keep::Tail, 0),
        column("TIME", 12, 14, Keep::Head, 0),
        column(glyphs.delta, 8, 10, Keep::Head, 2),
        column("NODE", node.min(10), node, Keep::Name, 0),
        column("", glyphs.request.chars().count(), 2, Keep::Head, 0),
        column("TYPE", 4, 12, Keep::Name, 0),
        column("KIND", 12, 24, Keep::Head, 0),
        column("VER", 4, 16, Keep::Tail, 0),
        column("NONCE", 5, 12, Keep::Tail, 3),
        column("RESOURCES", 9, 24, Keep::Head, 5),
        column("SIZE", 8, 9, Keep::Head, 1),
        column("LAT", 5, 8, Keep::Head, 4),
        column("NOTE", MIN_NOTE_WIDTH, 0, Keep::Head, 0),
    ];
    let others: usize = columns.iter().map(|column| column.min + 1).sum::<usize>() - MIN_NOTE_WIDTH;
    let left = usize::from(room).saturating_sub(others + SLACK);
    let [.., note] = &mut columns;
    note.max = if left < MIN_NOTE_WIDTH { 0 } else { left };
    columns
}

/// Whether there is no column of notes.
pub(crate) fn lacks_notes(columns: &[Column]) -> bool {
    columns.iter().all(|column| column.title != "NOTE" || column.max == 0)
}

/// The columns of messages that do not follow each other: without the time since the one before.
fn apart_columns(common: &Common, of_one: bool, room: u16) -> [Column; 13] {
    let mut columns = columns(common, of_one, room);
    for column in columns.iter_mut().filter(|column| column.title == common.theme.glyphs().delta) {
        (column.min, column.max) = (0, 0);
    }
    columns
}

/// Messages that do not follow each other.
pub(crate) struct MessagesApart<'a> {
    /// In the order of the timeline.
    pub lines: &'a [LineFact],
    /// All are of one stream.
    pub of_one: bool,
    /// The message whose number stands out.
    pub marked: Option<Seq>,
    /// The type whose messages stand out; `None`: all.
    pub bright: Option<&'a TypeUrl>,
}

impl MessagesApart<'_> {
    fn row(&self, common: &Common, message: &LineFact) -> StyledLine {
        let mut row = cells(common, message, None, self.of_one);
        if self.bright.is_some_and(|url| *url != message.type_url) {
            row.iter_mut().for_each(|cell| cell.role = Role::Muted);
        }
        if let Some(number) = row.first_mut()
            && self.marked.is_some()
            && message.n == self.marked
        {
            number.role = Role::Key;
        }
        row
    }

    pub(crate) fn draw(&self, common: &Common, canvas: &mut Canvas, area: Rect) {
        let rows: Vec<StyledLine> = self.lines.iter().map(|message| self.row(common, message)).collect();
        table::draw(canvas, area, &apart_columns(common, self.of_one, area.width), &rows, None, false);
    }
}

/// A message as a row of the log.
pub(crate) fn log_row<'a>(common: &'a Common, fact: &'a LineFact, since: Option<Duration>) -> LogRow<'a> {
    let style = Style { color: false, ascii: common.theme.ascii };
    let (line, clock, zone) = (Cow::Borrowed(fact), common.clock, &common.zone);
    LogRow { line, message: None, since, clock, zone, style }
}

/// The cells of a message, in the order of the columns. `delta` is the time since the message
/// before.
pub(crate) fn cells(common: &Common, fact: &LineFact, delta: Option<Duration>, of_one: bool) -> Vec<Span> {
    let row = log_row(common, fact, delta);
    let node = match of_one {
        true => String::new(),
        false => common.client_name(fact.node.as_deref(), fact.stream),
    };
    let (kind, kind_role) = row.kind();
    let (size, size_role) = row.marked_size();
    vec![
        span(row.number(), Role::Muted),
        plain(row.time()),
        span(row.delta(), Role::Muted),
        plain(node),
        plain(row.arrow()),
        plain(row.label()),
        span(kind, kind_role),
        plain(fact.version.to_string()),
        plain(fact.nonce.to_string()),
        plain(report::resources(fact)),
        span(size, size_role),
        plain(row.latency()),
        note(fact, common.theme.glyphs()),
    ]
}

/// A remark in few columns: of a method only its name, since nearly all streams have one service.
pub(crate) fn brief_note(note: &RowNote) -> String {
    let text = report::row_note(note);
    let name = match note {
        RowNote::Opened { method, .. } => method.rfind('/').map_or(0, |slash| slash + 1),
        _ => 0,
    };
    text.get(name..).unwrap_or(&text).to_owned()
}

/// The reason of a NACK, the note of a row, or the only name that was added or removed.
fn note(fact: &LineFact, glyphs: &Glyphs) -> Span {
    match (fact.kind, &fact.error, &fact.note, &fact.one) {
        (MessageKind::Nack, Some(_), ..) => {
            span(format!("{} {}", glyphs.bad, report::error_reason(fact.stated_faults())), Role::Bad)
        }
        (_, _, Some(note), _) => span(brief_note(note), Role::Muted),
        (MessageKind::Nack, None, ..) => span(format!("{} by version alone", glyphs.bad), Role::Bad),
        (_, _, _, Some(name)) => {
            span(format!("{}{}", if fact.added > 0 { "+" } else { "-" }, shown_name(name)), Role::Muted)
        }
        _ => plain(""),
    }
}
