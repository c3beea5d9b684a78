//! `--config FILE`: flags of a run in a file, `xdscope.toml`, as services need them.
//!
//! The keys are the long flags of the verb and the names of its arguments, so that everything that
//! holds for flags holds for the file. A flag on the command line wins over the file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use toml::de::DeValue;

use xdscope_schema::redact::SecretNames;

use super::{command_line, settings, suggest};
use crate::cli::error::CliError;
use crate::net::own_secrets::OwnSecrets;

/// The flag that names the file.
const FLAG: &str = "config";

/// Flags that belong to the command line alone.
const TYPED_ONLY: [&str; 3] = [FLAG, "check-config", "rewrite-bootstrap"];

/// A command line with the flags of its file.
#[derive(Default)]
pub(crate) struct Expanded {
    pub args: Vec<OsString>,
    pub secret_names: SecretNames,
    file: Option<PathBuf>,
    /// Keys of the file and their lines.
    lines: Vec<(String, usize)>,
}

impl Expanded {
    /// Reads the file that the arguments of a live verb name, and adds its flags behind the verb.
    /// Without `--config` the arguments stay as they are.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has a key that is no flag of the verb.
    pub(crate) fn read(args: Vec<OsString>) -> Result<Expanded, CliError> {
        let Some((place, verb)) = live_verb(&args) else {
            return Ok(Expanded { args, ..Expanded::default() });
        };
        let Some(path) = named_file(&args[place..]) else {
            return Ok(Expanded { args, ..Expanded::default() });
        };
        let text = settings::read_text(&path).map_err(|error| {
            CliError::unreadable(format!("cannot read --config {}", path.display()))
                .because(error)
                .next("a file in TOML: listen = \"127.0.0.1:18001\"")
        })?;
        let file = settings::File { path: &path, text: &text };
        let mut out = Expanded { args, file: Some(path.clone()), ..Expanded::default() };
        let (mut flags, mut given) = (Vec::new(), Vec::<(clap::Id, usize)>::new());
        let typed: Vec<Arg> =
            verb.get_arguments().filter(|arg| is_typed(&out.args[place..], arg)).cloned().collect();
        for (key, value) in file.table()?.get_ref() {
            let (name, line) = (key.get_ref().as_ref(), file.line(key.span().start));
            match (name, value.get_ref()) {
                ("redact", DeValue::Table(names)) => out.secret_names = file.secret_names(line, names)?,
                (name, value) => {
                    let arg = flag_of(&verb, name).ok_or_else(|| unknown(&file, line, name, &verb))?;
                    let words = words(&arg, value).map_err(|why| {
                        file.wrong(line, format!("`{name}` {why}"))
                            .next(format!("xdscope {} --help", verb.get_name()))
                    })?;
                    if let Some((_, other)) = given.iter().find(|(id, _)| id == arg.get_id()) {
                        let twice = format!("`{name}` is the flag of line {other} again");
                        return Err(file.wrong(line, twice).next("one of both"));
                    }
                    if !typed.iter().any(|typed| gives_way(&verb, &arg, typed)) {
                        flags.extend(words);
                    }
                    given.push((arg.get_id().clone(), line));
                    out.lines.push((name.to_owned(), line));
                }
            }
        }
        out.args.splice(place + 1..place + 1, flags);
        Ok(out)
    }

    /// The place in the file from which a flag comes: `xdscope.toml line 3`.
    pub(crate) fn place_of(&self, flag: &str) -> Option<String> {
        let name = flag.trim_start_matches("--").trim_start_matches('<');
        let name = name.split([' ', '=', '>']).next().unwrap_or_default().to_ascii_lowercase();
        let (_, line) = self.lines.iter().find(|(key, _)| *key == name)?;
        Some(format!("{} line {line}", self.file.as_ref()?.display()))
    }
}

/// Finds the verb that takes `--config`.
fn live_verb(args: &[OsString]) -> Option<(usize, Command)> {
    let command = command_line::command();
    let takes_file = |verb: &&Command| verb.get_arguments().any(|arg| arg.get_long() == Some(FLAG));
    let verbs: Vec<&Command> = command.get_subcommands().filter(takes_file).collect();
    args.iter().enumerate().skip(1).find_map(|(place, word)| {
        let verb = verbs.iter().find(|verb| *word == *verb.get_name())?;
        // Global flags belong to each verb.
        let global = command.get_arguments().filter(|arg| arg.is_global_set()).cloned();
        Some((place, global.fold((*verb).clone(), Command::arg)))
    })
}

