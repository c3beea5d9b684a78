//! Settings, in order of precedence: flag, environment (`XDSCOPE_STALE_AFTER` for `--stale-after`),
//! `config.toml`, default.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use xdscope_present::text::shell_word;
use xdscope_schema::redact::{NameError, SecretNames};

use super::command_line;
use crate::app::process::open;
use crate::cli::error::CliError;
use crate::cli::live::themes;
use crate::cli::terminal::io::Io;

/// Flags that the file can set: appearance and timeouts, never what a run is about.
pub(crate) const CONFIGURABLE_FLAGS: [&str; 11] = [
    "ascii",
    "color",
    "connect-timeout",
    "memory",
    "mouse",
    "notify",
    "resource-timeout",
    "slow-link",
    "stale-after",
    "theme",
    "time",
];

/// Flags that have no environment variable: a format, files and pods belong to one run, and secrets
/// are kept and commands run only if the command line says so.
const BY_FLAG_ONLY: [&str; 11] = [
    "all-namespaces",
    "as",
    "change",
    "check-config",
    "config",
    "format",
    "istio",
    "json",
    "keep-secrets",
    "output",
    "selector",
];

/// Largest file, in bytes.
pub(crate) const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// A setting in the file.
pub(crate) struct Preset {
    pub name: String,
    pub value: String,
    pub line: usize,
}

/// The content of the file.
#[derive(Default)]
pub(crate) struct Config {
    pub presets: Vec<Preset>,
    pub keys: xdscope_tui::Keymap,
    pub secret_names: SecretNames,
    pub themes: xdscope_tui::Themes,
}

/// Returns the path of the file; `None` without a home.
pub(crate) fn path(io: &Io<'_>) -> Option<PathBuf> {
    Some(io.config_dir()?.join("config.toml"))
}

/// Reads the file. A missing file is empty.
///
/// # Errors
/// The file cannot be read, is not TOML, or has an unknown setting or value; with line and hint.
pub(crate) fn read(io: &Io<'_>) -> Result<Config, CliError> {
    let Some(path) = path(io) else { return Ok(Config::default()) };
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => {
            let next = match error.kind() {
                ErrorKind::InvalidData => "text in UTF-8 (`xdscope help config`)".to_owned(),
                ErrorKind::IsADirectory | ErrorKind::FileTooLarge | ErrorKind::InvalidInput => {
                    "a file of settings (`xdscope help config`)".to_owned()
                }
                _ => format!("chmod u+r {}", shell_word(&path.display().to_string())),
            };
            return Err(CliError::usage(format!("cannot read {}", path.display())).because(error).next(next));
        }
    };
    File { path: &path, text: &text }.config()
}

/// Reads the text of a file of settings.
pub(super) fn read_text(path: &Path) -> std::io::Result<String> {
    open::read_text(open::open_without_waiting(path)?, MAX_CONFIG_BYTES)
}

