//! Keys by name.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Parses keys such as `jj<enter>/name`: characters, and names in `<>`.
pub fn keys(typed: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = typed;
    while let Some(first) = rest.chars().next() {
        let (code, len) = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            Some((name, _)) => (named(name), name.len() + 2),
            None => (KeyCode::Char(first), first.len_utf8()),
        };
        keys.push(KeyEvent::new(code, KeyModifiers::NONE));
        rest = &rest[len..];
    }
    keys
}

fn named(name: &str) -> KeyCode {
    match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        other => panic!("no key {other}"),
    }
}
