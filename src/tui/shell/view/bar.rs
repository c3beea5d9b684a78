//! The replay bar: the time cursor, and the events around it.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::data::{ReplayBar, Sign};
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, line_width, plain, span};
use crate::widgets::layout::split;
use crate::widgets::theme::Glyphs;
use xdscope_present::report::Role;
use xdscope_present::text::width;
use xdscope_wire::event::Time;
use xdscope_wire::text::{count, time_of_day};

/// The place of the track, and the words beside it.
struct TrackLine {
    /// Playing or paused, and the time of day.
    lead: StyledLine,
    /// Speed and position.
    end: String,
    area: Rect,
}

impl TrackLine {
    fn new(model: &Model, area: Rect, bar: &ReplayBar) -> TrackLine {
        let untimed = model.common.clock.untimed;
        let state = if bar.playing { " >  " } else { " || " };
        let (position, end) = if untimed {
            (format!("#{}", count(bar.message)), format!("#{}", count(bar.messages)))
        } else {
            (minutes(bar.now.since(Time::ZERO)), minutes(bar.end.since(Time::ZERO)))
        };
        let now = if untimed {
            String::new()
        } else {
            time_of_day(bar.now, model.common.clock, &model.common.zone)
        };
        let end = format!("  {}x  {position} / {end} ", bar.speed.times());
        let lead =
            vec![span(state, if bar.playing { Role::Ok } else { Role::Warn }), plain(format!("{now}  "))];
        let start = u16::try_from(line_width(&lead) + 1).unwrap_or(area.width);
        let used = u16::try_from(width(&end) + 1).unwrap_or(area.width).saturating_add(start);
        let area = Rect { x: area.x.saturating_add(start), width: area.width.saturating_sub(used), ..area };
        TrackLine { lead, end, area }
    }
}

/// Draws the marks around the time cursor and, with two rows, the volume above them.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, area: Rect, bar: &ReplayBar) {
    let (volume, marks) = split(area, area.height.saturating_sub(1));
    let track = TrackLine::new(model, marks, bar);
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
    let mut line = track.lead;
    line.push(span(glyphs.track_left, Role::Muted));
    line.extend(marked(model, bar, usize::from(track.area.width), glyphs, volume.is_empty()));
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
fn marked(model: &Model, bar: &ReplayBar, cells: usize, glyphs: &Glyphs, has_volume: bool) -> StyledLine {
    let Some(last) = cells.checked_sub(1) else { return StyledLine::new() };
    let (value, end) =
        if model.common.clock.untimed { (bar.message, bar.messages) } else { (bar.now.0, bar.end.0) };
    let cell = |value: u64| {
        let share = u128::from(value) * last as u128 / u128::from(end.max(1));
        usize::try_from(share).unwrap_or(last).min(last)
    };
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

/// `10:08`, `1:02:03`.
fn minutes(time: Duration) -> String {
    let secs = time.as_secs();
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{secs:02}") } else { format!("{minutes}:{secs:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_hours_only_when_needed() {
        let shown = [0, 8, 608, 3723].map(|secs| minutes(Duration::from_secs(secs)));
        assert_eq!(shown, ["0:00", "0:08", "10:08", "1:02:03"]);
    }
}
