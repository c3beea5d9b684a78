//! The log of the program (`tracing`): in `--log-file`, or on stderr while no screen is open.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use super::args::Global;
use super::error::CliError;

/// Starts logging. Only the first call of a process has an effect.
pub(super) fn start(global: &Global) -> Result<(), CliError> {
    let level = match (global.verbose, global.quiet) {
        (true, _) => LevelFilter::DEBUG,
        (false, true) => LevelFilter::ERROR,
        (false, false) => LevelFilter::WARN,
    };
    let ours = Targets::new().with_target("xdscope", level);
    let to: Box<dyn Write + Send> = match &global.log_file {
        Some(path) => Box::new(open(path)?),
        None => Box::new(Stderr),
    };
    let lines = fmt::layer().with_ansi(false).with_writer(Mutex::new(to));
    // An error means that there is a subscriber already, which is fine.
    let _ = tracing_subscriber::registry().with(lines.with_filter(ours)).try_init();
    Ok(())
}

fn open(path: &Path) -> Result<File, CliError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| {
        CliError::usage(format!("--log-file: cannot write {}", path.display()))
            .because(error)
            .next("--log-file FILE, in a directory that exists")
    })
}

/// A writer to stderr that is silent while screens are drawn.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match is_drawn() {
            true => Ok(bytes.len()),
            false => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn is_drawn() -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}
