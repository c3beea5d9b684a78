//! How far the reading of a file is that takes its time: one line on stderr, if that is a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::wire::text::{display_safe, size};

use super::args::Global;
use super::io::Io;

/// Most files are read by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two lines.
const PACE: Duration = Duration::from_millis(250);
/// Calls between two looks at the clock.
const CALLS: u32 = 64;

/// The line of one file. Dropped, it takes its line away.
pub(super) struct Progress<'a> {
    /// `None`: nobody looks.
    out: Option<&'a mut dyn Write>,
    name: String,
    bytes: u64,
    next: Instant,
    calls: u32,
    shown: bool,
}

impl<'a> Progress<'a> {
    /// Of a file of so many bytes.
    pub(super) fn new(name: &str, bytes: u64, global: &Global, io: &'a mut Io<'_>) -> Progress<'a> {
        let seen = io.stderr_is_terminal && !io.is_dumb() && !global.quiet;
        let out = if seen { Some(&mut *io.stderr as &mut dyn Write) } else { None };
        let name = display_safe(name).into_owned();
        Progress { out, name, bytes, next: Instant::now() + PATIENCE, calls: 0, shown: false }
    }

    /// So many bytes of it were read; asked for where somebody looks only.
    pub(super) fn at(&mut self, read: impl FnOnce() -> u64) {
        self.calls += 1;
        if self.out.is_some() && self.calls.is_multiple_of(CALLS) {
            self.at_time(Instant::now(), read());
        }
    }

    fn at_time(&mut self, now: Instant, read: u64) {
        let Some(out) = self.out.as_mut().filter(|_| now >= self.next) else { return };
        self.next = now + PACE;
        self.shown = true;
        let percent = read.min(self.bytes).saturating_mul(100) / self.bytes.max(1);
        // Whoever does not listen misses nothing that stays.
        let _ = write!(out, "\rxdscope: reading {}: {percent}% of {}", self.name, size(self.bytes));
        let _ = out.flush();
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(out) = self.out.as_mut().filter(|_| self.shown) {
            let _ = write!(out, "\r\x1b[K");
            let _ = out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_when_it_takes_long_and_goes_again() {
        let (mut out, start) = (Vec::new(), Instant::now());
        let out_of = |out: &mut Vec<u8>, looks: &[(u64, u64)]| {
            let mut progress = Progress {
                out: Some(out),
                name: "a.xdsrec".into(),
                bytes: 2000,
                next: start + PATIENCE,
                calls: 0,
                shown: false,
            };
            for (millis, read) in looks {
                progress.at_time(start + Duration::from_millis(*millis), *read);
            }
        };
        out_of(&mut out, &[(0, 1), (999, 1500)]);
        assert!(out.is_empty());
        out_of(&mut out, &[(1000, 500), (1100, 600), (1300, 2001)]);
        let text = String::from_utf8(out).expect("text");
        let line = "\rxdscope: reading a.xdsrec: ";
        assert_eq!(text, format!("{line}25% of 2.0 kB{line}100% of 2.0 kB\r\u{1b}[K"));
    }
}
