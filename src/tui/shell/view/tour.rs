//! The tour, below the screen.

use ratatui::layout::Rect;

use crate::shell::model::Model;
use crate::shell::tour::{LABEL_WIDTH, MAX_TEXT_LINES};
use crate::widgets::canvas::{Canvas, StyledLine, span};
use crate::widgets::layout::split;
use crate::widgets::text::hanging;
use xdscope_present::report::Role;
use xdscope_present::text::wrap;
use xdscope_wire::text::display_safe;

/// Draws the current step.
pub(super) fn draw(model: &Model, canvas: &mut Canvas) {
    let Some((area, words)) = model.common.tour_area().zip(model.tour.words.as_ref()) else { return };
    canvas.clear(area);
    let (title, rest) = split(area, 1);
    canvas.rule(title, &words.title, ":tour hides it");
    let press = labelled(" press    ", &words.press, rest, Role::Key);
    let mut lines = labelled(" you see  ", &words.see, rest, Role::Plain);
    // The keys to press are the last to go.
    lines.truncate(usize::from(rest.height).saturating_sub(press.len()));
    lines.extend(press);
    canvas.lines(rest, &lines, 0);
}

/// A label and a text, wrapped to at most [`MAX_TEXT_LINES`] lines.
fn labelled(label: &str, text: &str, area: Rect, role: Role) -> Vec<StyledLine> {
    let room = usize::from(area.width).saturating_sub(LABEL_WIDTH + 1);
    let mut lines = wrap(&display_safe(text), room);
    lines.truncate(MAX_TEXT_LINES);
    hanging(span(label, Role::Muted), lines, role)
}
