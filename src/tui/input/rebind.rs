//! The keys in force: the table with the changes of the user's configuration.

use std::sync::Arc;

use super::command::Command;
use super::context::Context;
use super::keymap::{BINDINGS, Binding};

/// Keys that cannot be changed.
const FIXED_KEYS: [&str; 7] = ["Up", "Down", "Left", "Right", "Enter", "Esc", "^c"];

/// Keys with a name.
const NAMED_KEYS: [&str; 14] = [
    "Space",
    "Enter",
    "Esc",
    "Backspace",
    "Tab",
    "Shift-Tab",
    "Up",
    "Down",
    "Left",
    "Right",
    "Home",
    "End",
    "PgUp",
    "PgDn",
];

/// Characters that can be bound.
const CHARACTERS: &str =
    "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
/// Characters with Ctrl. Without `i` and `m`, which terminals send as Tab and Enter.
const CONTROL_KEYS: &str = "^a^b^c^d^e^f^g^h^j^k^l^n^o^p^q^r^s^t^u^v^w^x^y^z";

/// The keys that can be bound, for error messages.
pub const KEYS: &str = "a character; Ctrl-a to Ctrl-z (or ^a) but for i and m; Space Backspace Tab Shift-Tab Home End \
                        PgUp PgDn";

/// Parses the name of a key, as written in the table or in the configuration.
fn key(word: &str) -> Option<&'static str> {
    let control = word.strip_prefix("Ctrl-").or(word.strip_prefix("ctrl-")).or(word.strip_prefix("C-"));
    let wanted = control.map_or_else(|| word.to_owned(), |c| format!("^{}", c.to_ascii_lowercase()));
    let named = NAMED_KEYS.into_iter().find(|name| name.eq_ignore_ascii_case(&wanted));
    let plain = || (0..CHARACTERS.len()).filter_map(|i| CHARACTERS.get(i..=i)).find(|key| *key == wanted);
    let control = || {
        (0..CONTROL_KEYS.len())
            .step_by(2)
            .filter_map(|i| CONTROL_KEYS.get(i..i + 2))
            .find(|key| *key == wanted)
    };
    named.or_else(plain).or_else(control)
}

/// Parses the name of a command, with blanks or hyphens.
fn command(word: &str) -> Option<Command> {
    Command::ALL.iter().copied().find(|command| command.name().replace(' ', "-") == word.replace(' ', "-"))
}

/// A change: a command and its new keys, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub command: String,
    pub keys: Vec<String>,
}

/// The bindings in force.
#[derive(Clone, Debug)]
pub struct Keymap(Arc<[Binding]>);

impl Default for Keymap {
    fn default() -> Keymap {
        Keymap(BINDINGS.into())
    }
}

impl Keymap {
    /// The table with these changes.
    ///
    /// Each change replaces the keys of a command in every context that binds it, except fixed
    /// keys. A command without keys is bound everywhere. Characters are not bound where text is
    /// typed.
    ///
    /// # Errors
    /// The index of the wrong change, and the reason: an unknown command or key, a fixed key, or a
    /// key that would be bound twice.
    pub fn rebound(changes: &[Change]) -> Result<Keymap, (usize, String)> {
        let mut table: Vec<Binding> = BINDINGS.to_vec();
        let mut changed: Vec<Command> = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let fail = |why: String| (at, why);
            let command = command(&change.command).ok_or_else(|| fail(unknown_command(&change.command)))?;
            let mut keys = Vec::new();
            for word in &change.keys {
                let key = key(word).ok_or_else(|| fail(format!("unknown key `{word}`; keys are: {KEYS}")))?;
                if FIXED_KEYS.contains(&key) {
                    return Err(fail(format!("{key} is fixed: arrows, Enter, Esc and Ctrl-c always work")));
                }
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            bind(&mut table, command, &keys);
            changed.push(command);
        }
        match conflict(&table) {
            None => Ok(Keymap(table.into())),
            Some((first, second)) => {
                let at =
                    changed.iter().rposition(|command| [first.command, second.command].contains(command));
                let why = format!(
                    "{} is bound twice ({}): to {} and to {}",
                    first.key,
                    first.context.title(),
                    first.command.name(),
                    second.command.name()
                );
                Err((at.unwrap_or(0), why))
            }
        }
    }

    /// The command of a key in the first of these contexts that binds it.
    pub fn lookup(&self, contexts: &[Context], key: &str) -> Option<Command> {
        contexts.iter().find_map(|context| {
            self.bindings(*context).find(|binding| binding.key == key).map(|binding| binding.command)
        })
    }

    /// The bindings of one context, in table order.
    pub fn bindings(&self, context: Context) -> impl Iterator<Item = &Binding> {
        self.0.iter().filter(move |binding| binding.context == context)
    }

    /// The first key of a command, for the palette.
    pub fn key_of(&self, command: Command) -> Option<&'static str> {
        self.0.iter().find(|binding| binding.command == command).map(|binding| binding.key)
    }
}

