//! Draws a model. Reads only, asks nothing of the source: what is not in the model is not on the screen.

mod bar;
mod beside;
mod detail;
mod diff;
mod frame;
mod graph;
mod help;
mod ladder;
mod lint;
mod nacks;
mod overview;
mod palette;
mod resources;
mod stream;
mod subs;
mod timeline;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub use detail::detail_lines;
pub use diff::diff_last;
pub use graph::graph_row;
pub use help::help_end;
pub use lint::{finding_lines, finding_row};
pub use nacks::{card_lines, nack_row};
pub use overview::{overview_lines, overview_row};
pub use stream::stream_row;
pub use subs::name_row;
pub use timeline::timeline_row;

use super::canvas::Canvas;
use super::layout::SMALLEST;
use super::model::{Model, Overlay, Screen};
use crate::report::Role;

/// Draws the whole screen. Returns where the terminal's cursor belongs: on the selected row, or in a prompt.
pub fn view(model: &Model, buf: &mut Buffer) -> Option<Position> {
    let mut canvas = Canvas { buf, theme: model.theme };
    let cursor = draw(model, &mut canvas);
    canvas.finish();
    cursor
}

fn draw(model: &Model, canvas: &mut Canvas) -> Option<Position> {
    let Some(layout) = model.layout() else {
        let (width, height) = SMALLEST;
        let area = Rect { x: 0, y: 0, width: model.size.0, height: 1 };
        canvas.text(area, &format!("needs {width}x{height}; goes on meanwhile"), Role::Plain);
        return None;
    };
    frame::head(model, canvas, &layout);
    if let Some(Overlay::Help { scroll }) = model.overlays.last() {
        help::draw(model, canvas, &layout, *scroll);
        frame::foot(model, canvas, &layout);
        return None;
    }
    let cursor = match model.screen {
        Screen::Overview => overview::draw(model, canvas, &layout),
        Screen::Stream => stream::draw(model, canvas, &layout),
        Screen::Timeline => timeline::draw(model, canvas, &layout),
        Screen::Diff => diff::draw(model, canvas, &layout),
        Screen::Resources => resources::draw(model, canvas, &layout),
        Screen::Nack => nacks::draw(model, canvas, &layout),
        Screen::Subs => subs::draw(model, canvas, &layout),
        Screen::Graph => graph::draw(model, canvas, &layout),
        Screen::Lint => lint::draw(model, canvas, &layout),
    };
    let prompt = match model.overlays.last() {
        Some(Overlay::Palette { input, chosen, .. }) => {
            Some(palette::draw(model, canvas, &layout, input, *chosen))
        }
        _ => None,
    };
    let foot = frame::foot(model, canvas, &layout);
    prompt.or(foot).or(cursor)
}
