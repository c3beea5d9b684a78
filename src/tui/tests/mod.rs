//! Harness for the tests of the screens: keys in, text out.

pub mod script;
pub mod story;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;

use crate::data::Data;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::run::painter::blank;
use crate::shell::settle::search;
use crate::shell::update::update;
use crate::shell::view::view;
use crate::widgets::theme::Theme;
use xdscope_present::text;

pub const PLAIN: Theme = Theme::SIXTEEN;
pub const ASCII: Theme = Theme::MONO.with_ascii(true);

/// Terminal sizes of the snapshots, in columns and lines.
pub const SIZES: [(u16, u16); 4] = [(80, 24), (100, 30), (120, 36), (200, 60)];

/// Compares the screen after typing with one snapshot for each of the [`SIZES`].
macro_rules! assert_snapshots {
    ($name:expr, $data:expr, $typed:expr) => {
        for (width, height) in $crate::tests::SIZES {
            let shown = $crate::tests::screen($data, $typed, width, height);
            insta::assert_snapshot!(format!("{}_{width}x{height}", $name), shown);
        }
    };
}
pub(crate) use assert_snapshots;

pub fn model(width: u16, height: u16, theme: Theme) -> Model {
    let mut model = Model::new((width, height), theme, TimeZone::UTC);
    model.common.info = story::info();
    model
}

/// Parses keys such as `jj<enter>^d?`: characters, names in `<>`, and `^` for Control.
pub fn keys(typed: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = typed;
    while let Some(first) = rest.chars().next() {
        let (key, len) = if first == '<' {
            let end = rest.find('>').expect("a name in <>");
            let code = match &rest[1..end] {
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "up" => KeyCode::Up,
                "down" => KeyCode::Down,
                "left" => KeyCode::Left,
                "right" => KeyCode::Right,
                "back" => KeyCode::Backspace,
                "end" => KeyCode::End,
                "home" => KeyCode::Home,
                "pgdn" => KeyCode::PageDown,
                "pgup" => KeyCode::PageUp,
                "backtab" => KeyCode::BackTab,
                "caret" => KeyCode::Char('^'),
                "lt" => KeyCode::Char('<'),
                other => panic!("no key {other}"),
            };
            (KeyEvent::new(code, KeyModifiers::NONE), end + 1)
        } else if let (true, Some(c)) = (first == '^', rest.chars().nth(1)) {
            (KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), 1 + c.len_utf8())
        } else {
            (KeyEvent::new(KeyCode::Char(first), KeyModifiers::NONE), first.len_utf8())
        };
        keys.push(key);
        rest = &rest[len..];
    }
    keys
}

/// Types into a model, and finishes the search after each key. Returns the effects.
pub fn type_keys(model: &mut Model, data: &dyn Data, typed: &str) -> Vec<Effect> {
    let mut effects = update(model, Msg::Changed, data);
    for key in keys(typed) {
        effects.extend(update(model, Msg::Key(key), data));
        while search(model, data) {}
        update(model, Msg::Changed, data);
    }
    effects
}

/// Clicks at a position, or turns the wheel there.
pub fn mouse(model: &mut Model, data: &dyn Data, kind: MouseEventKind, (x, y): (u16, u16)) -> Vec<Effect> {
    let event = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
    let effects = update(model, Msg::Mouse(event), data);
    while search(model, data) {}
    update(model, Msg::Changed, data);
    effects
}

/// Clicks on the first occurrence of a text on the screen.
pub fn click(model: &mut Model, data: &dyn Data, text: &str) -> Vec<Effect> {
    let shown = drawn_text(model);
    let found =
        shown.lines().enumerate().find_map(|(y, line)| Some((line.find(text).map(|at| &line[..at])?, y)));
    let (before, y) = found.unwrap_or_else(|| panic!("no {text} in\n{shown}"));
    let x = u16::try_from(text::width(before)).expect("a column");
    let y = u16::try_from(y).expect("a row");
    mouse(model, data, MouseEventKind::Down(MouseButton::Left), (x, y))
}

/// Types into a model without finishing a search.
pub fn press(model: &mut Model, data: &dyn Data, typed: &str) {
    for key in keys(typed) {
        update(model, Msg::Key(key), data);
    }
}

/// Returns a model of 100 by 30 cells after typing.
pub fn typed(data: &dyn Data, keys: &str) -> Model {
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, data, keys);
    model
}

pub fn drawn(model: &Model) -> Buffer {
    let mut buffer = blank(model.common.size);
    view(model, &mut buffer);
    buffer
}

/// The text that a model draws.
pub fn drawn_text(model: &Model) -> String {
    text(&drawn(model))
}

/// The text of a buffer, without blanks at line ends.
pub fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    buffer.content.chunks(width).map(line).collect::<Vec<_>>().join("\n")
}

/// The text on the screen after typing.
pub fn screen(data: &dyn Data, typed: &str, width: u16, height: u16) -> String {
    screen_in(PLAIN, data, typed, width, height)
}

pub fn screen_in(theme: Theme, data: &dyn Data, typed: &str, width: u16, height: u16) -> String {
    let mut model = model(width, height, theme);
    type_keys(&mut model, data, typed);
    text(&drawn(&model))
}

/// Returns the last line of a text that contains `with`.
pub fn line<'a>(text: &'a str, with: &str) -> &'a str {
    text.lines().rfind(|line| line.contains(with)).unwrap_or_else(|| panic!("no {with} in\n{text}"))
}
