//! What keys do to panes and lists: find, scroll sideways, resize, sort.

use crate::tui::input::command::Command;
use crate::tui::input::sort::Sort;
use crate::tui::shell::find;
use crate::tui::shell::model::{Model, Overlay, Pane, Screen};

/// Columns that a text moves sideways at once.
const SIDEWAYS: usize = 8;
/// Rows or columns that a pane grows by, and may by hand in all.
const RESIZE: i16 = 2;
const MOST: i16 = 200;

/// `/`, `n`, `N` and `Esc` where they are about a text and what is found in it.
pub fn in_find(model: &mut Model, command: Command) -> bool {
    let text = find::in_text(model);
    match command {
        Command::Filter if text => model.overlays.push(Overlay::Find { input: String::new() }),
        Command::NextMatch | Command::PreviousMatch if text => {
            find::next(model, command == Command::NextMatch);
        }
        Command::Back if model.find.is_some() && model.overlays.is_empty() => model.find = None,
        _ => {
            if let Some(find) = &mut model.find {
                find.moved();
            }
            return false;
        }
    }
    true
}

/// Whether the arrows move in the second pane.
pub fn here_pane(model: &Model) -> bool {
    model.whole || model.pane == Pane::Second
}

/// Between the types of the overview; else by some columns where a text is wider than its pane.
pub fn sideways(model: &mut Model, right: bool) {
    match model.screen {
        Screen::Overview if right => model.overview.column += 1,
        Screen::Overview => model.overview.column = model.overview.column.saturating_sub(1),
        Screen::Timeline if model.timeline.format.is_some() => {
            let left = &mut model.timeline.left;
            *left = if right { *left + SIDEWAYS } else { left.saturating_sub(SIDEWAYS) };
        }
        _ => model.say("nothing here is wider than the screen: long texts wrap"),
    }
}

pub fn resize(model: &mut Model, larger: bool) {
    if matches!(model.screen, Screen::Overview | Screen::Stream | Screen::Graph) || model.whole {
        model.say("the panes of this screen take what they need");
        return;
    }
    let by = if larger { RESIZE } else { -RESIZE };
    model.shift = model.shift.saturating_add(by).clamp(-MOST, MOST);
}

pub fn sort(model: &mut Model, by: Sort) {
    if matches!(model.overlays.last(), Some(Overlay::Sort)) {
        model.overlays.pop();
    }
    model.sorts.set(model.screen, by);
    model.say(format!("sorted: {}", by.word()));
}
