//! Diff drawn: the push, then its changes by path and by line.

use ratatui::layout::Position;

use crate::present::report::Role;
use crate::tui::common::{Common, Pane};
use crate::tui::widgets::canvas::Canvas;
use crate::tui::widgets::layout::{self, Layout};

use super::state::DiffScreen;
use super::{rows, summary};

pub(super) fn draw(
    screen: &DiffScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if !screen.is_ready() {
        let text = " Nothing to compare yet: choose a push on the timeline (3) and press d.";
        canvas.text(layout.body, text, Role::Plain);
        return None;
    }
    if let Some(why) = screen.absence() {
        canvas.text(layout.body, &format!(" {why}"), Role::Plain);
        return None;
    }
    let (top, detail) = screen.areas(common, layout);
    let mut cursor = Position { x: detail.x, y: detail.y };
    if !top.is_empty() {
        let at = summary::draw(screen, common, canvas, top);
        if let (Some(y), Pane::Main) = (at, common.pane) {
            cursor = Position { x: top.x, y };
        }
    }
    let (rule, rest) = layout::split(detail, 1);
    let dot = canvas.glyphs().dot;
    let how = format!("u layout {dot} c context {dot} b base");
    canvas.heading(rule, &summary::title(screen, common), &how, common.is_in_second_pane());
    let room = usize::from(rest.width);
    let mut areas = rest.rows();
    for (at, row) in screen.rows.iter().enumerate().skip(screen.scroll) {
        for (i, line) in rows::lines(screen, common, *row, room).into_iter().enumerate() {
            let Some(area) = areas.next() else { return Some(cursor) };
            canvas.line(area, &line);
            if screen.mark == Some(at) && i == 0 {
                canvas.select(area);
                cursor = Position { x: area.x, y: area.y };
            }
        }
    }
    Some(cursor)
}
