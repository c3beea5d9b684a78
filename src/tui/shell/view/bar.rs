//! The replay bar: the time cursor, and the events around it.

use ratatui::layout::Rect;

use crate::data::{ReplayBar, Sign};
use crate::screens::shared::replay_track::ReplayTrack;
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::split;
use crate::widgets::theme::Glyphs;
use xdscope_present::report::Role;

/// Draws the marks around the time cursor and, with two rows, the volume above them.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, area: Rect, bar: &ReplayBar) {
    let (volume, marks) = split(area, area.height.saturating_sub(1));
    let track = ReplayTrack::new(&model.common, marks, bar);
    if model.common.clock.untimed {
        canvas.rule(volume, "", "");
    } else if !volume.is_empty() {
        canvas.clear(volume);
        canvas.text(volume, " messages", Role::Muted);
        let cells = usize::from(track.area.width);
        let line = Rect { y: volume.y, ..track.area };
        canvas.text(line, &volume_bars(model, cells), Role::Muted);
    }
    let glyphs = canvas.glyphs();
    let mut line = track.lead.clone();
    line.push(span(glyphs.track_left, Role::Muted));
    line.extend(marked(model, bar, &track, glyphs, volume.is_empty()));
    line.push(span(glyphs.track_right, Role::Muted));
    line.push(plain(track.end));
    canvas.clear(marks);
    canvas.line(marks, &line);
}

/// Returns the messages up to the time cursor as bars; blanks without times.
fn volume_bars(model: &Model, cells: usize) -> String {
    match model.common.clock.untimed {
        true => " ".repeat(cells),
        false => model.common.density.spark(model.common.theme, cells),
    }
}

/// Returns the position in the recording with its marks, on a line or, if `has_volume`, on the bars
/// of the messages up to the time cursor.
fn marked(
    model: &Model,
    bar: &ReplayBar,
    track: &ReplayTrack,
    glyphs: &Glyphs,
    has_volume: bool,
) -> StyledLine {
    let cells = usize::from(track.area.width);
    let (value, end) =
        if model.common.clock.untimed { (bar.message, bar.messages) } else { (bar.now.0, bar.end.0) };
    let cell = |value: u64| track.column(value, end);
    let mut signs: Vec<Option<Sign>> = vec![None; cells];
    for mark in bar.marks.iter() {
        let column = cell(if model.common.clock.untimed { mark.n } else { mark.at.0 });
        if let Some(sign) = signs.get_mut(column) {
            *sign = (*sign).max(Some(mark.sign));
        }
    }
    let bars = volume_bars(model, cells);
    let bars = bars
        .chars()
        .map(|bar| if has_volume && !bar.is_whitespace() { bar.to_string() } else { glyphs.rule.to_owned() });
    let mut line: StyledLine = signs
        .into_iter()
        .zip(bars)
        .map(|(sign, bar)| match sign {
            None => span(bar, Role::Muted),
            Some(Sign::Nack) => span(Sign::Nack.letter(), Role::Bad),
            Some(sign @ (Sign::Late | Sign::Finding)) => span(sign.letter(), Role::Warn),
            Some(sign) => plain(sign.letter()),
        })
        .collect();
    for marked in model.marks.values() {
        let column = cell(if model.common.clock.untimed { marked.n.0 } else { marked.at.0 });
        if let Some(cell) = line.get_mut(column) {
            *cell = span("m", Role::Key);
        }
    }
    if let Some(cell) = line.get_mut(cell(value)) {
        *cell = span(glyphs.cursor, Role::Title);
    }
    line
}
