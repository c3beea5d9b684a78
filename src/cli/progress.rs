//! The progress line on stderr while a large file is read. Only terminals get one.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::sources::ReadProgress;
use crate::wire::text::{display_safe, size};

use super::args::Global;
use super::io::Io;

/// Delay of the first line; most files are read by then.
const FIRST_LINE_AFTER: Duration = Duration::from_secs(1);
const LINE_INTERVAL: Duration = Duration::from_millis(250);
/// Number of updates for each look at the clock.
const UPDATES_PER_CLOCK_READ: u32 = 64;

/// The progress line of one file. Dropping it erases the line.
pub(super) struct Progress<'a> {
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
    pub(super) fn new(name: &str, global: &Global, io: &'a mut Io<'_>) -> Progress<'a> {
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
        let _ = write!(out, "\rxdscope: reading {}: {percent}% of {}", self.name, size(self.bytes));
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
        if let Some(out) = self.out.as_mut().filter(|_| self.is_shown) {
            let _ = write!(out, "\r\x1b[K");
            let _ = out.flush();
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
        let line = "\rxdscope: reading a.xdsrec: ";
        assert_eq!(text, format!("{line}25% of 2.0 kB{line}100% of 2.0 kB\r\u{1b}[K"));
    }
}
