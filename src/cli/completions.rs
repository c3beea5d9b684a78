//! `completions`: a script for a shell, on stdout.

use clap::CommandFactory;

use super::args::{Cli, CompletionsArgs};
use super::error::{CliError, Exit};
use super::io::Io;

pub(super) fn run(args: &CompletionsArgs, io: &mut Io<'_>) -> Result<Exit, CliError> {
    // clap_complete panics on a closed pipe, so write to memory first.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "xdscope", &mut script);
    io.stdout.write_all(&script)?;
    Ok(Exit::Yes)
}
