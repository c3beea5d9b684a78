//! The table of keys, for dispatch, footer, help and palette.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::widgets::theme::Glyphs;

use super::command::Command::{self, *};
use super::context::Context;
use super::screen_id::ScreenId;

/// A key bound to a command in a context.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub context: Context,
    pub key: &'static str,
    pub command: Command,
    /// The footer shows the key.
    pub footer: bool,
}

const fn key(context: Context, key: &'static str, command: Command) -> Binding {
    Binding { context, key, command, footer: false }
}

const fn shown(context: Context, key: &'static str, command: Command) -> Binding {
    Binding { context, key, command, footer: true }
}

/// A command that changes what goes on the wire: upper case, and in the footer only where it works.
const fn client(name: &'static str, command: Command) -> Binding {
    Binding { context: Context::Everywhere, key: name, command, footer: true }
}

use Context as C;
use ScreenId as S;

/// All bindings; the footer follows their order, screen first.
pub const BINDINGS: &[Binding] = &[
    shown(C::Replay, "Space", Pause),
    shown(C::Replay, ",", StepBack),
    shown(C::Replay, ".", StepOn),
    key(C::Replay, "<", Slower),
    shown(C::Replay, ">", Faster),
    shown(C::Replay, "^", Start),
    shown(C::Replay, "$", End),
    key(C::Replay, "^e", NextEvent),
    key(C::Replay, "^y", PreviousEvent),
    key(C::Replay, "f", Follow),
    shown(C::Screen(S::Overview), "s", Sort),
    key(C::Screen(S::Overview), "z", Unfold),
    key(C::Screen(S::Overview), "d", Diff),
    key(C::Screen(S::Overview), "D", DiffMarked),
    key(C::Screen(S::Overview), "\\", FullScreen),
    shown(C::Screen(S::Overview), "r", Record),
    shown(C::Screen(S::Stream), "d", Diff),
    shown(C::Screen(S::Stream), "z", Unfold),
    shown(C::Screen(S::Stream), "a", Streams),
    shown(C::Screen(S::Timeline), "L", Ladder),
    shown(C::Screen(S::Timeline), "f", Follow),
    shown(C::Screen(S::Timeline), "v", Format),
    key(C::Screen(S::Timeline), "z", Unfold),
    key(C::Screen(S::Timeline), "\\", FullScreen),
    key(C::Screen(S::Timeline), "w", Wrap),
    shown(C::Screen(S::Timeline), "d", Diff),
    key(C::Screen(S::Timeline), "D", DiffMarked),
    shown(C::Screen(S::Diff), "[", Older),
    shown(C::Screen(S::Diff), "]", Newer),
    key(C::Screen(S::Diff), "(", PreviousChange),
    shown(C::Screen(S::Diff), ")", NextChange),
    shown(C::Screen(S::Diff), "u", Columns),
    shown(C::Screen(S::Diff), "o", Order),
    shown(C::Screen(S::Diff), "c", AllLines),
    shown(C::Screen(S::Diff), "b", Base),
    key(C::Screen(S::Diff), "\\", FullScreen),
    shown(C::Screen(S::Resources), "v", Format),
    shown(C::Screen(S::Resources), "i", Docs),
    shown(C::Screen(S::Resources), "[", Older),
    key(C::Screen(S::Resources), "]", Newer),
    shown(C::Screen(S::Resources), "P", Parents),
    shown(C::Screen(S::Resources), "z", Unfold),
    key(C::Screen(S::Resources), "w", Wrap),
    shown(C::Screen(S::Resources), "d", Diff),
    key(C::Screen(S::Resources), "D", DiffMarked),
    key(C::Screen(S::Resources), "\\", FullScreen),
    shown(C::Screen(S::Nack), "d", Diff),
    key(C::Screen(S::Nack), "\\", FullScreen),
    key(C::Screen(S::Nack), "z", Unfold),
    shown(C::Screen(S::Lint), "z", Unfold),
    shown(C::Screen(S::Subscriptions), "s", Sort),
    key(C::Screen(S::Subscriptions), "\\", FullScreen),
    shown(C::Screen(S::Graph), "p", ProblemsOnly),
    shown(C::Screen(S::Graph), "P", Parents),
    shown(C::Screen(S::Graph), "z", Unfold),
    key(C::Screen(S::Graph), "\\", FullScreen),
    shown(C::Screen(S::Lint), "x", ExplainRule),
    shown(C::Screen(S::Lint), "H", HideRule),
    key(C::Screen(S::Lint), "U", ShowRules),
    shown(C::Screen(S::Lint), "s", Sort),
    key(C::Screen(S::Lint), "\\", FullScreen),
    shown(C::Screen(S::Hold), "A", AckHeld),
    shown(C::Screen(S::Hold), "E", EditHeld),
    shown(C::Screen(S::Hold), "X", DropHeld),
    shown(C::Screen(S::Hold), "B", NackHeld),
    shown(C::Screen(S::Hold), "Z", ReleaseHeld),
    shown(C::Screen(S::Hold), "d", Diff),
    key(C::Screen(S::Hold), "\\", FullScreen),
    shown(C::Everywhere, "Enter", Open),
    shown(C::Everywhere, "}", NextProblem),
    key(C::Everywhere, "{", PreviousProblem),
    shown(C::Everywhere, "/", Filter),
    client("S", Resubscribe),
    client("A", AckHeld),
    client("B", NackHeld),
    client("R", Reconnect),
    client("I", Intercept),
    key(C::Everywhere, "n", NextMatch),
    key(C::Everywhere, "N", PreviousMatch),
    shown(C::Everywhere, "t", NextType),
    key(C::Everywhere, "T", AllTypes),
    shown(C::Everywhere, "Tab", NextPane),
    key(C::Everywhere, "Shift-Tab", PreviousPane),
    shown(C::Everywhere, "Space", Pause),
    key(C::Everywhere, ",", StepBack),
    key(C::Everywhere, ".", StepOn),
    key(C::Everywhere, "<", Slower),
    key(C::Everywhere, ">", Faster),
    key(C::Everywhere, "^", Start),
    key(C::Everywhere, "$", End),
    key(C::Everywhere, "^e", NextEvent),
    key(C::Everywhere, "^y", PreviousEvent),
    key(C::Everywhere, "J", NextStream),
    key(C::Everywhere, "K", PreviousStream),
    key(C::Everywhere, "s", Sort),
    key(C::Everywhere, "C", ChooseColumns),
    key(C::Everywhere, "W", Holders),
    key(C::Everywhere, "f", Follow),
    key(C::Everywhere, "r", Record),
    key(C::Everywhere, "m", SetMark),
    key(C::Everywhere, "'", GoToMark),
    shown(C::Everywhere, "y", Copy),
    shown(C::Everywhere, ":", Palette),
    shown(C::Everywhere, "?", Help),
    shown(C::Everywhere, "q", Quit),
    key(C::Everywhere, "1", Overview),
    key(C::Everywhere, "2", Stream),
    key(C::Everywhere, "3", Timeline),
    key(C::Everywhere, "4", Resources),
    key(C::Everywhere, "5", DiffScreen),
    key(C::Everywhere, "6", Nack),
    key(C::Everywhere, "7", Subscriptions),
    key(C::Everywhere, "8", Graph),
    key(C::Everywhere, "9", Lint),
    key(C::Everywhere, "0", Hold),
    key(C::Everywhere, "j", Down),
    key(C::Everywhere, "k", Up),
    key(C::Everywhere, "Down", Down),
    key(C::Everywhere, "Up", Up),
    key(C::Everywhere, "h", Left),
    key(C::Everywhere, "l", Right),
    key(C::Everywhere, "Left", Left),
    key(C::Everywhere, "Right", Right),
    key(C::Everywhere, "+", Grow),
    key(C::Everywhere, "-", Shrink),
    key(C::Everywhere, "g", First),
    key(C::Everywhere, "G", Last),
    key(C::Everywhere, "Home", First),
    key(C::Everywhere, "End", Last),
    key(C::Everywhere, "^d", HalfDown),
    key(C::Everywhere, "^u", HalfUp),
    key(C::Everywhere, "PgDn", PageDown),
    key(C::Everywhere, "PgUp", PageUp),
    key(C::Everywhere, "Esc", Back),
    key(C::Everywhere, "Backspace", Back),
    key(C::Everywhere, "^c", Interrupt),
    key(C::Always, "^z", Suspend),
    key(C::Always, "^l", Redraw),
    shown(C::Help, "j", Down),
    shown(C::Help, "k", Up),
    key(C::Help, "Down", Down),
    key(C::Help, "Up", Up),
    key(C::Help, "PgDn", PageDown),
    key(C::Help, "PgUp", PageUp),
    key(C::Help, "g", First),
    key(C::Help, "G", Last),
    shown(C::Help, "/", Filter),
    key(C::Help, "n", NextMatch),
    key(C::Help, "N", PreviousMatch),
    key(C::Help, "^c", Cancel),
    shown(C::Help, "Esc", Cancel),
    key(C::Help, "q", Cancel),
    key(C::Help, "?", Cancel),
    shown(C::Palette, "Enter", Accept),
    shown(C::Palette, "Tab", Complete),
    shown(C::Palette, "Up", Up),
    shown(C::Palette, "Down", Down),
    key(C::Palette, "Backspace", Erase),
    key(C::Palette, "^u", EraseAll),
    key(C::Palette, "^c", Cancel),
    shown(C::Palette, "Esc", Cancel),
    shown(C::Filter, "Enter", Accept),
    shown(C::Filter, "Tab", Complete),
    shown(C::Filter, "Up", Up),
    key(C::Filter, "Down", Down),
    key(C::Filter, "Backspace", Erase),
    shown(C::Filter, "^u", EraseAll),
    key(C::Filter, "^c", Cancel),
    shown(C::Filter, "Esc", Cancel),
    shown(C::Find, "Enter", Accept),
    shown(C::Find, "Up", Up),
    key(C::Find, "Down", Down),
    key(C::Find, "Backspace", Erase),
    shown(C::Find, "^u", EraseAll),
    key(C::Find, "^c", Cancel),
    shown(C::Find, "Esc", Cancel),
    shown(C::ClientPrompt, "Enter", Accept),
    key(C::ClientPrompt, "Backspace", Erase),
    shown(C::ClientPrompt, "^u", EraseAll),
    key(C::ClientPrompt, "^c", Cancel),
    shown(C::ClientPrompt, "Esc", Cancel),
    shown(C::RecordPrompt, "Enter", Accept),
    key(C::RecordPrompt, "Backspace", Erase),
    shown(C::RecordPrompt, "^u", EraseAll),
    key(C::RecordPrompt, "^c", Cancel),
    shown(C::RecordPrompt, "Esc", Cancel),
    key(C::Sort, "1", SortWorst),
    key(C::Sort, "2", SortName),
    key(C::Sort, "3", SortNewest),
    shown(C::Sort, "j", Down),
    shown(C::Sort, "k", Up),
    key(C::Sort, "Down", Down),
    key(C::Sort, "Up", Up),
    shown(C::Sort, "Enter", Accept),
    key(C::Sort, "^c", Cancel),
    shown(C::Sort, "Esc", Cancel),
    shown(C::Copy, "r", CopyRow),
    shown(C::Copy, "n", CopyName),
    shown(C::Copy, "p", CopyPath),
    shown(C::Copy, "j", CopyJson),
    shown(C::Copy, "y", CopyYaml),
    shown(C::Copy, "c", CopyCommand),
    shown(C::Copy, "m", CopyTable),
    key(C::Copy, "^c", Cancel),
    shown(C::Copy, "Esc", Cancel),
    shown(C::Columns, "j", Down),
    shown(C::Columns, "k", Up),
    key(C::Columns, "Down", Down),
    key(C::Columns, "Up", Up),
    shown(C::Columns, "Enter", Accept),
    key(C::Columns, "Space", Accept),
    shown(C::Columns, "Esc", Cancel),
    key(C::Columns, "q", Cancel),
    key(C::Columns, "^c", Cancel),
    key(C::Mark, "^c", Cancel),
    shown(C::Mark, "Esc", Cancel),
    shown(C::Confirm, "y", Yes),
    shown(C::Confirm, "n", No),
    key(C::Confirm, "Esc", No),
    key(C::Confirm, "^c", Interrupt),
    shown(C::ConfirmEdit, "y", Yes),
    shown(C::ConfirmEdit, "e", EditHeld),
    shown(C::ConfirmEdit, "n", No),
    key(C::ConfirmEdit, "j", Down),
    key(C::ConfirmEdit, "k", Up),
    key(C::ConfirmEdit, "Down", Down),
    key(C::ConfirmEdit, "Up", Up),
    key(C::ConfirmEdit, "PgDn", PageDown),
    key(C::ConfirmEdit, "PgUp", PageUp),
    key(C::ConfirmEdit, "Esc", No),
    key(C::ConfirmEdit, "^c", Interrupt),
];

