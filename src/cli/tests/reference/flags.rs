//! The verbs and their flags, from clap.

use clap::{Arg, Command, CommandFactory as _};

use super::{code, prose, table};
use crate::cli::args::Cli;

/// Spells a flag with its short form, aliases and value: `-o, --format FORMAT`.
fn spelling(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().into_iter().chain(arg.get_visible_aliases().into_iter().flatten());
    let names: Vec<String> = short.into_iter().chain(long.map(|long| format!("--{long}"))).collect();
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let values: Vec<&str> = values.into_iter().flatten().map(|name| name.as_str()).collect();
    let words = [names.join(", "), values.join(" ")];
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    code(&words.join(" "))
}

/// Returns the help of a flag with its values.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values = arg.get_possible_values();
    let values: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(|v| v.get_name()).collect();
    let values = if arg.get_action().takes_values() && !values.is_empty() {
        format!(" ({})", values.join(", "))
    } else {
        String::new()
    };
    prose(&format!("{help}{values}"))
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().iter().filter(|_| arg.get_action().takes_values());
    code(&values.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

fn rows<'a>(args: impl Iterator<Item = &'a Arg>) -> String {
    table(["flag", "effect", "default"], args.map(|arg| [spelling(arg), meaning(arg), default(arg)]))
}

/// Selects the arguments of one verb that its help lists.
fn own(verb: &Command) -> impl Iterator<Item = &Arg> {
    let is_own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    verb.get_arguments().filter(is_own)
}

/// Appends a section for a verb and each verb below it.
fn describe(verb: &Command, name: &str, out: &mut String) {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    out.push_str(&format!("\n## xdscope {name}\n\n{}.\n", prose(&about)));
    if own(verb).next().is_some() {
        out.push_str(&format!("\n{}", rows(own(verb))));
    }
    for below in verb.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        describe(below, &format!("{name} {}", below.get_name()), out);
    }
}

pub(super) fn generate() -> String {
    let mut command = Cli::command();
    command.build();
    let global = command.get_arguments().filter(|arg| arg.is_global_set());
    let mut out = format!("\n## Flags of every verb\n\n{}", rows(global));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        describe(verb, verb.get_name(), &mut out);
    }
    out.push('\n');
    out
}
