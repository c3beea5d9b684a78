//! The messages around the selection, below screens that leave room on a high and wide terminal.

use ratatui::layout::Rect;

use crate::common::Common;
use crate::data::Data;
use crate::screens::shared::message_rows::MessagesApart;
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Content, Layout};
use xdscope_engine::store::LineFact;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};
use xdscope_wire::text::type_label;

use super::model::Model;
use super::overlay::Overlay;

/// The smallest body, in lines, that is divided.
const MIN_BODY_LINES: u16 = 36;
/// The most lines that the pane takes from the content of the screen, with its heading and the
/// titles of the columns.
const MAX_RESERVED_LINES: u16 = 10;
/// The fewest lines of a pane that takes none from the content.
const MIN_PANE_LINES: u16 = 6;
/// The heading, and the titles of the columns.
const HEADING_LINES: usize = 2;
/// Rows that are looked at on each side of the selected message.
const MAX_SEARCHED_ROWS: usize = 2_000;

/// The messages of the stream of the selection.
#[derive(Clone, Debug, Default)]
pub struct MessagePane {
    title: String,
    /// In the order of the timeline.
    lines: Vec<LineFact>,
    /// All messages are of one stream.
    is_of_one: bool,
    /// The message that the selection is about.
    selected: Option<Seq>,
    /// The type of the selection, whose messages stand out.
    type_url: Option<TypeUrl>,
}

/// Reserves the lines that the content of the screen left so far, unless the help covers it.
pub(super) fn make_room(model: &mut Model) {
    let is_covered = model.overlays.iter().any(|overlay| matches!(overlay, Overlay::Help { .. }));
    let common = &mut model.common;
    common.message_lines = 0;
    if let Some(content) = common.content
        && !is_covered
    {
        common.message_lines = lines(common, content);
    }
}

/// Reserves the lines that the content of the settled screen leaves. Returns whether their number
/// changed. The content counts with the most lines that it had, so that the pane does not jump.
pub(super) fn fit(model: &mut Model) -> bool {
    let before = std::mem::take(&mut model.common.message_lines);
    let found = largest(&model.common).and_then(|layout| model.active().content(&model.common, &layout));
    let common = &mut model.common;
    common.content = found.map(|found| {
        let lines = common.content.map_or(0, |content| content.lines).max(found.lines);
        Content { lines, ..found }
    });
    make_room(model);
    model.common.message_lines != before
}

/// The lines of the pane below some content.
fn lines(common: &Common, content: Content) -> u16 {
    let Some((body, largest)) = common.layout().zip(largest(common)) else { return 0 };
    let reserved = body.body.height - largest.body.height;
    let left = usize::from(body.body.height).saturating_sub(content.lines);
    match layout::height(left) {
        left if !content.is_kept_whole => left.max(reserved),
        left if left < MIN_PANE_LINES => 0,
        left => left,
    }
}

/// The layout above the lowest pane; `None` if the terminal has no room for the pane.
fn largest(common: &Common) -> Option<Layout> {
    let layout = common.layout()?;
    if common.is_full_screen || !layout.wide || layout.body.height < MIN_BODY_LINES {
        return None;
    }
    let reserved = (layout.body.height / 4).min(MAX_RESERVED_LINES);
    let (body, _) = layout::split(layout.body, layout.body.height - reserved);
    Some(Layout { body, ..layout })
}

/// Loads the messages around the selection.
pub(super) fn settle(model: &mut Model, data: &dyn Data) {
    let height = usize::from(model.common.message_lines);
    let selection = model.active().messages(data);
    model.messages = MessagePane::default();
    let Some((scope, selected)) = selection else { return };
    if height <= HEADING_LINES {
        return;
    }
    // The evidence may be on another stream than the first one of a problem.
    let message_place = selected.and_then(|n| data.row_of(n)).and_then(|row| data.place_of(row));
    let stream = scope.stream.map(|stream| message_place.map_or(stream, |(stream, _)| stream));
    let rows = model.common.rows(data);
    let lines = lines_of(data, rows, stream, selected, height - HEADING_LINES);
    let of = stream.map_or_else(|| "all streams".to_owned(), |stream| format!("stream #{}", stream.0));
    let title = match &scope.type_url {
        Some(url) => format!("messages of {of}, {} bright", type_label(url.as_str())),
        None => format!("messages of {of}"),
    };
    model.messages =
        MessagePane { title, lines, is_of_one: stream.is_some(), selected, type_url: scope.type_url };
}

/// Returns the messages of a stream around the selected one, or the newest: at most `height`.
fn lines_of(
    data: &dyn Data,
    rows: usize,
    stream: Option<StreamId>,
    selected: Option<Seq>,
    height: usize,
) -> Vec<LineFact> {
    let is_wanted =
        |row: &usize| data.place_of(*row).is_some_and(|(own, _)| stream.is_none_or(|id| id == own));
    let first = data.store().first_row();
    let from = selected.and_then(|n| data.row_of(n)).map_or(rows, |row| (row + 1).min(rows)).max(first);
    let later = (from..rows).take(MAX_SEARCHED_ROWS).filter(is_wanted).take(height);
    let mut later: Vec<usize> = later.collect();
    let earlier = (first..from).rev().take(MAX_SEARCHED_ROWS).filter(is_wanted);
    let mut listed: Vec<usize> = earlier.take(height).collect();
    later.truncate((height / 2).max(height - listed.len()));
    listed.truncate(height - later.len());
    listed.reverse();
    listed.extend(later);
    listed.into_iter().filter_map(|row| data.line(row)).collect()
}

/// Returns the area below the body.
fn area(common: &Common) -> Option<Rect> {
    let body = common.layout()?.body;
    Some(Rect { y: body.bottom(), height: common.message_lines, ..body })
}

/// Draws the pane.
pub(super) fn draw(model: &Model, canvas: &mut Canvas) {
    let (pane, common) = (&model.messages, &model.common);
    let Some(area) = area(common).filter(|_| !pane.lines.is_empty()) else { return };
    let (title, rest) = layout::split(area, 1);
    canvas.rule(title, &pane.title, "3 timeline");
    let (marked, bright) = (pane.selected, pane.type_url.as_ref());
    let list = MessagesApart { lines: &pane.lines, of_one: pane.is_of_one, marked, bright };
    list.draw(common, canvas, rest);
}
