//! The keys, as `help keys` lists them.

use super::{code, prose, table};
use xdscope_tui::{Command, Context, Keymap};

pub(super) fn generate() -> String {
    let keymap = Keymap::default();
    let mut out = String::new();
    for context in Context::all() {
        let mut bindings = keymap.bindings(context).peekable();
        if bindings.peek().is_none() {
            continue;
        }
        let rows = bindings.map(|binding| {
            let command = binding.command;
            [code(binding.key), code(command.name()), prose(command.doc())]
        });
        let title = context.title();
        let title = title[..1].to_uppercase() + &title[1..];
        out.push_str(&format!("\n## {title}\n\n{}", table(["key", "command", "effect"], rows)));
    }
    let unbound = Command::ALL.iter().filter(|command| keymap.key_of(**command).is_none());
    let rows = unbound.map(|command| [code(command.name()), prose(command.doc())]);
    out.push_str(&format!("\n## Commands without a key\n\n{}\n", table(["command", "effect"], rows)));
    out
}