/// A file in TOML.
pub(super) struct File<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl File<'_> {
    /// The number of the line at a position.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
    }

    /// An error in a line.
    pub(super) fn wrong(&self, line: usize, why: impl std::fmt::Display) -> CliError {
        CliError::usage(format!("{} line {line}: {why}", self.path.display()))
    }

    /// Parses the file.
    pub(super) fn table(&self) -> Result<Spanned<DeTable<'_>>, CliError> {
        DeTable::parse(self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            self.wrong(line, error.message())
                .next("NAME = \"VALUE\", with quotes around texts")
                .next("xdscope help config")
        })
    }

    fn config(&self) -> Result<Config, CliError> {
        let table = self.table()?;
        let mut config = Config::default();
        for (key, value) in table.get_ref() {
            let (name, line) = (key.get_ref().as_ref(), self.line(key.span().start));
            if name == "keys" {
                let Some(keys) = value.get_ref().as_table() else {
                    return Err(self
                        .wrong(line, "`keys` must be a table")
                        .next("[keys]")
                        .next("quit = \"Q\""));
                };
                self.keys(keys, &mut config)?;
                continue;
            }
            if name == "themes" {
                let Some(own) = value.get_ref().as_table() else {
                    let error = self.wrong(line, "`themes` must be a table of themes");
                    return Err(error.next("[themes.mine]").next("accent = \"#7aa2f7\""));
                };
                config.themes = themes::read(own)
                    .map_err(|error| self.wrong(self.line(error.at), error.why).next(error.next))?;
                continue;
            }
            if name == "redact" {
                let Some(names) = value.get_ref().as_table() else {
                    let error = self.wrong(line, "`redact` must be a table");
                    return Err(error.next("[redact]").next("headers = [\"x-acme-ticket\"]"));
                };
                config.secret_names = self.secret_names(line, names)?;
                continue;
            }
            if !CONFIGURABLE_FLAGS.contains(&name) {
                let known = CONFIGURABLE_FLAGS.join(", ");
                return Err(self
                    .wrong(line, format!("unknown setting `{name}`"))
                    .next(format!("one of {known}, [keys], [redact] or [themes.NAME]")));
            }
            let value = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Boolean(yes) => yes.to_string(),
                DeValue::Integer(number) => number.as_str().to_owned(),
                other => {
                    let why = format!("`{name}` must be a string, true or false, not a {}", other.type_str());
                    return Err(self.wrong(line, why).next("xdscope help config"));
                }
            };
            config.presets.push(Preset { name: name.to_owned(), value, line });
        }
        // A theme may be defined below its choice.
        for Preset { name, value, line } in &config.presets {
            if let Some((why, wanted)) = rejection(name, value, &config.themes) {
                return Err(self
                    .wrong(*line, format!("invalid {name} `{value}`: {why}"))
                    .next(format!("{name} = {wanted}")));
            }
        }
        config.presets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(config)
    }

    fn keys(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), CliError> {
        use xdscope_tui::{Change, Keymap};
        let mut changes: Vec<(usize, Change)> = Vec::new();
        for (command, keys) in table {
            let line = self.line(command.span().start);
            let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
            let keys = match keys.get_ref() {
                DeValue::Array(keys) => keys.iter().map(|key| text(key.get_ref())).collect(),
                one => text(one).map(|key| vec![key]),
            };
            let keys: Option<Vec<String>> = keys;
            let Some(keys) = keys else {
                let why = format!("`{}` needs a key or a list of keys", command.get_ref());
                return Err(self
                    .wrong(line, why)
                    .next(format!("{} = [\"Q\", \"Ctrl-q\"]", command.get_ref())));
            };
            changes.push((line, Change { command: command.get_ref().to_string(), keys }));
        }
        changes.sort_by_key(|(line, _)| *line);
        let (lines, changes): (Vec<usize>, Vec<Change>) = changes.into_iter().unzip();
        config.keys = Keymap::rebound(&changes).map_err(|(at, why)| {
            self.wrong(lines.get(at).copied().unwrap_or(1), why).next("xdscope help keys")
        })?;
        Ok(())
    }

    /// Reads the names of secrets that the user adds: lists of headers, keys and fields.
    pub(super) fn secret_names(&self, line: usize, table: &DeTable<'_>) -> Result<SecretNames, CliError> {
        let mut lists: [Vec<String>; 3] = Default::default();
        let mut lines = [line; 3];
        for (key, value) in table {
            let (name, line) = (key.get_ref().as_ref(), self.line(key.span().start));
            let Some(at) = ["headers", "keys", "fields"].iter().position(|known| *known == name) else {
                let error = self.wrong(line, format!("unknown setting `redact.{name}`"));
                return Err(error.next("one of headers, keys, fields"));
            };
            let names = value.get_ref().as_array().and_then(|names| {
                names.iter().map(|name| name.get_ref().as_str().map(str::to_owned)).collect()
            });
            let Some(names) = names else {
                let error = self.wrong(line, format!("`{name}` must be a list of names"));
                return Err(error.next(format!("{name} = [\"{}\"]", SECRET_NAME_EXAMPLES[at])));
            };
            (lists[at], lines[at]) = (names, line);
        }
        let [headers, keys, fields] = lists;
        SecretNames::new(&headers, &keys, &fields).map_err(|error| {
            let at = match error {
                NameError::Header(_) => 0,
                NameError::Key(_) => 1,
                NameError::Field(_) => 2,
            };
            self.wrong(lines[at], error).next(format!("a name such as {}", SECRET_NAME_EXAMPLES[at]))
        })
    }
}

