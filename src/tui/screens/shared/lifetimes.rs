//! The lives of streams as bars on a time axis, with the end of each.

use ratatui::layout::Rect;

use crate::common::Common;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use xdscope_engine::store::{EndKind, StreamFact};
use xdscope_present::report::{self, Role};
use xdscope_present::text::{Keep, cut, pad, width};
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::text::{age, display_safe};

/// Columns of number and time of opening.
const LEFT_WIDTH: usize = 17;
/// The fewest columns of the axis.
const MIN_AXIS_WIDTH: usize = 10;
/// Columns to the right of the axis: how long the stream lasted.
const RIGHT_WIDTH: usize = 8;

/// Draws one line for each of the streams, which are the newest first. The line of `selected` is
/// marked.
pub(crate) fn draw(
    canvas: &mut Canvas,
    common: &Common,
    area: Rect,
    streams: &[StreamFact],
    selected: Option<StreamId>,
    has_focus: bool,
) {
    let Some(first) = streams.iter().map(|stream| stream.opened).min() else { return };
    let axis = Axis { from: first, to: common.now, cells: axis_width(area) };
    for (row, stream) in area.rows().zip(streams) {
        canvas.line(row, &line(canvas, common, stream, axis, usize::from(area.width)));
        if selected == Some(stream.stream) {
            canvas.cursor(row, has_focus);
        }
    }
}

fn axis_width(area: Rect) -> usize {
    usize::from(area.width).saturating_sub(LEFT_WIDTH + RIGHT_WIDTH).max(MIN_AXIS_WIDTH)
}

/// The time that all streams cover, and its columns.
#[derive(Clone, Copy)]
struct Axis {
    from: Time,
    to: Time,
    cells: usize,
}

impl Axis {
    fn cell(self, at: Time) -> usize {
        let span = u128::from(self.to.0.saturating_sub(self.from.0)).max(1);
        let share = u128::from(at.0.saturating_sub(self.from.0)) * self.cells as u128 / span;
        usize::try_from(share).unwrap_or(self.cells).min(self.cells.saturating_sub(1))
    }
}

/// `#10 13:58:01      ├──────┤14 UNAVAILABLE keepalive timeout     2m19s`.
fn line(canvas: &Canvas, common: &Common, stream: &StreamFact, axis: Axis, room: usize) -> StyledLine {
    let glyphs = canvas.glyphs();
    let opened = match common.clock.untimed {
        true => String::new(),
        false => common.time_of_day(stream.opened),
    };
    let left = pad(&format!("  #{} {opened}", stream.stream.0), LEFT_WIDTH);
    let (start, end) = (axis.cell(stream.opened), axis.cell(stream.closed.unwrap_or(common.now)));
    let is_error = stream.end.as_ref().is_some_and(|end| end.kind == EndKind::Error);
    let role = match (stream.closed, is_error) {
        (None, _) => Role::Ok,
        (Some(_), true) => Role::Bad,
        (Some(_), false) => Role::Muted,
    };
    let mut bar = glyphs.track_left.to_owned();
    bar.push_str(&glyphs.rule.repeat((end - start).saturating_sub(1)));
    if stream.closed.is_some() && end > start {
        bar.push_str(glyphs.track_right);
    }
    let code = stream.end.as_ref().and_then(|end| end.code).map(|code| format!("{} ", code.0));
    let words = stream.end.as_ref().map(report::end_words).unwrap_or_default();
    let words = display_safe(&format!("{}{words}", code.unwrap_or_default())).into_owned();
    let lasted = age(stream.closed.unwrap_or(common.now).since(stream.opened));
    let lasted = if common.clock.untimed { String::new() } else { lasted };
    let used = LEFT_WIDTH + start + width(&bar);
    let text_room = room.saturating_sub(used + RIGHT_WIDTH + 1);
    // Without room after the bar, the end is before it.
    if text_room < width(&words).min(12) && start > width(&words) + 1 {
        let before = pad(&" ".repeat(start.saturating_sub(width(&words) + 1)), 0);
        let gap = room.saturating_sub(used + width(&lasted) + 1);
        return vec![
            span(left, Role::Muted),
            plain(before),
            span(format!("{words} "), role),
            span(bar, role),
            span(format!("{}{lasted}", " ".repeat(gap)), Role::Muted),
        ];
    }
    let words = cut(&words, text_room, Keep::Head, glyphs.cut).into_owned();
    let gap = room.saturating_sub(used + 1 + width(&words) + width(&lasted) + 1);
    vec![
        span(left, Role::Muted),
        plain(" ".repeat(start)),
        span(bar, role),
        span(format!(" {words}"), role),
        span(format!("{}{lasted}", " ".repeat(gap)), Role::Muted),
    ]
}