/// Replaces the keys of a command in each of its contexts.
fn bind(table: &mut Vec<Binding>, command: Command, keys: &[&'static str]) {
    let mut contexts: Vec<Context> = Vec::new();
    for binding in table.iter().filter(|binding| binding.command == command) {
        if !contexts.contains(&binding.context) {
            contexts.push(binding.context);
        }
    }
    if contexts.is_empty() {
        contexts.push(Context::Everywhere);
    }
    for context in contexts {
        let is_own = |binding: &Binding| binding.command == command && binding.context == context;
        let place = table.iter().position(is_own).unwrap_or(table.len());
        let mut footer = table.iter().any(|binding| is_own(binding) && binding.footer);
        table.retain(|binding| !is_own(binding) || FIXED_KEYS.contains(&binding.key));
        let is_typed = context.is_typed();
        let fits = |key: &&&str| !is_typed || key.chars().count() > 1;
        let new: Vec<Binding> = keys
            .iter()
            .filter(fits)
            .map(|key| Binding { context, key, command, footer: std::mem::take(&mut footer) })
            .collect();
        let place = place.min(table.len());
        table.splice(place..place, new);
    }
}

/// Two commands that one key is bound to in the same place.
fn conflict(table: &[Binding]) -> Option<(Binding, Binding)> {
    let together = |a: &Binding, b: &Binding| {
        let below = [Context::Everywhere, Context::Always];
        a.context == b.context
            || b.context == Context::Always
            || (a.context.is_screen() && below.contains(&b.context))
    };
    table.iter().enumerate().find_map(|(i, first)| {
        let mut others = table.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
        let other = others.find(|other| {
            other.key == first.key && other.command != first.command && together(first, other)
        })?;
        Some((*first, *other))
    })
}

/// Says that a command is unknown, and names those that resemble it.
fn unknown_command(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let part = |name: &str| word.split([' ', '-']).any(|part| part.len() > 2 && name.contains(part));
    let close: Vec<&str> =
        Command::ALL.iter().map(|command| command.name()).filter(|name| part(name)).collect();
    let close = if close.is_empty() { String::new() } else { format!(" ({}?)", close.join(", ")) };
    format!("unknown command `{word}`{close}; `xdscope help keys` lists them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::screen_id::ScreenId;

    fn change(command: &str, keys: &[&str]) -> Change {
        Change { command: command.into(), keys: keys.iter().map(|key| (*key).to_owned()).collect() }
    }

    fn why(changes: &[Change]) -> (usize, String) {
        Keymap::rebound(changes).expect_err("a wrong change")
    }

    #[test]
    fn parses_every_key_of_the_table() {
        for binding in BINDINGS {
            assert_eq!(key(binding.key), Some(binding.key));
        }
        assert_eq!(
            (key("Ctrl-D"), key("pgdn"), key("F13"), key("Ctrl-i")),
            (Some("^d"), Some("PgDn"), None, None)
        );
    }

    #[test]
    fn replaces_keys_of_a_command_except_fixed_ones() {
        let keys = Keymap::rebound(&[change("down", &["Ctrl-n", "Q"])]).expect("valid changes");
        let screen = [Context::Screen(ScreenId::Overview), Context::Everywhere, Context::Always];
        let down = |key: &str| keys.lookup(&screen, key) == Some(Command::Down);
        assert_eq!((down("^n"), down("Q"), down("Down"), down("j")), (true, true, true, false));
        assert_eq!(keys.lookup(&[Context::Palette], "^n"), Some(Command::Down));
        assert_eq!(keys.lookup(&[Context::Palette], "Q"), None, "the palette takes letters as input");
        assert_eq!(keys.lookup(&[Context::Help], "Q"), Some(Command::Down));
    }

    #[test]
    fn binds_a_command_without_keys_and_unbinds_another() {
        let keys = Keymap::rebound(&[
            change("next-nack", &["]"]),
            change("older-version", &[]),
            change("newer-version", &[]),
        ]);
        let keys = keys.expect("valid changes");
        assert_eq!(
            keys.lookup(&[Context::Screen(ScreenId::Stream), Context::Everywhere], "]"),
            Some(Command::NextNack)
        );
        assert_eq!(keys.key_of(Command::Older), None);
    }

    #[test]
    fn swaps_the_keys_of_two_commands() {
        let keys = Keymap::rebound(&[change("next-problem", &["{"]), change("previous-problem", &["}"])]);
        assert_eq!(
            keys.expect("valid changes").lookup(&[Context::Everywhere], "{"),
            Some(Command::NextProblem)
        );
    }

    #[test]
    fn reports_the_index_of_a_wrong_change() {
        let (at, text) = why(&[change("pause", &["e"]), change("quit", &["t"])]);
        assert_eq!((at, text.as_str()), (1, "t is bound twice (everywhere): to next-type and to quit"));
        // A key of a screen hides one that is bound everywhere.
        let (_, text) = why(&[change("quit", &["L"])]);
        assert_eq!(text, "L is bound twice (Timeline): to ladder and to quit");
        assert!(
            why(&[change("next-problm", &["x"])]).1.contains("(next-pane, "),
            "{:?}",
            why(&[change("next-problm", &["x"])])
        );
        assert!(why(&[change("quit", &["F13"])]).1.starts_with("unknown key `F13`; keys are: a character"));
        assert!(why(&[change("quit", &["Enter"])]).1.starts_with("Enter is fixed"));
    }
}
