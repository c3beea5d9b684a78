//! The command line: words to actions, facts to text and JSON, errors to what to type next.
//!
//! Data goes to stdout, messages to people go to stderr. A verb is a function from its flags and
//! its environment ([`terminal::io::Io`]) to an [`Exit`] or a [`CliError`]. This module parses,
//! calls and reports. Verbs print facts of the store with the words of the screens, and decide
//! nothing about the protocol.

pub mod args;
mod check;
mod command;
mod descriptors;
mod doctor;
mod error;
mod export;
#[cfg(feature = "fleet")]
mod fleet;
mod live;
pub mod output;
mod peer;
mod read;
mod sessions;
mod source;
pub mod terminal;
#[cfg(test)]
mod tests;
#[cfg(not(feature = "fleet"))]
mod without_fleet;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub use error::{CliError, Exit};

use args::{AttachArgs, Cli, Verb};
use command::config_file::Expanded;
use terminal::io::Io;

use crate::net::own_secrets::OwnSecrets;
use xdscope_wire::text::near;

/// Runs the program with `args`, whose first item is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    crate::app::process::limits::catch_file_size();
    let exit = crate::cli::terminal::defect::guard(Io::real().state_dir(), || run_in(args, &mut Io::real()))
        .unwrap_or_else(|error| {
            let mut io = Io::real();
            let _ = io.stderr.write_all(terminal::log_format::error(&error).as_bytes());
            error.exit
        });
    crate::net::kubectl::end_all();
    crate::cli::terminal::diagnostics::drain();
    ExitCode::from(exit.code())
}

/// Runs the program in the environment `io`.
pub fn run_in(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let result = dispatch(args, io).and_then(|exit| io.flush().map(|()| exit));
    match result {
        // A request without an answer has one exit code, whatever the verb made of the rest.
        Ok(Exit::Yes | Exit::No) if io.is_unanswered => Exit::Never,
        Ok(exit) => exit,
        Err(error) => {
            // Output precedes the error.
            let _ = io.stdout.flush();
            let _ = io.stderr.write_all(terminal::log_format::error(&error).as_bytes());
            error.exit
        }
    }
}

fn dispatch(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(shell) = (io.env)(crate::cli::command::completions::VARIABLE) {
        crate::cli::command::completions::answer(&shell, &args, io);
        return Ok(Exit::Yes);
    }
    // Verbs that use the config file report its errors.
    let (config, unread) = match crate::cli::command::settings::read(io) {
        Ok(config) => (config, None),
        Err(error) => (crate::cli::command::settings::Config::default(), Some(error)),
    };
    let expanded = Expanded::read(args)?;
    let args = expanded.args.clone();
    let parse = |args: &[OsString]| {
        let matches = crate::cli::command::settings::command(&config, io).try_get_matches_from(args)?;
        Ok::<_, clap::Error>((Cli::from_arg_matches(&matches)?, matches))
    };
    let parsed = parse(&args).or_else(|error| match file_in_place_of_verb(&error, &args) {
        Some(at) => {
            let mut args = args.clone();
            args.insert(at, "replay".into());
            parse(&args)
        }
        None => Err(error),
    });
    let named = parsed
        .as_ref()
        .err()
        .and_then(|error| crate::cli::command::default_source::with_bootstrap(error, &args, io));
    let parsed = match &named {
        Some((args, _)) => parse(args),
        None => parsed,
    };
    let (mut cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return not_parsed(&error, &expanded, io),
    };
    let needs_no_config = matches!(
        cli.verb,
        None | Some(Verb::Help(_) | Verb::Explain(_) | Verb::Man(_) | Verb::Completions(_))
    );
    if let Some(error) = unread
        && !needs_no_config
    {
        return Err(error);
    }
    cli.global.keys = config.keys.clone();
    cli.global.themes = config.themes.clone();
    cli.global.secret_names = config.secret_names.clone();
    cli.global.secret_names.extend(expanded.secret_names.clone());
    if let Some((_, note)) = named
        && !cli.global.quiet
    {
        io.say(&xdscope_wire::text::display_safe(&note));
    }
    if let Some(verb) = &mut cli.verb {
        crate::cli::source::kubernetes::settle(verb)?;
        let note = crate::cli::command::default_source::settle(verb, io)?;
        if let Some(note) = note
            && !cli.global.quiet
        {
            io.say(&xdscope_wire::text::display_safe(&note));
        }
        crate::cli::command::effect::check(verb, &matches, &args, io)?;
        crate::cli::source::kubernetes::connect(verb, &cli.global, io)?;
        crate::cli::source::live_copies::begin(verb, &cli.global, io)?;
    }
    let global = &cli.global;
    crate::cli::terminal::diagnostics::start(global)?;
    let done = run_verb(&cli, &config, &matches, io);
    let Some(signal) = crate::app::process::signals::cause() else { return done };
    if !global.quiet {
        io.say(&format!("ended by {}", signal.word()));
    }
    // The signal explains the end better than an answer that was cut short.
    match done {
        Ok(Exit::Yes) => Ok(Exit::of_signal(signal)),
        done => done,
    }
}

