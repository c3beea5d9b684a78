//! The outside world of a verb: its pipes, its terminal, its environment. Tests bring their own.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;

use jiff::tz::TimeZone;

use crate::present::report::Role;

use super::args::{Color, Global, TimeFormat};
use super::error::CliError;

type Env<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// Everything of the outside that a verb may touch, files apart.
pub struct Io<'a> {
    pub stdin: Box<dyn Read + 'a>,
    pub stdout: Box<dyn Write + 'a>,
    pub stderr: Box<dyn Write + 'a>,
    pub stdin_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// Looks up an environment variable; `None` where it is unset or empty.
    pub env: Env<'a>,
    /// The local time zone.
    pub zone: TimeZone,
}

impl Io<'static> {
    /// The process's own.
    pub fn real() -> Io<'static> {
        Io {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(BufWriter::new(io::stdout())),
            stderr: Box::new(io::stderr()),
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            env: Box::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
            zone: TimeZone::system(),
        }
    }
}

impl Io<'_> {
    /// Whether there are screens, and a terminal to draw them on.
    pub fn has_screen(&self) -> bool {
        self.stdin_is_terminal
            && self.stdout_is_terminal
            && (self.env)("TERM").is_none_or(|term| term != "dumb")
    }

    /// Says something to a person.
    pub fn say(&mut self, text: &str) {
        // Nobody is left to tell when stderr is gone.
        let _ = writeln!(self.stderr, "xdscope: {text}");
    }

    /// Where sessions are kept: `$XDG_STATE_HOME/xdscope`. `None` without a home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        Some(self.home("XDG_STATE_HOME", ".local/state")?.join("xdscope"))
    }

    /// Where `config.toml` is: `$XDG_CONFIG_HOME/xdscope`. `None` without a home.
    pub fn config_dir(&self) -> Option<PathBuf> {
        Some(self.home("XDG_CONFIG_HOME", ".config")?.join("xdscope"))
    }

    /// A directory of the XDG kind, or its place below the home.
    fn home(&self, variable: &str, below: &str) -> Option<PathBuf> {
        let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let own = (self.env)(variable).and_then(absolute);
        own.or_else(|| Some((self.env)("HOME").and_then(absolute)?.join(below)))
    }

    /// A terminal that can only be written on.
    pub fn is_dumb(&self) -> bool {
        (self.env)("TERM").is_some_and(|term| term == "dumb")
    }

    /// How text is written here.
    pub fn style(&self, global: &Global) -> Style {
        let color = match global.color {
            Color::Always | Color::Sixteen | Color::Many | Color::True => true,
            Color::Never => false,
            Color::Auto => self.stdout_is_terminal && !self.is_dumb() && (self.env)("NO_COLOR").is_none(),
        };
        Style { color, ascii: global.ascii || !self.is_utf8() }
    }

    /// The locale's own answer; an unset locale is left alone, as most containers have none.
    fn is_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| (self.env)(name));
        locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// The zone of `--time`.
    pub fn zone(&self, format: TimeFormat) -> TimeZone {
        if format == TimeFormat::Utc { TimeZone::UTC } else { self.zone.clone() }
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        Ok(self.stdout.flush()?)
    }
}

/// What tables and lines may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
    pub ascii: bool,
}

impl Style {
    /// The one or the other form of a symbol.
    pub fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.ascii { ascii } else { unicode }
    }
}

/// Parameters of the SGR sequence of a role: the terminal's own 16 colours.
pub(super) fn sgr(role: Role) -> Option<&'static str> {
    match role {
        Role::Plain => None,
        Role::Title | Role::Key => Some("1"),
        Role::Muted => Some("2"),
        Role::Ok | Role::Added => Some("32"),
        Role::Pending => Some("36"),
        Role::Warn | Role::Changed => Some("33"),
        Role::Bad => Some("1;31"),
        Role::Removed => Some("31"),
        Role::AddedWord => Some("32;4"),
        Role::RemovedWord => Some("31;4"),
        Role::Wire => Some("7;35"),
    }
}
