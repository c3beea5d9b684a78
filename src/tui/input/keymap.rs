//! The one table of keys. Dispatch, footer, help and palette all read it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::input::command::Command::{self, *};
use crate::tui::shell::model::Screen;
use crate::tui::widgets::theme::Glyphs;

/// Where a key is bound. Overlays shadow the screen beneath them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// In overlays and prompts too.
    Always,
    Everywhere,
    Overview,
    Stream,
    Timeline,
    Diff,
    Resources,
    Nack,
    Subs,
    Graph,
    Lint,
    /// While the help is open.
    Help,
    /// While a command is typed.
    Palette,
    /// While a filter is typed.
    Input,
    /// On every screen while there is a time cursor.
    Replay,
    /// While what to find is typed.
    Find,
    /// While what a client is told is typed.
    Tell,
    /// While the name of a recording is typed.
    Name,
    /// After `s`.
    Sort,
    /// After `y`.
    Copy,
    /// After `m` and `'`.
    Mark,
    /// A yes-or-no question.
    Confirm,
}

impl Context {
    pub const ALL: [Context; 22] = [
        Context::Overview,
        Context::Stream,
        Context::Timeline,
        Context::Resources,
        Context::Diff,
        Context::Nack,
        Context::Subs,
        Context::Graph,
        Context::Lint,
        Context::Replay,
        Context::Everywhere,
        Context::Always,
        Context::Copy,
        Context::Sort,
        Context::Mark,
        Context::Help,
        Context::Palette,
        Context::Input,
        Context::Find,
        Context::Tell,
        Context::Name,
        Context::Confirm,
    ];

    /// Where that is, in words.
    pub fn title(self) -> &'static str {
        match self {
            Context::Always => "always",
            Context::Everywhere => "everywhere",
            Context::Overview => "Overview",
            Context::Stream => "Stream",
            Context::Timeline => "Timeline",
            Context::Diff => "Diff",
            Context::Resources => "Resources",
            Context::Nack => "NACK",
            Context::Subs => "Subs",
            Context::Graph => "Graph",
            Context::Lint => "Lint",
            Context::Help => "help",
            Context::Palette => "commands",
            Context::Input => "filter",
            Context::Replay => "time cursor",
            Context::Find => "find",
            Context::Tell => "told to the client",
            Context::Name => "name of a recording",
            Context::Sort => "after s",
            Context::Copy => "after y",
            Context::Mark => "after m",
            Context::Confirm => "questions",
        }
    }

    /// One of the screens, over [`Context::Everywhere`].
    pub fn is_screen(self) -> bool {
        Screen::ALL.into_iter().any(|screen| screen.context() == self)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub context: Context,
    pub key: &'static str,
    pub command: Command,
    /// Named in the footer.
    pub footer: bool,
}

const fn key(context: Context, key: &'static str, command: Command) -> Binding {
    Binding { context, key, command, footer: false }
}

const fn shown(context: Context, key: &'static str, command: Command) -> Binding {
    Binding { context, key, command, footer: true }
}

/// What goes on the wire: uppercase, and in the footer of a client only.
const fn wire(name: &'static str, command: Command) -> Binding {
    Binding { context: Context::Everywhere, key: name, command, footer: true }
}

use Context as C;