/// Runs the verb of a command line.
fn run_verb(
    cli: &Cli,
    config: &crate::cli::command::settings::Config,
    matches: &clap::ArgMatches,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let global = &cli.global;
    match &cli.verb {
        None => {
            io.stdout.write_all(crate::cli::command::help::SHORT.as_bytes())?;
            Ok(Exit::Yes)
        }
        Some(Verb::Demo(args)) => live::demo(args, global, io),
        Some(Verb::Tap(args)) => live::tap(args, global, io),
        Some(Verb::Serve(args)) => crate::cli::live::serve::run(args, global, io),
        Some(Verb::Watch(args)) => crate::cli::live::watch::run(args, global, io),
        Some(Verb::Wait(args)) => crate::cli::read::wait::run(args, global, io),
        Some(Verb::Attach(AttachArgs { replay: args }) | Verb::Replay(args)) => {
            crate::cli::live::replay::run(args, global, io)
        }
        Some(Verb::Status(args)) => crate::cli::read::status::run(args, global, io),
        Some(Verb::Log(args)) if args.follow => crate::cli::live::watch::follow(args, global, io),
        Some(Verb::Log(args)) => crate::cli::read::log::run(args, global, io),
        Some(Verb::Get(args)) => crate::cli::read::get::run(args, global, io),
        Some(Verb::Blame(args)) => crate::cli::read::blame::run(args, global, io),
        Some(Verb::Diff(args)) => crate::cli::read::diff::run(args, global, io),
        Some(Verb::Lint(args)) => crate::cli::read::lint::run(args, global, io),
        Some(Verb::Report(args)) => crate::cli::export::report::run(args, global, io),
        Some(Verb::Picture(args)) => crate::cli::export::picture::run(args, global, io),
        Some(Verb::Export(args)) => export::run(args, global, io),
        #[cfg(feature = "fleet")]
        Some(Verb::Fleet(args)) => fleet::run(args, global, io),
        #[cfg(not(feature = "fleet"))]
        Some(Verb::Fleet(_)) => Err(without_fleet::error()),
        Some(Verb::Redact(args)) => crate::cli::export::redact::run(args, global, io),
        Some(Verb::Info(args)) => crate::cli::read::info::run(args, global, io),
        Some(Verb::Sessions(args)) => sessions::run(args, global, io),
        Some(Verb::Explain(args)) => crate::cli::read::explain::run(args, io),
        Some(Verb::Descriptors(args)) => descriptors::run(args, global, io),
        Some(Verb::Check(args)) => check::run(args, global, io),
        Some(Verb::Doctor(args)) => {
            let matches = matches.subcommand().map_or(matches, |(_, of_verb)| of_verb);
            doctor::run(args, global, config, matches, io)
        }
        Some(Verb::Completions(args)) => crate::cli::command::completions::run(args, io),
        Some(Verb::Man(args)) => crate::cli::command::man::run(args, io),
        Some(Verb::Help(args)) => crate::cli::command::help::run(args.topic.as_deref(), io),
    }
}

/// Returns the position of a file that stands in place of a verb, and is replayed.
fn file_in_place_of_verb(error: &clap::Error, args: &[OsString]) -> Option<usize> {
    let word = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => word,
        _ => return None,
    };
    if !std::path::Path::new(word).is_file() {
        return None;
    }
    args.iter().skip(1).position(|arg| arg == word.as_str()).map(|at| at + 1)
}

