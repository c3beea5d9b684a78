//! Symbols, and their ASCII replacements.

use std::borrow::Cow;

use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::TypeState;
use xdscope_present::report::{CLOSED_SIGN, Role, state_word};

macro_rules! glyphs {
    ($($(#[$doc:meta])* $name:ident $symbol:literal $ascii:literal;)*) => {
        /// The symbols. Each takes one cell, except arrows, folds and the cut mark in ASCII.
        #[derive(Debug)]
        pub struct Glyphs { $($(#[$doc])* pub $name: &'static str),* }

        const UNICODE: Glyphs = Glyphs { $($name: $symbol),* };
        const ASCII: Glyphs = Glyphs { $($name: $ascii),* };
    };
}

glyphs! {
    /// The selected row of the pane with the focus.
    selected "▌" ">";
    /// The selected row of another pane.
    chosen "▌" "*";
    request "→" "->";
    response "←" "<-";
    answer "└" "`";
    cut "…" "..";
    rule "─" "-";
    /// The rule of the pane with the focus.
    focus_rule "━" "=";
    bar "│" "|";
    dot "·" "-";
    times "×" "x";
    delta "Δ" "d";
    to "→" "->";
    head_left "◄" "<";
    head_right "►" ">";
    gap "⋮" ":";
    up "↑" "^";
    down "↓" "v";
    ok "✓" "+";
    sent "»" ">";
    bad "✗" "x";
    wait "⋯" ".";
    miss "∅" "0";
    /// Client and server believe different things.
    diverged "≠" "/";
    /// A source that is being read.
    reading "◐" "%";
    /// Streams of a client that end again and again.
    again "↻" "@";
    open "▾" "[-]";
    folded "▸" "[+]";
    /// The left end of the replay bar.
    track_left "├" "|";
    track_right "┤" "|";
    cursor "┃" "#";
}

impl Glyphs {
    pub(super) fn choose(ascii: bool) -> &'static Glyphs {
        if ascii { &ASCII } else { &UNICODE }
    }
}

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
            '≠' => out.push('/'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
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
    let symbol = match state {
        TypeState::Synced => glyphs.ok,
        TypeState::Sent => glyphs.sent,
        TypeState::Stale | TypeState::Down => "!",
        TypeState::Nack | TypeState::Rejected => glyphs.bad,
        TypeState::Wait | TypeState::Warming => glyphs.wait,
        TypeState::Miss | TypeState::Expired => glyphs.miss,
        TypeState::Idle => "-",
        TypeState::Closed => CLOSED_SIGN,
    };
    StateMark { symbol, word, role }
}

/// Returns the symbol and the words of a state: `✗ NACK×3`; of a closed stream `#✗ NACK`. `last`:
/// the state before the stream closed.
pub(crate) fn marked_state(
    state: TypeState,
    last: Option<TypeState>,
    words: &str,
    glyphs: &Glyphs,
) -> String {
    let symbol = state_mark(state, glyphs).symbol;
    let Some(last) = last else { return format!("{symbol} {words}") };
    let words = words.strip_prefix(symbol).unwrap_or(words).trim_start();
    let text = format!("{symbol}{} {words}", state_mark(last, glyphs).symbol);
    text.trim_end().to_owned()
}

/// Returns the symbol of a problem.
pub(crate) fn problem_symbol(problem: &ProblemFact, glyphs: &Glyphs) -> &'static str {
    problem.state().map_or("!", |state| state_mark(state, glyphs).symbol)
}
