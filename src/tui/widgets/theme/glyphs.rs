//! Symbols, and their ASCII replacements.

use std::borrow::Cow;

use xdscope_engine::store::TypeState;
use xdscope_present::report::{Role, state_word};

/// The symbols. Each takes one cell, except arrows, folds and the cut mark in ASCII.
#[derive(Debug)]
pub struct Glyphs {
    /// The selected row of the pane with the focus.
    pub selected: &'static str,
    /// The selected row of another pane.
    pub chosen: &'static str,
    pub request: &'static str,
    pub response: &'static str,
    pub answer: &'static str,
    pub cut: &'static str,
    pub rule: &'static str,
    /// The rule of the pane with the focus.
    pub focus_rule: &'static str,
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
    /// A source that is being read.
    pub reading: &'static str,
    /// Streams of a client that end again and again.
    pub again: &'static str,
    pub open: &'static str,
    pub folded: &'static str,
    /// The left end of the replay bar.
    pub track_left: &'static str,
    pub track_right: &'static str,
    pub cursor: &'static str,
}

impl Glyphs {
    pub(super) fn choose(ascii: bool) -> &'static Glyphs {
        if ascii { &ASCII } else { &UNICODE }
    }
}

const UNICODE: Glyphs = Glyphs {
    selected: "▌",
    chosen: "▌",
    request: "→",
    response: "←",
    answer: "└",
    cut: "…",
    rule: "─",
    focus_rule: "━",
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
    reading: "◐",
    again: "↻",
    open: "▾",
    folded: "▸",
    track_left: "├",
    track_right: "┤",
    cursor: "┃",
};

const ASCII: Glyphs = Glyphs {
    selected: ">",
    chosen: "*",
    request: "->",
    response: "<-",
    answer: "`",
    cut: "..",
    rule: "-",
    focus_rule: "=",
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
    reading: "%",
    again: "@",
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
        TypeState::Nack | TypeState::Rejected => glyphs.bad,
        TypeState::Wait | TypeState::Warming => glyphs.wait,
        TypeState::Miss | TypeState::Expired => glyphs.miss,
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
