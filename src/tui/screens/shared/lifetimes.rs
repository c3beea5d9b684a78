//! The lives of streams as bars on a time axis, with the end of each at a fixed place.

use ratatui::layout::Rect;

use crate::common::Common;
use crate::widgets::canvas::{Canvas, StyledLine, span};
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
const LASTED_WIDTH: usize = 9;
/// The fewest streams with equal ends that share a line.
const MIN_GROUP: usize = 3;

/// The line of a stream, or of several streams in a row that ended alike: the newest first.
pub(crate) struct Life<'a> {
    streams: &'a [StreamFact],
    /// The end in words; empty while the stream is open.
    end: String,
}

/// Returns the lines of streams, which are the newest first.
pub(crate) fn lives(streams: &[StreamFact]) -> Vec<Life<'_>> {
    let ends: Vec<String> = streams.iter().map(end).collect();
    let mut out: Vec<Life<'_>> = Vec::new();
    let mut at = 0;
    while let Some(first) = ends.get(at) {
        let equal = ends.iter().skip(at).take_while(|end| *end == first && !first.is_empty()).count();
        let taken = if equal >= MIN_GROUP { equal } else { 1 };
        let streams = streams.get(at..at + taken).unwrap_or_default();
        out.push(Life { streams, end: first.clone() });
        at += taken;
    }
    out
}

/// Returns the status and the words of the end of a stream; empty while the stream is open.
fn end(stream: &StreamFact) -> String {
    let Some(end) = stream.end.as_ref().filter(|_| stream.closed.is_some()) else { return String::new() };
    let code = end.code.map(|code| format!("{} ", code.0)).unwrap_or_default();
    display_safe(&format!("{code}{}", report::end_words(end))).into_owned()
}

impl Life<'_> {
    /// The end, with the number of streams that ended so and the time between them.
    fn words(&self, common: &Common) -> String {
        let n = self.streams.len();
        if n == 1 {
            return self.end.clone();
        }
        let times = common.theme.glyphs().times;
        let opened = |stream: Option<&StreamFact>| stream.map_or(0, |stream| stream.opened.0);
        let span = opened(self.streams.first()).saturating_sub(opened(self.streams.last()));
        let apart = age(std::time::Duration::from_nanos(span / (n as u64 - 1).max(1)));
        let apart =
            if common.clock.untimed { String::new() } else { format!(", each {apart} after the one before") };
        format!("{n}{times} {}{apart}", self.end)
    }

    /// `#10 13:58:01`, of several the first and the last number.
    fn left(&self, common: &Common) -> String {
        let Some((newest, oldest)) = self.streams.first().zip(self.streams.last()) else {
            return String::new();
        };
        let opened = if common.clock.untimed { String::new() } else { common.time_of_day(oldest.opened) };
        match self.streams.len() {
            1 => format!("  #{} {opened}", newest.stream.0),
            _ => format!("  #{}-#{}", oldest.stream.0, newest.stream.0),
        }
    }

    fn role(&self) -> Role {
        let Some(stream) = self.streams.first() else { return Role::Muted };
        let is_error = stream.end.as_ref().is_some_and(|end| end.kind == EndKind::Error);
        match (stream.closed, is_error) {
            (None, _) => Role::Ok,
            (Some(_), true) => Role::Bad,
            (Some(_), false) => Role::Muted,
        }
    }

    /// How long the stream lasted; of several the longest.
    fn lasted(&self, common: &Common) -> String {
        let lasted = |stream: &StreamFact| stream.closed.unwrap_or(common.now).since(stream.opened);
        match self.streams.iter().map(lasted).max() {
            Some(longest) if !common.clock.untimed => age(longest),
            _ => String::new(),
        }
    }
}

/// Draws the lines of streams. The line of `selected` is marked.
pub(crate) fn draw(
    canvas: &mut Canvas,
    common: &Common,
    area: Rect,
    streams: &[StreamFact],
    selected: Option<StreamId>,
    has_focus: bool,
) {
    let Some(first) = streams.iter().map(|stream| stream.opened).min() else { return };
    let lives = lives(streams);
    let room = usize::from(area.width).saturating_sub(LEFT_WIDTH + LASTED_WIDTH);
    let widest = lives.iter().map(|life| width(&life.words(common))).max().unwrap_or(0);
    let end_width = widest.min(room / 2);
    let cells = room.saturating_sub(end_width + 1).max(MIN_AXIS_WIDTH);
    let axis = Axis { from: first, to: common.now, cells };
    for (row, life) in area.rows().zip(&lives) {
        canvas.line(row, &line(canvas, common, life, axis, end_width));
        if life.streams.iter().any(|stream| selected == Some(stream.stream)) {
            canvas.cursor(row, has_focus);
        }
    }
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

/// `#10 13:58:01      ├──────┤            2m19s   14 UNAVAILABLE keepalive timeout`.
fn line(canvas: &Canvas, common: &Common, life: &Life<'_>, axis: Axis, end_width: usize) -> StyledLine {
    let glyphs = canvas.glyphs();
    let role = life.role();
    let mut bar = vec![" "; axis.cells];
    for stream in life.streams {
        let (start, end) = (axis.cell(stream.opened), axis.cell(stream.closed.unwrap_or(common.now)));
        bar.iter_mut().take(end).skip(start).for_each(|cell| *cell = glyphs.rule);
        if let Some(cell) = bar.get_mut(end).filter(|_| stream.closed.is_some()) {
            *cell = glyphs.track_right;
        }
        if let Some(cell) = bar.get_mut(start) {
            *cell = glyphs.track_left;
        }
    }
    let end = cut(&life.words(common), end_width, Keep::Head, glyphs.cut).into_owned();
    vec![
        span(pad(&life.left(common), LEFT_WIDTH), Role::Muted),
        span(bar.concat(), role),
        span(pad(&format!(" {}", life.lasted(common)), LASTED_WIDTH + 1), Role::Muted),
        span(end, role),
    ]
}
