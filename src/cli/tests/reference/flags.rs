//! The verbs and their flags, from clap.

use clap::{Arg, Command};

use super::{code, prose, table};
use crate::cli::command::command_line;

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

/// Groups the flags of a verb by the heading of its help. Groups with a heading are sorted.
fn groups(verb: &Command) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    for arg in own(verb) {
        let heading = arg.get_help_heading().unwrap_or_default();
        match groups.iter_mut().find(|(known, _)| known == heading) {
            Some((_, args)) => args.push(arg),
            None => groups.push((heading.to_owned(), vec![arg])),
        }
    }
    let table = |(heading, mut args): (String, Vec<&Arg>)| {
        if !heading.is_empty() {
            args.sort_by_key(|arg| (arg.is_positional(), arg.get_id().to_string()));
        }
        (heading, rows(args.into_iter()))
    };
    groups.into_iter().map(table).collect()
}

/// Collects the verbs that help lists, with their names.
fn verbs<'a>(command: &'a Command, name: &str, out: &mut Vec<(String, &'a Command)>) {
    let listed = |verb: &&Command| !verb.is_hide_set() && (name.is_empty() || verb.get_name() != "help");
    for verb in command.get_subcommands().filter(listed) {
        let name = format!("{name} {}", verb.get_name());
        out.push((name.clone(), verb));
        verbs(verb, &name, out);
    }
}

/// Lists for each heading the most common group, if several verbs have that group.
fn shared(verbs: &[(String, &Command)]) -> Vec<(String, String)> {
    let mut counts: Vec<((String, String), usize)> = Vec::new();
    for group in verbs.iter().flat_map(|(_, verb)| groups(verb)).filter(|group| !group.0.is_empty()) {
        match counts.iter_mut().find(|(known, _)| *known == group) {
            Some((_, count)) => *count += 1,
            None => counts.push((group, 1)),
        }
    }
    counts.sort_by_key(|(group, count)| (group.0.clone(), std::cmp::Reverse(*count)));
    counts.dedup_by(|later, first| later.0.0 == first.0.0);
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(group, _)| group).collect()
}

/// Formats the section of a verb, with links in place of shared groups.
fn describe(name: &str, verb: &Command, shared: &[(String, String)]) -> String {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out = format!("\n## xdscope{name}\n\n{}.\n", prose(&about));
    let (linked, own): (Vec<_>, Vec<_>) = groups(verb).into_iter().partition(|group| shared.contains(group));
    for (heading, table) in own {
        let title = if heading.is_empty() { String::new() } else { format!("\n{heading}:\n") };
        out.push_str(&format!("{title}\n{table}"));
    }
    let link = |(heading, _): &(String, String)| format!("[{heading}](#flags-{})", heading.to_lowercase());
    if !linked.is_empty() {
        let links: Vec<String> = linked.iter().map(link).collect();
        out.push_str(&format!("\nShared flags: {}.\n", links.join(", ")));
    }
    out
}

pub(super) fn generate() -> String {
    let mut command = command_line::command();
    command.build();
    let global = command.get_arguments().filter(|arg| arg.is_global_set());
    let mut out = format!("\n## Flags of every verb\n\n{}", rows(global));
    let mut found = Vec::new();
    verbs(&command, "", &mut found);
    let shared = shared(&found);
    for (name, verb) in &found {
        out.push_str(&describe(name, verb, &shared));
    }
    for (heading, table) in &shared {
        out.push_str(&format!("\n## Flags: {}\n\n{table}", heading.to_lowercase()));
    }
    out.push('\n');
    out
}
