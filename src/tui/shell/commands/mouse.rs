//! The mouse: tabs, rows, panes, menus, and the wheel.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::data::Data;
use crate::input::command::Command;

use super::columns;
use crate::shell::effect::Effect;
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::shell::view::{menu, palette, title};
use crate::shell::{commands, palette as palette_commands};

/// Rows that one step of the wheel moves.
const WHEEL_ROWS: usize = 3;

/// Takes in a click or a step of the wheel. Other movements do nothing.
pub(crate) fn take_in(model: &mut Model, event: MouseEvent, data: &dyn Data) -> Vec<Effect> {
    let position = Position { x: event.column, y: event.row };
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => click(model, position, data),
        MouseEventKind::ScrollDown => wheel(model, position, Command::Down, data),
        MouseEventKind::ScrollUp => wheel(model, position, Command::Up, data),
        _ => vec![],
    }
}

/// Handles a click: on a tab, a key of the footer, or the screen.
fn click(model: &mut Model, position: Position, data: &dyn Data) -> Vec<Effect> {
    let Some(layout) = model.common.layout() else { return vec![] };
    model.common.notice = None;
    if let Some(overlay) = model.overlays.last() {
        match overlay {
            Overlay::Palette { search, chosen, .. } => {
                let line = palette::line_at(&layout, search, *chosen, position.y);
                return line.map_or_else(Vec::new, |line| {
                    palette_commands::choose(model, line);
                    palette_commands::accept(model, data)
                });
            }
            Overlay::Sort { .. } | Overlay::Columns { .. } => {
                if let Some(entry) = menu::entry_at(model, &layout, position) {
                    columns::choose(model, entry);
                    columns::accept(model, entry);
                } else {
                    model.overlays.pop();
                }
            }
            Overlay::Help { .. } | Overlay::Copy => drop(model.overlays.pop()),
            _ => model.say("a question or a prompt is open: Esc leaves it"),
        }
        return vec![];
    }
    if layout.head[2].contains(position) {
        let screen = title::tab_at(model, &layout, position.x);
        return screen.map_or_else(Vec::new, |screen| commands::run(model, screen.command(), data));
    }
    if !layout.body.contains(position) {
        return vec![];
    }
    let screen = model.screens.get_mut(model.screen);
    match screen.point(position, true, &mut model.common, &layout) {
        // The second click opens.
        Some(true) => commands::run(model, Command::Open, data),
        _ => vec![],
    }
}

/// Scrolls the pane below the mouse.
fn wheel(model: &mut Model, position: Position, command: Command, data: &dyn Data) -> Vec<Effect> {
    let Some(layout) = model.common.layout() else { return vec![] };
    match model.overlays.last() {
        Some(Overlay::Palette { chosen, search, .. }) => {
            let last = search.candidates.len().saturating_sub(1);
            let to = if command == Command::Down { chosen + 1 } else { chosen.saturating_sub(1) };
            palette_commands::choose(model, to.min(last));
            return vec![];
        }
        Some(Overlay::Help { .. } | Overlay::Sort { .. } | Overlay::Columns { .. }) | None => {}
        Some(_) => return vec![],
    }
    if model.overlays.is_empty() && layout.body.contains(position) {
        let screen = model.screens.get_mut(model.screen);
        screen.point(position, false, &mut model.common, &layout);
    }
    (0..WHEEL_ROWS).flat_map(|_| commands::run(model, command, data)).collect()
}
