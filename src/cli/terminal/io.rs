//! The environment of a verb: pipes, terminal, variables. Tests provide their own.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;

use jiff::tz::TimeZone;

pub use xdscope_present::table::Style;

use crate::app::live_copy::LiveCopy;
use crate::cli::args::{Color, Global, TimeFormat};
use crate::cli::error::{CliError, Exit};

type Env<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// All input and output of a verb, except files.
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
    /// Whether a server has not answered a request in time.
    pub is_unanswered: bool,
    /// Copies of the runs and ports elsewhere that the arguments of the verb name.
    pub copies: Vec<LiveCopy>,
}

impl Io<'static> {
    /// Returns the pipes, terminal and environment of the process.
    pub fn real() -> Io<'static> {
        Io {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(BufWriter::new(io::stdout())),
            stderr: Box::new(super::diagnostics::Stderr),
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            env: Box::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
            zone: TimeZone::system(),
            is_unanswered: false,
            copies: Vec::new(),
        }
    }
}

impl Io<'_> {
    /// Whether screens can be opened: stdin and stdout are a terminal that can draw.
    pub fn has_screen(&self) -> bool {
        self.stdin_is_terminal
            && self.stdout_is_terminal
            && (self.env)("TERM").is_none_or(|term| term != "dumb")
    }

    /// Prints a message to stderr, on one line.
    pub fn say(&mut self, text: &str) {
        // Ignore write errors: without stderr there is nobody to tell.
        let _ = self.stderr.write_all(super::log_format::message(text).as_bytes());
    }

    /// Returns the folder of kept sessions, `$XDG_STATE_HOME/xdscope`; `None` without a home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        Some(self.home("XDG_STATE_HOME", ".local/state")?.join("xdscope"))
    }

    /// Returns the folder of `config.toml`, `$XDG_CONFIG_HOME/xdscope`; `None` without a home.
    pub fn config_dir(&self) -> Option<PathBuf> {
        Some(self.home("XDG_CONFIG_HOME", ".config")?.join("xdscope"))
    }

    /// Returns an XDG directory, or its default below the home.
    fn home(&self, variable: &str, below: &str) -> Option<PathBuf> {
        let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let own = (self.env)(variable).and_then(absolute);
        own.or_else(|| Some((self.env)("HOME").and_then(absolute)?.join(below)))
    }

    /// Whether the terminal cannot move its cursor (`TERM=dumb`).
    pub fn is_dumb(&self) -> bool {
        (self.env)("TERM").is_some_and(|term| term == "dumb")
    }

    /// Returns how to write text to stdout.
    pub fn style(&self, global: &Global) -> Style {
        let color = match global.color {
            Color::Always | Color::Sixteen | Color::Many | Color::True => true,
            Color::Never => false,
            Color::Auto => self.stdout_is_terminal && !self.is_dumb() && (self.env)("NO_COLOR").is_none(),
        };
        Style { color, ascii: global.ascii || !self.is_utf8() }
    }

    /// Returns the columns of the terminal, or those that COLUMNS asks for; `None` without either.
    pub fn columns(&self) -> Option<usize> {
        if let Some(columns) = (self.env)("COLUMNS").and_then(|columns| columns.parse().ok()) {
            return Some(columns);
        }
        if !self.stdout_is_terminal {
            return None;
        }
        let size = crossterm::terminal::window_size().ok();
        size.map(|size| usize::from(size.columns)).filter(|columns| *columns > 0)
    }

    /// Whether the locale is UTF-8. An unset locale counts as UTF-8, as in most containers.
    fn is_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| (self.env)(name));
        locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// Returns the time zone of `--time`.
    pub fn zone(&self, format: TimeFormat) -> TimeZone {
        if format == TimeFormat::Utc { TimeZone::UTC } else { self.zone.clone() }
    }

    /// Returns the copy of a source elsewhere, by SOURCE as typed.
    pub fn copy_of(&self, source: &str) -> Option<&LiveCopy> {
        self.copies.iter().find(|copy| copy.name == source)
    }

    /// Refuses the end of a source that is only the end of what can be read of it elsewhere.
    ///
    /// # Errors
    /// The source cannot be reached any more, or another one answers.
    pub fn check_copy(&self, source: &str) -> Result<(), CliError> {
        match self.copy_of(source).and_then(|copy| copy.trouble()()) {
            Some(trouble) => Err(CliError::new(Exit::Connection, trouble)),
            None => Ok(()),
        }
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        Ok(self.stdout.flush()?)
    }
}