/// The value of `--config`.
fn named_file(args: &[OsString]) -> Option<PathBuf> {
    let flags = args.iter().take_while(|arg| *arg != "--");
    let mut flags = flags.map(|arg| arg.to_str().unwrap_or_default());
    while let Some(flag) = flags.next() {
        if flag == "--config" {
            return flags.next().map(PathBuf::from);
        }
        if let Some(path) = flag.strip_prefix("--config=") {
            return Some(PathBuf::from(path));
        }
    }
    None
}

/// Finds a flag by its long name, or an argument by its name.
fn flag_of(verb: &Command, name: &str) -> Option<Arg> {
    let has_name = |arg: &&Arg| match arg.get_long() {
        Some(long) => long == name || arg.get_visible_aliases().is_some_and(|names| names.contains(&name)),
        None => arg.is_positional() && arg.get_id() == name,
    };
    settable(verb).find(has_name).cloned()
}

/// The flags and arguments that a file can have.
fn settable(verb: &Command) -> impl Iterator<Item = &Arg> {
    verb.get_arguments().filter(|arg| !arg.get_long().is_some_and(|long| TYPED_ONLY.contains(&long)))
}

fn unknown(file: &settings::File<'_>, line: usize, name: &str, verb: &Command) -> CliError {
    let name_shown = OwnSecrets::new(&[]).clean(name.to_owned());
    let error = file.wrong(line, format!("`{}` has no flag `{name_shown}`", verb.get_name()));
    let near = suggest::near(name, settable(verb).filter_map(Arg::get_long));
    let near = near.into_iter().fold(error, |error, name| error.next(format!("{name} = …")));
    near.next(format!("xdscope {} --help   lists the flags", verb.get_name()))
}

/// Whether the command line states a flag.
fn is_typed(args: &[OsString], arg: &Arg) -> bool {
    let names = arg.get_long().into_iter().chain(arg.get_all_aliases().into_iter().flatten());
    let names: Vec<&str> = names.collect();
    let is_it = |word: &str| match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => names.contains(&long.split('=').next().unwrap_or_default()),
        (None, Some(short)) => short.chars().next().is_some_and(|letter| arg.get_short() == Some(letter)),
        (None, None) => false,
    };
    args.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str()).any(is_it)
}

/// Whether a flag of the file gives way to one of the command line: to the same flag, unless it may
/// be repeated, and to one that excludes it.
fn gives_way(verb: &Command, arg: &Arg, typed: &Arg) -> bool {
    if arg.get_id() == typed.get_id() {
        return !matches!(arg.get_action(), ArgAction::Append);
    }
    let excludes = |one: &Arg, other: &Arg| {
        verb.get_arg_conflicts_with(one).iter().any(|excluded| excluded.get_id() == other.get_id())
    };
    excludes(arg, typed) || excludes(typed, arg)
}

/// The words of the command line that stand for a key: `--flag`, or `--flag=value` for each value.
fn words(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<OsString>, String> {
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count);
    let is_repeatable = matches!(arg.get_action(), ArgAction::Append);
    let word = |value: &DeValue<'_>| {
        let text = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            other => return Err(format!("must be a text or a number, not of the type {}", other.type_str())),
        };
        match arg.get_long() {
            Some(long) => Ok(format!("--{long}={text}").into()),
            None if text.starts_with('-') => Err("must not begin with a dash".to_owned()),
            None => Ok(text.into()),
        }
    };
    match value {
        DeValue::Boolean(yes) if is_switch => {
            let flag = arg.get_long().filter(|_| *yes).map(|long| format!("--{long}").into());
            Ok(flag.into_iter().collect())
        }
        _ if is_switch => Err(format!("must be true or false, not of the type {}", value.type_str())),
        DeValue::Array(values) if is_repeatable => values.iter().map(|value| word(value.get_ref())).collect(),
        DeValue::Array(_) => Err("has one value, not a list".to_owned()),
        value => Ok(vec![word(value)?]),
    }
}
