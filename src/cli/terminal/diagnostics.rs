//! Messages on stderr, and the log of the program (`tracing`): in `--log-file`, or on stderr
//! while no screen is open.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::app::recording::recording_file;
use xdscope_tui::{OutputQueue, Pushed};

use super::log_format;
use crate::cli::args::{Global, LogFormat};
use crate::cli::error::CliError;

/// The queue in front of stderr, in runs that must not wait for its reader.
static QUEUED_STDERR: OnceLock<OutputQueue> = OnceLock::new();

/// The queue in front of `--log-file`, which may be a pipe.
static QUEUED_LOG: OnceLock<OutputQueue> = OnceLock::new();

/// Messages that wait for the end of the screens; `None` while none are shown.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Bytes of messages that wait for the end of the screens. Later ones are left out.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Holds messages back while a terminal shows screens, until dropped.
pub(crate) struct BehindScreens(());

/// Writes what was said so far, and holds back what is said until the screens end: a message over
/// a screen would tear it.
pub(crate) fn hold_behind_screens() -> BehindScreens {
    if io::stderr().is_terminal() {
        *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
        if let Some(queue) = QUEUED_STDERR.get() {
            queue.drain();
        }
    }
    BehindScreens(())
}

impl Drop for BehindScreens {
    fn drop(&mut self) {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Ignore write errors: without stderr there is nobody to tell.
        let _ = Stderr.write_all(&held.unwrap_or_default());
    }
}

/// Puts a queue in front of stderr, for the rest of the process.
///
/// A tap must not wait for the reader of its messages. Without a thread, stderr stays as it is.
pub(crate) fn detach_stderr() {
    if QUEUED_STDERR.get().is_none()
        && let Ok(queue) = OutputQueue::start("stderr", io::stderr().as_fd())
    {
        let _ = QUEUED_STDERR.set(queue);
    }
}

/// Waits for a limited time until the queues of stderr and the log are written.
pub(crate) fn drain() {
    for queue in [&QUEUED_LOG, &QUEUED_STDERR].into_iter().filter_map(OnceLock::get) {
        queue.drain();
    }
}

/// Prints a message to stderr, on one line.
pub(crate) fn say(text: &str) {
    // Ignore write errors: without stderr there is nobody to tell.
    let _ = Stderr.write_all(log_format::message(text).as_bytes());
}

/// Starts logging. Only the first call of a process has an effect.
pub(crate) fn start(global: &Global) -> Result<(), CliError> {
    log_format::set(global.log_format);
    let level = match (global.verbose, global.quiet) {
        (true, _) => LevelFilter::DEBUG,
        (false, true) => LevelFilter::ERROR,
        (false, false) => LevelFilter::WARN,
    };
    let ours = Targets::new().with_target("xdscope", level);
    let to: Box<dyn Write + Send> = match &global.log_file {
        Some(path) => {
            let file = open(path)?;
            let queue = OutputQueue::start("log", file.as_fd());
            let queue = queue.map_err(|error| {
                CliError::new(crate::cli::error::Exit::Defect, "cannot write a log").because(error)
            })?;
            let _ = QUEUED_LOG.set(queue.clone());
            Box::new(Queued(queue))
        }
        None => Box::new(StderrBehindScreens),
    };
    let lines = fmt::layer().with_ansi(false).with_writer(Mutex::new(to));
    let lines = match global.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.event_format(log_format::JsonEvents).boxed(),
    };
    // An error means that there is a subscriber already, which is fine.
    let _ = tracing_subscriber::registry().with(lines.with_filter(ours)).try_init();
    Ok(())
}

fn open(path: &Path) -> Result<File, CliError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe without a reader would block.
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    recording_file::check_not_recording(path).and_then(|()| options.open(path)).map_err(|error| {
        CliError::usage(format!("--log-file: cannot write {}", path.display()))
            .because(error)
            .next("--log-file FILE, in a directory that exists")
    })
}

/// A writer to a queue. What does not fit is left out.
struct Queued(OutputQueue);

impl Write for Queued {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.push(bytes) {
            Pushed::Queued | Pushed::Full => Ok(bytes.len()),
            Pushed::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer to stderr, or to the queue in front of it. Silent while screens are shown on it.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = &mut *held {
            if held.len() + bytes.len() <= MAX_HELD_BYTES {
                held.extend_from_slice(bytes);
            }
            return Ok(bytes.len());
        }
        match QUEUED_STDERR.get() {
            Some(queue) => Queued(queue.clone()).write(bytes),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match QUEUED_STDERR.get() {
            Some(_) => Ok(()),
            None => io::stderr().flush(),
        }
    }

    /// Writes the text at once: lines of stdout and of other processes never split a message.
    fn write_fmt(&mut self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }
}

/// A writer to stderr that is silent while screens are drawn.
struct StderrBehindScreens;

impl Write for StderrBehindScreens {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match is_drawn() {
            true => Ok(bytes.len()),
            false => Stderr.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Stderr.flush()
    }
}

fn is_drawn() -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_sources::record::MAGIC;

    #[test]
    fn messages_wait_for_the_end_of_the_screens() {
        *HELD.lock().expect("a lock") = Some(Vec::new());
        let screens = BehindScreens(());
        say("listening on 127.0.0.1:18001");
        let held = HELD.lock().expect("a lock").clone().expect("screens are shown");
        assert_eq!(String::from_utf8_lossy(&held).matches("listening on").count(), 1);
        drop(screens);
        assert!(HELD.lock().expect("a lock").is_none());
    }

    #[test]
    fn log_files_are_no_recordings_and_never_block() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let refused = |name: &str| {
            let source = open(&at(name)).expect_err("refused").source;
            source.expect("a reason").to_string()
        };
        std::fs::write(at("log"), "a line\n").expect("a file");
        assert!(open(&at("log")).is_ok() && open(&at("new")).is_ok());
        std::fs::write(at("a.xdsrec"), MAGIC).expect("a file");
        assert!(refused("a.xdsrec").contains("the file holds a recording"));
        std::os::unix::fs::symlink(at("nowhere"), at("link")).expect("a link");
        assert!(refused("link").contains("nowhere"));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).expect("a pipe");
        refused("pipe");
    }
}
