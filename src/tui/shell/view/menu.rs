//! The menus behind `s` and `C`, over the lower part of the screen.

use ratatui::layout::{Position, Rect};

use crate::shell::commands::columns::{ENTRY_KEYS, column_entries, sort_entries};
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::widgets::canvas::{Canvas, span};
use crate::widgets::layout::{Layout, height, split};
use crate::widgets::list::{line_at, scroll};
use xdscope_present::report::Role;

/// A menu: its title, its lines, and the chosen one.
struct Menu {
    title: &'static str,
    lines: Vec<String>,
    chosen: usize,
}

/// Returns the entries of the open menu.
fn menu(model: &Model) -> Option<Menu> {
    let mark = |is_set: bool| if is_set { "[x]" } else { "[ ]" };
    match model.overlays.last()? {
        Overlay::Sort { chosen } => {
            let lines = sort_entries(model).into_iter();
            let lines = lines.map(|entry| format!("{} {}", mark(entry.is_current), entry.words)).collect();
            Some(Menu { title: "s order", lines, chosen: *chosen })
        }
        Overlay::Columns { chosen } => {
            let lines = column_entries(model).into_iter();
            let is_left_out = |title: &str| model.common.widths.is_left_out(title);
            let lines = lines.map(|(title, is_shown)| match is_shown && is_left_out(&title) {
                true => format!("{} {title}   no room at this width", mark(is_shown)),
                false => format!("{} {title}", mark(is_shown)),
            });
            let lines = lines.collect();
            Some(Menu { title: "C columns", lines, chosen: *chosen })
        }
        _ => None,
    }
}

/// The area of the menu, and the first line that is shown.
fn area(layout: &Layout, menu: &Menu) -> (Rect, usize) {
    let body = layout.body;
    let height = height(menu.lines.len() + 1).min(body.height);
    let area = Rect { y: body.bottom() - height, height, ..body };
    let top = scroll(0, menu.chosen, usize::from(height.saturating_sub(1)), menu.lines.len());
    (area, top)
}

/// The entry at a position of the terminal.
pub(crate) fn entry_at(model: &Model, layout: &Layout, position: Position) -> Option<usize> {
    let menu = menu(model)?;
    let (area, top) = area(layout, &menu);
    let entry = top + line_at(area, position)?;
    if entry < menu.lines.len() { Some(entry) } else { None }
}

/// Draws the menu, if one is open. Returns the position of the chosen entry.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let menu = menu(model)?;
    let (area, top) = area(layout, &menu);
    canvas.clear(area);
    let (title, list) = split(area, 1);
    let keys = if menu.lines.len() > 10 { "numbers and letters choose" } else { "numbers choose" };
    let below = menu.lines.len().saturating_sub(top + usize::from(list.height));
    let below = if below > 0 { format!("{below} below; ") } else { String::new() };
    canvas.heading(title, menu.title, &format!("{below}{keys}; Esc closes"), true);
    let mut cursor = None;
    for (row, (at, line)) in list.rows().zip(menu.lines.iter().enumerate().skip(top)) {
        let key = ENTRY_KEYS.get(at..=at).unwrap_or(" ");
        canvas.line(row, &[span(format!("   {key}  "), Role::Key), span(line.as_str(), Role::Plain)]);
        if at == menu.chosen {
            canvas.cursor(row, true);
            cursor = Some(row.as_position());
        }
    }
    cursor
}