/// Removes tips about flags that do not resemble the flag that was typed, and the tip to pass a
/// flag as a value.
fn without_far_tips(text: &str) -> String {
    let typed = text.split('\'').nth(1).unwrap_or_default();
    let is_far = |line: &str| {
        let Some(tip) = line.trim_start().strip_prefix("tip: ") else { return false };
        let named = tip.split('\'').nth(1).unwrap_or_default();
        let is_flag = typed.starts_with("--") && named.starts_with("--");
        is_flag && (tip.starts_with("to pass") || near::distance(typed, named) > MAX_EDITS)
    };
    let mut out = String::new();
    for line in text.lines().filter(|line| !is_far(line)) {
        // A tip stands between empty lines.
        if !(line.is_empty() && out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Removes clap's line about `--help`, which the next step names in full.
fn without_help_tip(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("For more information")).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The error of a flag that the verb does not have, with the tips, and the verbs that have the
/// flag.
fn unknown_flag(text: &str, flag: &str, verb: &clap::Command, all: &clap::Command) -> CliError {
    let long = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    let verbs: Vec<&str> = all.get_subcommands().filter(has).map(clap::Command::get_name).collect();
    let mut words = format!("unknown flag --{long} of `{}`", verb.get_name());
    if !verbs.is_empty() {
        words.push_str(&format!("; verbs that have it: {}", verbs.join(", ")));
    }
    for tip in text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: ")) {
        words.push_str(&format!("\n  tip: {tip}"));
    }
    CliError::usage(words)
}

/// Edits up to which a flag resembles another one.
const MAX_EDITS: usize = 2;

/// Prints `--help` and `--version`; anything else is a usage error.
fn not_parsed(error: &clap::Error, expanded: &Expanded, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let args = &expanded.args[..];
    let text = without_far_tips(&error.render().to_string());
    match error.kind() {
        ErrorKind::DisplayHelp => {
            let mut command = crate::cli::command::command_line::command();
            command.build();
            let is_short = !args.iter().any(|arg| arg == "--help");
            let text = crate::cli::command::command_line::help(
                crate::cli::command::command_line::verb_of(&command, args),
                is_short,
            );
            io.stdout.write_all(text.as_bytes())?;
            return Ok(Exit::Yes);
        }
        ErrorKind::DisplayVersion => {
            io.stdout.write_all(text.as_bytes())?;
            return Ok(Exit::Yes);
        }
        ErrorKind::InvalidSubcommand => {
            if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
                let mut command = crate::cli::command::command_line::command();
                command.build();
                let verb = crate::cli::command::command_line::verb_of(&command, args);
                return Err(match verb.get_name() {
                    "xdscope" => crate::cli::command::help::meant(word, args),
                    _ => crate::cli::command::help::meant_below(&verb, word),
                });
            }
        }
        _ => {}
    }
    let words = without_help_tip(text.trim_start_matches("error: "));
    let words = words.replace("invalid digit found in string", "not a whole number");
    let place = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => expanded.place_of(flag),
        _ => None,
    };
    let mut usage = CliError::usage(match place {
        // A file may have a secret in the wrong place.
        Some(place) => format!("{place}: {}", OwnSecrets::new(&[]).clean(words)),
        None => words,
    });
    let mut command = crate::cli::command::command_line::command();
    command.build();
    let verb = crate::cli::command::command_line::verb_of(&command, args);
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && flag.starts_with("--")
    {
        usage = unknown_flag(&text, flag, &verb, &command);
    }
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && let Some(next) = of_other_tools(word, &verb)
    {
        return Err(CliError::usage(format!("`{}` takes no `{word}`", verb.get_name())).next(next));
    }
    let lacks_source = || match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|name| name == "<SOURCE>"),
        _ => false,
    };
    if error.kind() == ErrorKind::MissingRequiredArgument && !io.stdin_is_terminal && lacks_source() {
        usage = usage.next(format!("{} -   reads stdin", verb.get_bin_name().unwrap_or("xdscope")));
    }
    Err(usage.next(match (variable_of(error, io), verb.get_name()) {
        (Some(variable), _) => format!("unset {variable}, or set another value"),
        (None, name) => format!("{} --help", verb.get_bin_name().unwrap_or(name)),
    }))
}

/// The words to type in place of one that other tools take.
fn of_other_tools(word: &str, verb: &clap::Command) -> Option<String> {
    let has = |long: &str| verb.get_arguments().any(|arg| arg.get_long() == Some(long));
    match word {
        "-o" if has("output") => Some("--output FILE".to_owned()),
        "-n" | "--namespace" if has("node") => Some("--node NAME   or a glob: --node 'edge-*'".to_owned()),
        _ if !word.starts_with('-') && has("output") => {
            Some(format!("--output {}", xdscope_present::text::shell_word(word)))
        }
        _ => None,
    }
}

/// The environment variable from which a wrong value comes, if the value was not typed.
fn variable_of(error: &clap::Error, io: &Io<'_>) -> Option<String> {
    let (Some(ContextValue::String(flag)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return None;
    };
    let long = flag.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default();
    let variable = crate::cli::command::settings::variable(long);
    ((io.env)(&variable).as_ref() == Some(value)).then_some(variable)
}
