//! The palette behind `:`, over the lower half of the screen.

use ratatui::layout::{Position, Rect};

use crate::present::report::Role;
use crate::tui::input::keymap;
use crate::tui::shell::model::Model;
use crate::tui::shell::palette::{ARGUMENT_COMMANDS, ArgumentCommand, candidates};
use crate::tui::widgets::canvas::{Canvas, plain, span};
use crate::tui::widgets::layout::{Layout, split};
use crate::tui::widgets::list::scroll;
use crate::wire::text::{Keep, cut, display_safe, pad, width};

/// Draws the palette. Returns the position of the cursor.
pub(super) fn draw(
    model: &Model,
    canvas: &mut Canvas,
    layout: &Layout,
    input: &str,
    chosen: usize,
) -> Position {
    let (_, area) = split(layout.body, layout.body.height / 2);
    let blank = " ".repeat(usize::from(area.width));
    for row in area.rows() {
        canvas.text(row, &blank, Role::Plain);
    }
    let (title, rest) = split(area, 1);
    let glyphs = canvas.glyphs();
    let remark = if model.history.is_empty() {
        "fuzzy; Tab completes".to_owned()
    } else {
        format!("fuzzy; {} history; Tab completes", glyphs.up)
    };
    canvas.heading(title, ": command", &remark, true);
    let (prompt, list) = split(rest, 1);
    let safe = display_safe(input);
    let shown = cut(&safe, usize::from(prompt.width).saturating_sub(4), Keep::Tail, canvas.glyphs().cut);
    canvas.line(prompt, &[span(" :", Role::Key), plain(shown.as_ref())]);
    let x = prompt.x + 2 + u16::try_from(width(&shown)).unwrap_or(0);
    let found = candidates(input);
    let with = ARGUMENT_COMMANDS
        .iter()
        .filter(|command| input.is_empty() || command.word.starts_with(first_word(input)));
    let top = scroll(0, chosen, usize::from(list.height), found.len());
    let key_width = 10;
    let mut lines: Vec<_> = found
        .iter()
        .map(|command| {
            let key = model.keys.key_of(*command).map_or("", |key| keymap::shown_key(key, canvas.glyphs()));
            (pad(command.name(), 25), command.doc().to_owned(), key.to_owned())
        })
        .collect();
    lines.extend(with.map(|ArgumentCommand { word, example, doc }| {
        (pad(&format!("{word} {example}"), 25), (*doc).to_owned(), String::new())
    }));
    for (i, (row, (name, doc, key))) in list.rows().zip(lines.into_iter().skip(top)).enumerate() {
        let doc_room = Rect { width: row.width.saturating_sub(key_width), ..row };
        canvas.line(doc_room, &[plain(format!("   {name} ")), plain(doc)]);
        canvas.right(Rect { width: row.width.saturating_sub(1), ..row }, &pad(&key, 7), Role::Key);
        if i + top == chosen && (i + top < found.len() || found.is_empty()) {
            canvas.cursor(row, true);
        }
    }
    if found.is_empty() && !input.contains(' ') {
        canvas.text(list, "   unknown command", Role::Muted);
    }
    Position { x: x.min(prompt.right().saturating_sub(1)), y: prompt.y }
}

fn first_word(input: &str) -> &str {
    input.split(' ').next().unwrap_or(input)
}
