//! The replay bar: the time cursor, and the events around it.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::data::{ReplayBar, Sign};
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::chart::{SparkValue, spark_text};
use crate::widgets::theme::Glyphs;
use xdscope_present::report::Role;
use xdscope_present::text::width;
use xdscope_wire::event::Time;
use xdscope_wire::text::{count, time_of_day};

pub(super) fn draw(model: &Model, canvas: &mut Canvas, area: Rect, bar: &ReplayBar) {
    let untimed = model.common.clock.untimed;
    let state = if bar.playing { " >  " } else { " || " };
    let (position, end) = if untimed {
        (format!("#{}", count(bar.message)), format!("#{}", count(bar.messages)))
    } else {
        (minutes(bar.now.since(Time::ZERO)), minutes(bar.end.since(Time::ZERO)))
    };
    let now =
        if untimed { String::new() } else { time_of_day(bar.now, model.common.clock, &model.common.zone) };
    let right = format!("  {}x  {position} / {end} ", bar.speed.times());
    let left = format!("{now}  ");
    let used = width(state) + width(&left) + width(&right) + 2;
    let cells = usize::from(area.width).saturating_sub(used);
    let glyphs = canvas.glyphs();
    let mut line: StyledLine = vec![
        span(state, if bar.playing { Role::Ok } else { Role::Warn }),
        plain(left),
        span(glyphs.track_left, Role::Muted),
    ];
    line.extend(track(model, bar, cells, glyphs));
    line.push(span(glyphs.track_right, Role::Muted));
    line.push(plain(right));
    canvas.line(area, &line);
}

/// The meaning of the letters on the bar.
pub(super) fn legend() -> String {
    let signs = Sign::ALL.iter().map(|sign| format!("{} {}", sign.letter(), sign.word()));
    format!("bar marks: {}  m mark", signs.collect::<Vec<_>>().join("  "))
}

/// The messages of each cell up to the time cursor as bars, in place of the line.
fn bars(model: &Model, cells: usize, cursor: usize) -> Vec<char> {
    let theme = model.common.theme;
    let rule = theme.glyphs().rule.chars().next().unwrap_or('-');
    let mut bars = vec![rule; cells];
    let past = model.common.density.cells(cells);
    if model.common.clock.untimed || past.iter().sum::<u64>() == 0 {
        return bars;
    }
    let value = |messages: &u64| SparkValue { value: Some(*messages), role: Role::Muted };
    let past: Vec<SparkValue> = past.iter().take(cursor + 1).map(value).collect();
    let text = spark_text(theme, &past).text;
    for (slot, (bar, messages)) in bars.iter_mut().zip(text.chars().zip(&past)) {
        if messages.value != Some(0) {
            *slot = bar;
        }
    }
    bars
}

/// Draws the position in the recording, with its marks.
fn track(model: &Model, bar: &ReplayBar, cells: usize, glyphs: &Glyphs) -> StyledLine {
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
    let bars = bars(model, cells, cell(value));
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
