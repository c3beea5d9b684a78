//! The command line as clap parses it: the verbs and flags of [`Cli`], with `--json`, and with the
//! examples of each verb at the end of its help.

use std::sync::LazyLock;

use clap::builder::ArgPredicate;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _};

use super::examples;
use crate::cli::args::Cli;

/// Headings of flags that the short help leaves out: few calls need them.
const ADVANCED_HEADINGS: [&str; 11] = [
    "Client",
    "Connection",
    "Copies",
    "Descriptors",
    "End",
    "Kubernetes",
    "Output",
    "Screens",
    "Service",
    "Settings",
    "Source",
];

/// Other flags that the short help leaves out.
const ADVANCED_FLAGS: [&str; 17] = [
    "applied",
    "force",
    "ignore",
    "keep",
    "keep_secrets",
    "listen_cert",
    "listen_client_ca",
    "listen_key",
    "no_headers",
    "problem",
    "profile",
    "read_only",
    "record_max",
    "strict_order",
    "time",
    "timers",
    "view",
];

/// Heading of the flags of xdscope as a client.
const CLIENT_HEADING: &str = "Client";

/// Headings of `--format` in verbs that have one for it.
const FORMAT_HEADINGS: [&str; 2] = ["Live", "Replay"];

/// Verbs that read recorded sources only. Their help leaves out the flags of a client.
const OFFLINE_VERBS: [&str; 3] = ["attach", "redact", "replay"];

/// Returns the command line. It is made once: that takes longer than many verbs.
pub(crate) fn command() -> Command {
    static COMMAND: LazyLock<Command> = LazyLock::new(|| {
        let command = complete(Cli::command(), "");
        match examples::text("") {
            Some(text) => command.after_help(text),
            None => command,
        }
    });
    COMMAND.clone()
}

/// Adds what clap does not derive to a command and to its verbs.
fn complete(command: Command, path: &str) -> Command {
    command.mut_subcommands(|verb| {
        let path = [path, verb.get_name()].join(" ").trim().to_owned();
        let mut verb = complete(with_json(verb), &path);
        if OFFLINE_VERBS.contains(&&*path) {
            verb = verb.mut_args(|arg| {
                let is_client = arg.get_help_heading() == Some(CLIENT_HEADING);
                if is_client { arg.hide(true) } else { arg }
            });
        }
        match examples::text(&path) {
            Some(text) => verb.after_help(text),
            None => verb,
        }
    })
}

/// Adds `--json` to a verb that prints JSON.
fn with_json(verb: Command) -> Command {
    let Some(format) = verb.get_arguments().find(|arg| arg.get_id() == "format") else { return verb };
    let words = format.get_possible_values();
    let Some(word) =
        ["json", "jsonl"].into_iter().find(|word| words.iter().any(|value| value.get_name() == *word))
    else {
        return verb;
    };
    let heading = format.get_help_heading();
    let excludes_format =
        |arg: &&Arg| verb.get_arg_conflicts_with(arg).iter().any(|other| other.get_id() == "format");
    let conflicts: Vec<clap::Id> =
        verb.get_arguments().filter(excludes_format).map(|arg| arg.get_id().clone()).collect();
    // A heading must be stated: otherwise the one of the flags before applies.
    let heading = FORMAT_HEADINGS.into_iter().find(|known| heading == Some(*known));
    let json = Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help(format!("Same as -o {word}"))
        .conflicts_with("format")
        .conflicts_with_all(conflicts)
        .help_heading(heading);
    verb.mut_arg("format", |arg| arg.default_value_if("json", ArgPredicate::IsPresent, word)).arg(json)
}

/// Returns the help of a verb; the short form leaves out flags that few calls need.
pub(crate) fn help(mut verb: Command, is_short: bool) -> String {
    if !is_short {
        return verb.render_help().to_string();
    }
    let name = verb.get_bin_name().unwrap_or_else(|| verb.get_name()).to_owned();
    let is_advanced = |arg: &Arg| {
        arg.get_help_heading().is_some_and(|heading| ADVANCED_HEADINGS.contains(&heading))
            || ADVANCED_FLAGS.contains(&arg.get_id().as_str())
    };
    let hidden = verb.get_arguments().filter(|arg| is_advanced(arg) && !arg.is_hide_set()).count();
    verb = verb.mut_args(|arg| if is_advanced(&arg) { arg.hide(true) } else { arg });
    verb = verb.after_help(match hidden {
        0 => format!("Examples: {name} --help"),
        hidden => format!("{hidden} more flags, and examples: {name} --help"),
    });
    verb.render_help().to_string()
}

/// Finds the verb that a command line names, with its full name.
pub(crate) fn verb_of(command: &Command, args: &[std::ffi::OsString]) -> Command {
    let mut verb = command;
    for arg in args.iter().skip(1).take_while(|arg| *arg != "--") {
        if let Some(found) = arg.to_str().and_then(|word| verb.find_subcommand(word)) {
            verb = found;
        }
    }
    verb.clone()
}

/// Returns the matches of the innermost verb.
pub(crate) fn innermost(matches: &ArgMatches) -> &ArgMatches {
    let mut inner = matches;
    while let Some((_, next)) = inner.subcommand() {
        inner = next;
    }
    inner
}
