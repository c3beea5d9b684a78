//! Progress on stderr, for what takes more than a second. Only terminals get it.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use xdscope_sources::ReadProgress;
use xdscope_wire::text::{display_safe, size};

use super::diagnostics::Stderr;
use super::io::Io;
use crate::cli::args::Global;

/// Delay of the first line; most files are read by then.
const FIRST_LINE_AFTER: Duration = Duration::from_secs(1);
const LINE_INTERVAL: Duration = Duration::from_millis(250);
/// Columns of the bar.
const BAR_COLUMNS: usize = 20;
/// Number of updates for each look at the clock.
const UPDATES_PER_CLOCK_READ: u32 = 64;

/// The progress line of one file. Dropping it erases the line.
pub(crate) struct Progress<'a> {
    /// `None` if stderr is not a terminal.
    out: Option<&'a mut dyn Write>,
    name: String,
    /// Size of the file in bytes.
    bytes: u64,
    next: Instant,
    updates: u32,
    is_shown: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(name: &str, global: &Global, io: &'a mut Io<'_>) -> Progress<'a> {
        let is_visible = io.stderr_is_terminal && !io.is_dumb() && !global.quiet;
        let out = if is_visible { Some(&mut *io.stderr as &mut dyn Write) } else { None };
        let (name, next) = (display_safe(name).into_owned(), Instant::now() + FIRST_LINE_AFTER);
        Progress { out, name, bytes: 0, next, updates: 0, is_shown: false }
    }

    fn update_at(&mut self, now: Instant, read: u64) {
        let Some(out) = self.out.as_mut().filter(|_| now >= self.next) else { return };
        self.next = now + LINE_INTERVAL;
        self.is_shown = true;
        let percent = read.min(self.bytes).saturating_mul(100) / self.bytes.max(1);
        // Ignore write errors: the progress line is transient.
        let full = usize::try_from(percent).unwrap_or(0) * BAR_COLUMNS / 100;
        let (done, left) = ("#".repeat(full), "-".repeat(BAR_COLUMNS - full));
        let (name, bytes) = (&self.name, size(self.bytes));
        let _ = write!(out, "\rxdscope: reading {name} [{done}{left}] {percent:>3}% of {bytes}");
        let _ = out.flush();
    }
}

impl ReadProgress for Progress<'_> {
    fn start(&mut self, size: u64) {
        self.bytes = size;
        self.next = Instant::now() + FIRST_LINE_AFTER;
    }

    fn update(&mut self, position: &dyn Fn() -> u64) {
        self.updates += 1;
        if self.out.is_some() && self.updates.is_multiple_of(UPDATES_PER_CLOCK_READ) {
            self.update_at(Instant::now(), position());
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(out) = self.out.as_mut()
            && self.is_shown
        {
            let _ = write!(out, "\r\x1b[K");
            let _ = out.flush();
        }
    }
}

/// The progress line of work without a known size. Dropping it ends and erases the line.
pub(crate) struct Busy {
    /// `None` if stderr is not a terminal.
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Busy {
    /// Says from the first second on what is being done, and for how long.
    pub(crate) fn start(what: &str, global: &Global, io: &Io<'_>) -> Busy {
        let is_visible = io.stderr_is_terminal && !io.is_dumb() && !global.quiet;
        let what = display_safe(what).into_owned();
        let (stop, stopped) = channel();
        let work = move || {
            let (mut out, begun) = (Stderr, Instant::now());
            let mut is_shown = false;
            // Ignore write errors: the progress line is transient.
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(FIRST_LINE_AFTER) {
                is_shown = true;
                let _ = write!(out, "\rxdscope: {what}, {}s", begun.elapsed().as_secs());
                let _ = out.flush();
            }
            if is_shown {
                let _ = write!(out, "\r\x1b[K");
                let _ = out.flush();
            }
        };
        // Without a thread there is no line.
        let thread = || std::thread::Builder::new().name("progress".into()).spawn(work).ok();
        let thread = if is_visible { thread() } else { None };
        Busy { running: thread.map(|thread| (stop, thread)) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_line_after_delay_and_erases_it() {
        let (mut out, start) = (Vec::new(), Instant::now());
        let run = |out: &mut Vec<u8>, updates: &[(u64, u64)]| {
            let mut progress = Progress {
                out: Some(out),
                name: "a.xdsrec".into(),
                bytes: 2000,
                next: start + FIRST_LINE_AFTER,
                updates: 0,
                is_shown: false,
            };
            for (millis, read) in updates {
                progress.update_at(start + Duration::from_millis(*millis), *read);
            }
        };
        run(&mut out, &[(0, 1), (999, 1500)]);
        assert!(out.is_empty());
        run(&mut out, &[(1000, 500), (1100, 600), (1300, 2001)]);
        let text = String::from_utf8(out).expect("text");
        let line = "\rxdscope: reading a.xdsrec ";
        let (quarter, full) = ("[#####---------------]  25%", "[####################] 100%");
        assert_eq!(text, format!("{line}{quarter} of 2.0 kB{line}{full} of 2.0 kB\r\u{1b}[K"));
    }
}
