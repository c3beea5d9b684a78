//! Styles by role, and symbols with their ASCII replacements. No fact is shown by colour alone.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};

use crate::engine::store::TypeState;
use crate::present::report::{Role, state_word};

/// The styles of roles: foreground colours of the terminal's palette, or weight alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    pub color: bool,
    pub ascii: bool,
    /// Bright and bold styles instead of plain and dim ones.
    pub contrast: bool,
}

impl Theme {
    pub fn style(self, role: Role) -> Style {
        let style = Style::new();
        let weight = match role {
            Role::Title | Role::Bad | Role::Key => style.add_modifier(Modifier::BOLD),
            Role::Muted if !self.contrast => style.add_modifier(Modifier::DIM),
            Role::Ok | Role::Pending | Role::Warn | Role::Changed | Role::Added | Role::Removed
                if self.contrast =>
            {
                style.add_modifier(Modifier::BOLD)
            }
            Role::Wire => style.add_modifier(Modifier::REVERSED),
            Role::AddedWord | Role::RemovedWord => style.add_modifier(Modifier::UNDERLINED),
            _ => style,
        };
        if !self.color {
            return weight;
        }
        let shade = |plain: Color, bright: Color| if self.contrast { bright } else { plain };
        match role {
            Role::Plain | Role::Title | Role::Muted => weight,
            Role::Ok | Role::Added | Role::AddedWord => weight.fg(shade(Color::Green, Color::LightGreen)),
            Role::Pending | Role::Key => weight.fg(shade(Color::Cyan, Color::LightCyan)),
            Role::Warn | Role::Changed => weight.fg(shade(Color::Yellow, Color::LightYellow)),
            Role::Bad | Role::Removed | Role::RemovedWord => weight.fg(shade(Color::Red, Color::LightRed)),
            Role::Wire => weight.fg(shade(Color::Magenta, Color::LightMagenta)),
        }
    }

    /// The style of the selected row.
    pub fn selection(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub fn glyphs(self) -> &'static Glyphs {
        if self.ascii { &ASCII } else { &UNICODE }
    }
}

/// The symbols. Each takes one cell, except arrows, folds and the cut mark in ASCII.
#[derive(Debug)]
pub struct Glyphs {
    pub selected: &'static str,
    pub request: &'static str,
    pub response: &'static str,
    pub answer: &'static str,
    pub cut: &'static str,
    pub rule: &'static str,
    pub bar: &'static str,
    pub dot: &'static str,
    pub times: &'static str,
    pub delta: &'static str,
    pub to: &'static str,
    pub head_left: &'static str,
    pub head_right: &'static str,
    pub gap: &'static str,
    pub caret: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub ok: &'static str,
    pub sent: &'static str,
    pub bad: &'static str,
    pub wait: &'static str,
    pub miss: &'static str,
    pub open: &'static str,
    pub folded: &'static str,
    /// The left end of the replay bar.
    pub track_left: &'static str,
    pub track_right: &'static str,
    pub cursor: &'static str,
}

const UNICODE: Glyphs = Glyphs {
    selected: "▸",
    request: "→",
    response: "←",
    answer: "└",
    cut: "…",
    rule: "─",
    bar: "│",
    dot: "·",
    times: "×",
    delta: "Δ",
    to: "→",
    head_left: "◄",
    head_right: "►",
    gap: "⋮",
    caret: "▏",
    up: "↑",
    down: "↓",
    ok: "✓",
    sent: "»",
    bad: "✗",
    wait: "⋯",
    miss: "∅",
    open: "▾",
    folded: "▸",
    track_left: "├",
    track_right: "┤",
    cursor: "┃",
};

const ASCII: Glyphs = Glyphs {
    selected: ">",
    request: "->",
    response: "<-",
    answer: "`",
    cut: "..",
    rule: "-",
    bar: "|",
    dot: "-",
    times: "x",
    delta: "d",
    to: "->",
    head_left: "<",
    head_right: ">",
    gap: ":",
    caret: "_",
    up: "^",
    down: "v",
    ok: "+",
    sent: ">",
    bad: "x",
    wait: ".",
    miss: "0",
    open: "[-]",
    folded: "[+]",
    track_left: "|",
    track_right: "|",
    cursor: "#",
};

/// Replaces common symbols by their ASCII replacements.
pub(crate) fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '→' => out.push_str("->"),
            '←' => out.push_str("<-"),
            '…' => out.push_str(".."),
            '×' => out.push('x'),
            '·' | '–' | '—' => out.push('-'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The symbol of a state.
pub(crate) fn symbol(state: TypeState, glyphs: &Glyphs) -> &'static str {
    match state {
        TypeState::Synced => glyphs.ok,
        TypeState::Sent => glyphs.sent,
        TypeState::Stale | TypeState::Down => "!",
        TypeState::Nack => glyphs.bad,
        TypeState::Wait | TypeState::Warming => glyphs.wait,
        TypeState::Miss => glyphs.miss,
        TypeState::Idle => "-",
        TypeState::Closed => "#",
    }
}

/// A state as drawn.
pub(crate) struct StateMark {
    pub symbol: &'static str,
    pub word: &'static str,
    pub role: Role,
}

/// Returns the symbol, word and role of a state.
pub(crate) fn state_mark(state: TypeState, glyphs: &Glyphs) -> StateMark {
    let (word, role) = state_word(state);
    StateMark { symbol: symbol(state, glyphs), word, role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_no_colour_when_disabled() {
        let theme = Theme { color: false, ascii: false, contrast: false };
        for role in [Role::Ok, Role::Pending, Role::Warn, Role::Bad, Role::Wire, Role::Key, Role::Removed] {
            assert_eq!(theme.style(role).fg, None, "{role:?}");
        }
    }

    #[test]
    fn uses_no_background_and_no_blue() {
        let theme = Theme { color: true, ascii: false, contrast: false };
        for role in [Role::Ok, Role::Pending, Role::Warn, Role::Bad, Role::Wire, Role::Key, Role::Removed] {
            assert_eq!(theme.style(role).bg, None, "{role:?}");
            assert_ne!(theme.style(role).fg, Some(Color::Blue), "{role:?}");
        }
    }
}
