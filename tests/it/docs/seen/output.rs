//! Output of verbs and screens for a fixture, in this process.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use xdscope::cli::run_in;
use xdscope::cli::terminal::io::Io;

use crate::support::screens;

/// A file of `tests/fixtures`.
pub struct Fixture {
    pub path: String,
}

impl Fixture {
    /// Finds a fixture by its name, with or without its ending.
    pub fn find(name: &str) -> Option<Fixture> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let paths = ["", ".xds", ".yaml"].map(|ending| root.join(format!("tests/fixtures/{name}{ending}")));
        let path = paths.into_iter().find(|path| path.is_file())?;
        Some(Fixture { path: path.display().to_string() })
    }

    /// The screens, each after its keys.
    pub fn screens<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
        screens::of_file(Path::new(&self.path), keys)
    }

    /// The screen after `keys`.
    pub fn screen(&self, keys: &str) -> Result<String, String> {
        Ok(self.screens([keys])?.concat())
    }
}

/// Output and exit code of a verb.
pub struct Output {
    pub out: String,
    pub err: String,
    pub exit: u8,
}

impl Output {
    /// All output: stdout, then stderr.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// Runs a verb in UTC without a terminal.
pub fn run(args: &[String]) -> Output {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io {
        stdin: Box::new(std::io::empty()),
        stdout: Box::new(&mut out),
        stderr: Box::new(&mut err),
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        env: Box::new(|name| (name == "LANG").then(|| "C.UTF-8".to_owned())),
        zone: TimeZone::UTC,
        is_unanswered: false,
        copies: Vec::new(),
    };
    let exit =
        run_in(std::iter::once("xdscope").chain(args.iter().map(String::as_str)).map(Into::into), &mut io);
    drop(io);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output { out: text(&out), err: text(&err), exit: exit as u8 }
}

/// The text of a test function.
pub fn test_body(path: &str, function: &str) -> Result<String, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
    let (before, body) =
        text.split_once(&format!("fn {function}(")).ok_or_else(|| format!("no test {function} in {path}"))?;
    let is_test = before.lines().rev().take(4).any(|line| line.trim() == "#[test]");
    let end = body.find("\n}\n").or_else(|| body.find("\n    }\n")).unwrap_or(body.len());
    is_test.then(|| body[..end].to_owned()).ok_or_else(|| format!("{path}::{function} is not a test"))
}
