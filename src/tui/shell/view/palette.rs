//! The palette behind `:`, over the lower half of the screen.

use ratatui::layout::{Position, Rect};

use crate::input::keymap;
use crate::input::screen_id::ScreenId;
use crate::shell::model::Model;
use crate::shell::palette::lines::{ARGUMENT_COMMANDS, ArgumentCommand, LineTarget, PaletteSearch};
use crate::widgets::canvas::{Canvas, plain, span};
use crate::widgets::layout::{Layout, split};
use crate::widgets::list::scroll;
use xdscope_present::report::Role;
use xdscope_present::text::cut_name;
use xdscope_present::text::{Keep, cut, pad, width};
use xdscope_wire::text::display_safe;

/// Columns of a name.
const NAME_WIDTH: usize = 25;

/// The state of the palette.
pub(super) struct PaletteLines<'a> {
    pub input: &'a str,
    pub chosen: usize,
    pub search: &'a PaletteSearch,
}

/// The fewest lines, with the title and what is typed: all screens are listed at once.
const MIN_LINES: u16 = 2 + ScreenId::ALL.len() as u16;

/// The areas of the title, of what is typed, and of the lines.
fn areas(layout: &Layout) -> [Rect; 3] {
    let lines = layout.body.height.div_ceil(2).max(MIN_LINES);
    let (_, area) = split(layout.body, layout.body.height.saturating_sub(lines));
    let (title, rest) = split(area, 1);
    let (prompt, list) = split(rest, 1);
    [title, prompt, list]
}

/// The line at a row of the screen.
pub(crate) fn line_at(layout: &Layout, search: &PaletteSearch, chosen: usize, y: u16) -> Option<usize> {
    let [_, _, list] = areas(layout);
    if y >= list.bottom() {
        return None;
    }
    let row = y.checked_sub(list.y)?;
    let top = scroll(0, chosen, usize::from(list.height), search.candidates.len());
    Some(top + usize::from(row)).filter(|line| *line < search.candidates.len())
}

/// Draws the palette. Returns the position of the cursor.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout, lines: PaletteLines<'_>) -> Position {
    let PaletteLines { input, chosen, search } = lines;
    let [title, prompt, list] = areas(layout);
    for area in [title, prompt, list] {
        canvas.clear(area);
    }
    let glyphs = canvas.glyphs();
    let history = if model.history.is_empty() { String::new() } else { format!("{} history; ", glyphs.up) };
    let remark = match search.progress() {
        Some(progress) => progress,
        None => format!("commands, nodes, types, resources, rules, fields; {history}Tab completes"),
    };
    canvas.heading(title, ": command", &remark, true);
    let safe = display_safe(input);
    let shown = cut(&safe, usize::from(prompt.width).saturating_sub(4), Keep::Tail, glyphs.cut);
    canvas.line(prompt, &[span(" :", Role::Key), plain(shown.as_ref())]);
    let x = prompt.x + 2 + u16::try_from(width(&shown)).unwrap_or(0);
    let found = &search.candidates;
    let with_argument = ARGUMENT_COMMANDS
        .iter()
        .filter(|command| input.is_empty() || command.word.starts_with(first_word(input)));
    let top = scroll(0, chosen, usize::from(list.height), found.len());
    let key_width = 10;
    let candidates = found.iter().map(|line| {
        let key = match &line.target {
            LineTarget::Command(command) => model.keys.key_of(*command),
            LineTarget::Place(_) => None,
        };
        let key = key.map_or("", |key| keymap::shown_key(key, glyphs));
        (line.name.as_str().to_owned(), line.doc.as_str(), key)
    });
    let with_argument =
        with_argument.map(|ArgumentCommand { word, example, doc }| (format!("{word} {example}"), *doc, ""));
    for (i, (row, (name, doc, key))) in list.rows().zip(candidates.chain(with_argument).skip(top)).enumerate()
    {
        let doc_room = Rect { width: row.width.saturating_sub(key_width), ..row };
        let name = display_safe(&name);
        let name = pad(&cut_name(&name, NAME_WIDTH, glyphs.cut), NAME_WIDTH);
        canvas.line(doc_room, &[plain(format!("   {name} ")), plain(doc)]);
        canvas.right(Rect { width: row.width.saturating_sub(1), ..row }, &pad(key, 7), Role::Key);
        if i + top == chosen && (i + top < found.len() || found.is_empty()) {
            canvas.cursor(row, true);
        }
    }
    if found.is_empty() && !input.contains(' ') {
        let nothing = match search.progress() {
            Some(_) => "   searching",
            None if is_message(input) => "   Enter goes to this message",
            None => "   nothing has this name",
        };
        canvas.text(list, nothing, Role::Muted);
    }
    Position { x: x.min(prompt.right().saturating_sub(1)), y: prompt.y }
}

/// Whether a text is the number of a message: `#150`.
fn is_message(input: &str) -> bool {
    let number = input.trim().strip_prefix('#');
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn first_word(input: &str) -> &str {
    input.split(' ').next().unwrap_or(input)
}