/// All bindings; the footer follows their order, screen first.
pub const BINDINGS: &[Binding] = &[
    shown(C::Replay, "Space", Pause),
    shown(C::Replay, ",", StepBack),
    shown(C::Replay, ".", StepOn),
    key(C::Replay, "<", Slower),
    shown(C::Replay, ">", Faster),
    shown(C::Replay, "}", NextProblem),
    key(C::Replay, "{", PreviousProblem),
    shown(C::Replay, "g", Start),
    shown(C::Replay, "G", End),
    key(C::Replay, "Home", Start),
    key(C::Replay, "End", End),
    key(C::Replay, "f", Follow),
    shown(C::Overview, "s", Sort),
    key(C::Overview, "z", Unfold),
    key(C::Overview, "d", Diff),
    key(C::Overview, "D", DiffMarked),
    shown(C::Overview, "r", Record),
    shown(C::Stream, "d", Diff),
    shown(C::Timeline, "L", Ladder),
    shown(C::Timeline, "f", Follow),
    shown(C::Timeline, "v", Format),
    key(C::Timeline, "z", Unfold),
    key(C::Timeline, "\\", Whole),
    key(C::Timeline, "w", Wrap),
    shown(C::Timeline, "d", Diff),
    key(C::Timeline, "D", DiffMarked),
    shown(C::Diff, "[", Older),
    shown(C::Diff, "]", Newer),
    key(C::Diff, "(", PreviousChange),
    shown(C::Diff, ")", NextChange),
    shown(C::Diff, "u", Columns),
    shown(C::Diff, "o", Order),
    shown(C::Diff, "c", AllLines),
    shown(C::Diff, "b", Base),
    key(C::Diff, "\\", Whole),
    shown(C::Resources, "v", Format),
    shown(C::Resources, "i", Docs),
    shown(C::Resources, "[", Older),
    key(C::Resources, "]", Newer),
    shown(C::Resources, "P", Parents),
    shown(C::Resources, "z", Unfold),
    key(C::Resources, "w", Wrap),
    shown(C::Resources, "d", Diff),
    key(C::Resources, "D", DiffMarked),
    key(C::Resources, "\\", Whole),
    shown(C::Nack, "d", Diff),
    key(C::Nack, "\\", Whole),
    key(C::Nack, "z", Unfold),
    shown(C::Subs, "s", Sort),
    key(C::Subs, "\\", Whole),
    shown(C::Graph, "p", ProblemsOnly),
    shown(C::Graph, "P", Parents),
    shown(C::Graph, "z", Unfold),
    key(C::Graph, "\\", Whole),
    shown(C::Lint, "x", ExplainRule),
    shown(C::Lint, "H", HideRule),
    shown(C::Lint, "s", Sort),
    key(C::Lint, "\\", Whole),
    shown(C::Everywhere, "Enter", Open),
    shown(C::Everywhere, "}", NextProblem),
    key(C::Everywhere, "{", PreviousProblem),
    shown(C::Everywhere, "/", Filter),
    wire("S", Resubscribe),
    wire("A", AckHeld),
    wire("B", NackHeld),
    wire("R", Reconnect),
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
    key(C::Everywhere, "f", Follow),
    key(C::Everywhere, "r", Record),
    key(C::Everywhere, "m", Mark),
    key(C::Everywhere, "'", GoMark),
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
    key(C::Everywhere, "7", Subs),
    key(C::Everywhere, "8", Graph),
    key(C::Everywhere, "9", Lint),
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
    shown(C::Input, "Enter", Accept),
    key(C::Input, "Backspace", Erase),
    shown(C::Input, "^u", EraseAll),
    key(C::Input, "^c", Cancel),
    shown(C::Input, "Esc", Cancel),
    shown(C::Find, "Enter", Accept),
    key(C::Find, "Backspace", Erase),
    shown(C::Find, "^u", EraseAll),
    key(C::Find, "^c", Cancel),
    shown(C::Find, "Esc", Cancel),
    shown(C::Tell, "Enter", Accept),
    key(C::Tell, "Backspace", Erase),
    shown(C::Tell, "^u", EraseAll),
    key(C::Tell, "^c", Cancel),
    shown(C::Tell, "Esc", Cancel),
    shown(C::Name, "Enter", Accept),
    key(C::Name, "Backspace", Erase),
    shown(C::Name, "^u", EraseAll),
    key(C::Name, "^c", Cancel),
    shown(C::Name, "Esc", Cancel),
    shown(C::Sort, "1", SortWorst),
    shown(C::Sort, "2", SortName),
    shown(C::Sort, "3", SortNewest),
    key(C::Sort, "^c", Cancel),
    shown(C::Sort, "Esc", Cancel),
    shown(C::Copy, "r", CopyRow),
    shown(C::Copy, "n", CopyName),
    shown(C::Copy, "p", CopyPath),
    shown(C::Copy, "j", CopyJson),
    shown(C::Copy, "y", CopyYaml),
    shown(C::Copy, "c", CopyCommand),
    key(C::Copy, "^c", Cancel),
    shown(C::Copy, "Esc", Cancel),
    key(C::Mark, "^c", Cancel),
    shown(C::Mark, "Esc", Cancel),
    shown(C::Confirm, "y", Yes),
    shown(C::Confirm, "n", No),
    key(C::Confirm, "Esc", No),
    key(C::Confirm, "^c", Interrupt),
];

/// A key press by the name it has in the table; `None` for keys that no table names.
pub fn name(event: KeyEvent) -> Option<String> {
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

/// A key as it is shown: arrows as arrows.
pub fn shown_key(key: &'static str, glyphs: &Glyphs) -> &'static str {
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
    use super::*;
    use crate::tui::input::rebind::Keymap;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn no_key_is_bound_twice_in_one_context() {
        let mut seen = HashSet::new();
        for binding in BINDINGS {
            assert!(seen.insert((binding.context, binding.key)), "{:?} {}", binding.context, binding.key);
        }
    }

    #[test]
    fn one_key_means_one_thing_on_every_screen() {
        let screens = [
            C::Always,
            C::Everywhere,
            C::Overview,
            C::Stream,
            C::Timeline,
            C::Resources,
            C::Diff,
            C::Nack,
            C::Subs,
            C::Graph,
            C::Lint,
        ];
        let mut meaning = HashMap::new();
        for binding in BINDINGS.iter().filter(|binding| screens.contains(&binding.context)) {
            let command = *meaning.entry(binding.key).or_insert(binding.command);
            assert_eq!(command, binding.command, "{}", binding.key);
        }
    }

    #[test]
    fn every_context_can_be_left_and_ctrl_c_works_in_it() {
        for context in [
            C::Help,
            C::Palette,
            C::Input,
            C::Find,
            C::Tell,
            C::Name,
            C::Sort,
            C::Copy,
            C::Mark,
            C::Confirm,
            C::Everywhere,
        ] {
            for key in ["Esc", "^c"] {
                assert!(Keymap::default().lookup(&[context], key).is_some(), "{context:?} {key}");
            }
        }
    }

    #[test]
    fn multiplexer_keys_stay_free() {
        for binding in BINDINGS {
            assert!(!["^a", "^b"].contains(&binding.key), "{:?}", binding.context);
        }
    }
}
