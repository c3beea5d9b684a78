//! Diff drawn: the push, then its changes by path and by line.

use ratatui::layout::Position;

use crate::common::{Common, Pane};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Layout};
use crate::widgets::text::paragraph;
use xdscope_present::report::Role;

use super::state::DiffScreen;
use super::{rows, summary};

/// Draws the comparison of two versions.
pub(super) fn draw(
    screen: &DiffScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if !screen.is_ready() {
        let text = match (&screen.elsewhere, common.scope.stream) {
            (Some(elsewhere), Some(_)) => format!(
                "No push changed anything on this stream; the newest elsewhere is {elsewhere}: 1 and 5 open it"
            ),
            _ => "Nothing to compare yet: choose a push on the timeline (3) and press d".to_owned(),
        };
        let lines = paragraph(&text, 3, Role::Muted, usize::from(layout.body.width));
        canvas.lines(layout::split(layout.body, 1).1, &lines, 0);
        return None;
    }
    if let Some(why) = screen.absence() {
        canvas.text(layout.body, &format!(" {why}"), Role::Plain);
        return None;
    }
    let (top, detail) = screen.areas(common, layout);
    let mut cursor = Position { x: detail.x, y: detail.y };
    if !top.is_empty() {
        let entry_row = summary::draw(screen, common, canvas, top);
        if let (Some(y), Pane::Main) = (entry_row, common.pane) {
            cursor = Position { x: top.x, y };
        }
    }
    let (rule, rest) = layout::split(detail, 1);
    let dot = canvas.glyphs().dot;
    let how = format!("u layout {dot} c context {dot} b base");
    canvas.heading(rule, &summary::title(screen, common), &how, common.is_in_second_pane());
    let room = usize::from(rest.width);
    let mut areas = rest.rows();
    for (index, row) in screen.rows.iter().enumerate().skip(screen.scroll) {
        for (i, line) in rows::lines(screen, common, *row, room).into_iter().enumerate() {
            let Some(area) = areas.next() else { return Some(cursor) };
            canvas.line(area, &line);
            if screen.mark == Some(index) && i == 0 {
                canvas.select(area);
                cursor = Position { x: area.x, y: area.y };
            }
        }
    }
    Some(cursor)
}
