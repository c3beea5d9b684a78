//! The place of the time of a recording: the replay bar, and the charts above the bar.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::data::ReplayBar;
use crate::widgets::canvas::{StyledLine, line_width, plain, span};
use xdscope_engine::activity::column_of;
use xdscope_present::report::Role;
use xdscope_present::text::{pad, pad_left, width};
use xdscope_wire::event::Time;
use xdscope_wire::text::{count, time_of_day};

/// The place of the track, and the words beside it.
pub(crate) struct ReplayTrack {
    /// Playing or paused, and the time of day.
    pub lead: StyledLine,
    /// Speed and position.
    pub end: String,
    pub area: Rect,
}

impl ReplayTrack {
    /// Places the track in a row. The words keep their widths while the time cursor moves.
    pub(crate) fn new(common: &Common, row: Rect, bar: &ReplayBar) -> ReplayTrack {
        let untimed = common.clock.untimed;
        let state = if bar.playing { " >  " } else { " || " };
        let (position, end) = if untimed {
            (format!("#{}", count(bar.message)), format!("#{}", count(bar.messages)))
        } else {
            (minutes(bar.now.since(Time::ZERO)), minutes(bar.end.since(Time::ZERO)))
        };
        let time =
            |at: Time| if untimed { String::new() } else { time_of_day(at, common.clock, &common.zone) };
        let now = pad(&time(bar.now), width(&time(bar.end)));
        let end = format!("  {}x  {} / {end} ", bar.speed.times(), pad_left(&position, width(&end)));
        let lead =
            vec![span(state, if bar.playing { Role::Ok } else { Role::Warn }), plain(format!("{now}  "))];
        let start = u16::try_from(line_width(&lead) + 1).unwrap_or(row.width);
        let used = u16::try_from(width(&end) + 1).unwrap_or(row.width).saturating_add(start);
        let area = Rect { x: row.x.saturating_add(start), width: row.width.saturating_sub(used), ..row };
        ReplayTrack { lead, end, area }
    }

    /// The column of a position of `all` within the track: a time, or a message of a source without
    /// timestamps.
    pub(crate) fn column(&self, value: u64, all: u64) -> usize {
        column_of(value, all, usize::from(self.area.width))
    }
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
