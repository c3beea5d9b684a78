//! The command line: words to actions, facts to text and JSON, errors to what to type next.
//!
//! stdout is data, stderr is talk. A verb is a function from its flags and the outside world ([`io::Io`]) to an
//! [`Exit`] or a [`CliError`]; this module parses, calls, and reports. Verbs print the facts of the store with
//! the words of the screens; they decide nothing about the protocol.

pub mod args;
mod bodies;
mod codec;
mod completions;
#[cfg(feature = "net")]
mod connect;
mod defect;
mod descriptors;
mod diff;
mod error;
mod explain;
mod export;
mod get;
mod help;
mod info;
pub mod io;
mod json_out;
mod ladder;
mod lint;
mod lint_out;
#[cfg(feature = "net")]
mod live;
pub mod log;
mod refusals;
mod select;
mod source;
mod status;
mod subscriptions;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub use error::{CliError, Exit};

use args::{Cli, Verb};
use io::Io;

/// Runs the program: parses `args` (the program's name first), does what they say, reports.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let exit = defect::guard(|| run_in(args, &mut Io::real())).unwrap_or_else(|error| {
        let mut io = Io::real();
        let _ = io.stderr.write_all(error.render().as_bytes());
        error.exit
    });
    ExitCode::from(exit.code())
}

/// The same in a given outside world.
pub fn run_in(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let result = dispatch(args, io).and_then(|exit| io.flush().map(|()| exit));
    match result {
        Ok(exit) => exit,
        Err(error) => {
            // What was printed before the error stays in front of it.
            let _ = io.stdout.flush();
            let _ = io.stderr.write_all(error.render().as_bytes());
            error.exit
        }
    }
}

fn dispatch(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, io),
    };
    let global = &cli.global;
    match &cli.verb {
        None => {
            io.stdout.write_all(help::SHORT.as_bytes())?;
            Ok(Exit::Yes)
        }
        #[cfg(feature = "net")]
        Some(Verb::Demo(args)) => live::demo(args, global, io),
        #[cfg(feature = "net")]
        Some(Verb::Tap(args)) => live::tap(args, global, io),
        Some(Verb::Status(args)) => status::run(args, global, io),
        Some(Verb::Log(args)) => log::run(args, global, io),
        Some(Verb::Get(args)) => get::run(args, global, io),
        Some(Verb::Diff(args)) => diff::run(args, global, io),
        Some(Verb::Lint(args)) => lint::run(args, global, io),
        Some(Verb::Export(args)) => export::run(args, global, io),
        Some(Verb::Info(args)) => info::run(args, global, io),
        Some(Verb::Explain(args)) => explain::run(args, io),
        Some(Verb::Descriptors(args)) => descriptors::run(args, global, io),
        Some(Verb::Completions(args)) => completions::run(args, io),
        Some(Verb::Help(args)) => help::run(args.topic.as_deref(), io),
    }
}

/// `--help` and `--version` are answers; everything else is a usage error in our own form.
fn not_parsed(error: &clap::Error, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            io.stdout.write_all(text.as_bytes())?;
            return Ok(Exit::Yes);
        }
        ErrorKind::InvalidSubcommand => {
            if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
                return Err(help::meant(word));
            }
        }
        _ => {}
    }
    Err(CliError::usage(text.trim_start_matches("error: ").trim_end()))
}