/// A header, a key and a field.
pub(crate) const SECRET_NAME_EXAMPLES: [&str; 3] = ["x-acme-ticket", "wifi_code", "acme.v1.Door.pin"];

/// Returns why a flag rejects a value, and a value that it accepts.
fn rejection(name: &str, value: &str, own: &xdscope_tui::Themes) -> Option<(String, String)> {
    let arg = find(&command_line::command(), name)?;
    let arg = if name == themes::THEME { themes::with_values(arg, own) } else { arg };
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    if is_switch {
        return (!["true", "false"].contains(&value))
            .then(|| ("true or false".to_owned(), "true".to_owned()));
    }
    let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let flag = format!("--{name}={value}");
    let error = Command::new("config").no_binary_name(true).arg(arg).try_get_matches_from([flag]).err()?;
    let why = match std::error::Error::source(&error) {
        Some(source) => source.to_string(),
        None => format!("one of {}", words.join(", ")),
    };
    Some((why, format!("\"{}\"", default.unwrap_or_default())))
}

/// Finds a flag of the program, or of the first verb that has it.
pub(crate) fn find(command: &Command, long: &str) -> Option<Arg> {
    let own = command.get_arguments().find(|arg| arg.get_long() == Some(long)).cloned();
    own.or_else(|| command.get_subcommands().find_map(|verb| find(verb, long)))
}

/// Returns the environment variable of a flag.
pub(crate) fn variable(long: &str) -> String {
    format!("XDSCOPE_{}", long.to_ascii_uppercase().replace('-', "_"))
}

/// Returns the command line, with the environment and the file with_defaults its flags.
pub(crate) fn command(config: &Config, io: &Io<'_>) -> Command {
    with_defaults(command_line::command(), config, io)
}

/// Gives each flag its value of the file and of the environment. Other flags stay as they are:
/// clap copies all flags of a verb for each that is changed.
fn with_defaults(mut command: Command, config: &Config, io: &Io<'_>) -> Command {
    let flags: Vec<(clap::Id, String)> = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_id().clone(), arg.get_long()?.to_owned())))
        .collect();
    for (id, long) in flags {
        if long == themes::THEME {
            command = command.mut_arg(&id, |arg| themes::with_values(arg, &config.themes));
        }
        if let Some(preset) = config.presets.iter().find(|preset| preset.name == long) {
            command = command.mut_arg(&id, |arg| arg.default_value(preset.value.clone()));
        }
        let name = variable(&long);
        if !BY_FLAG_ONLY.contains(&&*long) && (io.env)(&name).is_some() {
            command = command.mut_arg(&id, |arg| match arg.get_action() {
                ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()).env(name).hide_env(true),
                _ => arg.env(name).hide_env(true),
            });
        }
    }
    command.mut_subcommands(|verb| with_defaults(verb, config, io))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files_of_a_limited_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        assert_eq!(read_text(&path).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        std::fs::write(&path, "ascii = true\n").expect("a file");
        assert_eq!(read_text(&path).ok().as_deref(), Some("ascii = true\n"));
        std::fs::write(&path, " ".repeat(1 << 20 | 1)).expect("a file");
        assert_eq!(read_text(&path).map_err(|error| error.kind()), Err(ErrorKind::FileTooLarge));
        assert_eq!(read_text(folder.path()).map_err(|error| error.kind()), Err(ErrorKind::IsADirectory));
    }
}