/// The name of a key press in the table; `None` for keys without a name.
pub(crate) fn name(event: KeyEvent) -> Option<String> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let word = match event.code {
        KeyCode::Char(' ') => "Space",
        KeyCode::Char(c) if control => return Some(format!("^{}", c.to_ascii_lowercase())),
        KeyCode::Char(c) => return Some(c.to_string()),
        KeyCode::Enter => "Enter",
        KeyCode::Esc => "Esc",
        KeyCode::Backspace => "Backspace",
        KeyCode::Tab => "Tab",
        KeyCode::BackTab => "Shift-Tab",
        KeyCode::Up => "Up",
        KeyCode::Down => "Down",
        KeyCode::Left => "Left",
        KeyCode::Right => "Right",
        KeyCode::Home => "Home",
        KeyCode::End => "End",
        KeyCode::PageUp => "PgUp",
        KeyCode::PageDown => "PgDn",
        _ => return None,
    };
    Some(word.to_owned())
}

/// A key as the footer shows it, with symbols for arrows.
pub(crate) fn shown_key(key: &'static str, glyphs: &Glyphs) -> &'static str {
    match key {
        "Up" => glyphs.up,
        "Down" => glyphs.down,
        "Left" => glyphs.response,
        "Right" => glyphs.request,
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rebind::Keymap;
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn keys_are_unique_within_a_context() {
        let mut seen = HashSet::new();
        for binding in BINDINGS {
            assert!(seen.insert((binding.context, binding.key)), "{:?} {}", binding.context, binding.key);
        }
    }

    #[test]
    fn keys_mean_the_same_on_every_screen() {
        let on_screens = BINDINGS.iter().filter(|binding| {
            binding.context.is_screen() || matches!(binding.context, C::Always | C::Everywhere)
        });
        let mut meaning = HashMap::new();
        for binding in on_screens {
            let command = *meaning.entry(binding.key).or_insert(binding.command);
            assert_eq!(command, binding.command, "{}", binding.key);
        }
    }

    #[test]
    fn esc_and_ctrl_c_work_in_every_context() {
        for context in [
            C::Help,
            C::Palette,
            C::Filter,
            C::Find,
            C::ClientPrompt,
            C::RecordPrompt,
            C::Sort,
            C::Columns,
            C::Copy,
            C::Mark,
            C::Confirm,
            C::ConfirmEdit,
            C::Everywhere,
        ] {
            for key in ["Esc", "^c"] {
                assert!(Keymap::default().lookup(&[context], key).is_some(), "{context:?} {key}");
            }
        }
    }

    #[test]
    fn leaves_multiplexer_keys_free() {
        for binding in BINDINGS {
            assert!(!["^a", "^b"].contains(&binding.key), "{:?}", binding.context);
        }
    }
}
