//! Tests of verbs, from arguments to output, in an environment of the test.

mod blame;
mod columns;
mod config_file;
mod contract;
mod descriptors;
mod effect;
mod empty;
mod endings;
mod export;
mod get;
mod habits;
mod hints;
mod hostile_text;
mod info;
mod lasting;
mod log;
mod memory;
mod mended;
mod outputs;
mod places;
mod planted;
mod ports;
mod quoting;
mod reference;
mod report;
mod secrets;
mod selection;
mod sharing;
mod silence;
mod status;
mod terminal;
mod unreachable;
mod usage;
mod words;

use std::ffi::OsString;
use std::io::{Read, Write as _};

use jiff::tz::TimeZone;

use super::{Exit, run_in};
use crate::cli::terminal::io::Io;

const GATEWAY: &str = "tests/fixtures/tui/gateway.xds";
const TOUR: &str = "tests/fixtures/cli/tour.xds";

struct Environment {
    stdin: Box<dyn Read>,
    terminal: bool,
    env: &'static [(&'static str, &'static str)],
}

impl Default for Environment {
    fn default() -> Self {
        Environment { stdin: Box::new(std::io::empty()), terminal: false, env: &[("LANG", "C.UTF-8")] }
    }
}

pub(super) struct CallOutput {
    pub out: String,
    pub err: String,
    pub exit: Exit,
}

impl CallOutput {
    /// All output, as on a terminal.
    fn all(&self) -> String {
        format!("{}{}exit {}\n", self.out, self.err, self.exit.code())
    }
}

impl Environment {
    fn run(self, args: &[&str]) -> CallOutput {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let env = self.env;
        let mut io = Io {
            stdin: self.stdin,
            stdout: Box::new(&mut out),
            stderr: Box::new(&mut err),
            stdin_is_terminal: self.terminal,
            stdout_is_terminal: self.terminal,
            stderr_is_terminal: self.terminal,
            is_unanswered: false,
            copies: Vec::new(),
            env: Box::new(move |name| env.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned())),
            zone: TimeZone::UTC,
        };
        let exit = run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        CallOutput { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), exit }
    }
}

/// A file with an arrow script: a terminal has nothing on stdin.
pub(super) fn script_file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".xds").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

pub(super) fn run(args: &[&str]) -> CallOutput {
    Environment::default().run(args)
}

/// Runs `args`, and returns output and exit code.
pub(super) fn show(args: &[&str]) -> String {
    run(args).all()
}

pub(super) fn objects(args: &[&str]) -> Vec<serde_json::Value> {
    let output = run(args);
    assert_eq!(output.err, "");
    output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
