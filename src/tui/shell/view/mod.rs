//! Draws a model. Everything drawn comes from the model.

mod bar;
mod footer;
pub(crate) mod help;
pub(super) mod menu;
pub(super) mod palette;
mod prompts;
pub(super) mod title;
mod tour;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};

use crate::shell::message_pane;
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, MIN_SIZE};
use crate::widgets::text::paragraph;
use xdscope_present::report::Role;
use xdscope_wire::event::StreamId;

use palette::PaletteLines;

/// Draws the screen. Returns where the terminal's cursor belongs: on the selected row, or in a
/// prompt.
pub fn view(model: &Model, buf: &mut Buffer) -> Option<Position> {
    let common = &model.common;
    let mut canvas = Canvas { buf, theme: common.theme, is_covered: false, widths: &common.widths };
    let cursor = draw(model, &mut canvas);
    canvas.finish();
    cursor
}

fn draw(model: &Model, canvas: &mut Canvas) -> Option<Position> {
    let Some(layout) = model.common.layout() else {
        let (width, height) = MIN_SIZE;
        let area = Rect { x: 0, y: 0, width: model.common.size.0, height: 1 };
        canvas.text(area, &format!("needs {width}x{height}; goes on meanwhile"), Role::Plain);
        return None;
    };
    title::draw(model, canvas, &layout);
    let help = model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Help { scroll } => Some(*scroll),
        _ => None,
    });
    if let Some(scroll) = help {
        help::draw(model, canvas, &layout, scroll);
        mark_found(model, canvas, layout.body);
        return footer::draw(model, canvas, &layout);
    }
    canvas.is_covered = matches!(
        model.overlays.last(),
        Some(Overlay::Palette { .. } | Overlay::Sort { .. } | Overlay::Columns { .. })
    );
    let cursor = match model.common.scope.stream {
        Some(stream) if model.is_stream_ahead => {
            stream_ahead(canvas, layout.body, stream);
            None
        }
        _ => {
            let cursor = model.active().view(&model.common, canvas, &layout);
            message_pane::draw(model, canvas);
            cursor
        }
    };
    canvas.is_covered = false;
    mark_found(model, canvas, layout.body);
    let prompt = match model.overlays.last() {
        Some(Overlay::Palette { input, chosen, search, .. }) => {
            Some(palette::draw(model, canvas, &layout, PaletteLines { input, chosen: *chosen, search }))
        }
        _ => menu::draw(model, canvas, &layout),
    };
    tour::draw(model, canvas);
    let foot = footer::draw(model, canvas, &layout);
    prompt.or(foot).or(cursor)
}

/// Says that the stream in scope begins after the time cursor, with the keys that lead on.
fn stream_ahead(canvas: &mut Canvas, area: Rect, stream: StreamId) {
    let words = format!(
        "stream #{} does not exist yet at this time of the recording: . goes on, $ to the end; 1 shows all nodes",
        stream.0
    );
    let lines = paragraph(&words, 3, Role::Muted, usize::from(area.width));
    canvas.lines(layout::split(area, 1).1, &lines, 0);
}

/// Underlines the matches of the search on the screen.
fn mark_found(model: &Model, canvas: &mut Canvas, area: Rect) {
    let Some(find) = &model.find else { return };
    let wanted: Vec<char> = find.text.chars().collect();
    let exact = wanted.iter().any(|c| c.is_uppercase());
    for row in area.intersection(canvas.buf.area).rows() {
        let cells = |x: u16| canvas.buf.cell((x, row.y)).and_then(|cell| cell.symbol().chars().next());
        let text: Vec<char> = (row.x..row.right()).map(|x| cells(x).unwrap_or(' ')).collect();
        let same = |(a, b): (&char, &char)| a == b || (!exact && a.to_lowercase().eq(b.to_lowercase()));
        let places = text.windows(wanted.len().max(1)).enumerate();
        let places = places.filter(|(_, part)| part.iter().zip(&wanted).all(same)).map(|(at, _)| at);
        for at in places.collect::<Vec<_>>() {
            let (at, width) = (u16::try_from(at).unwrap_or(0), u16::try_from(wanted.len()).unwrap_or(0));
            let area = Rect { x: row.x + at, width, ..row }.intersection(canvas.buf.area);
            canvas.buf.set_style(area, Style::new().add_modifier(Modifier::UNDERLINED));
        }
    }
}
