use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::JsonCodec;
use super::held::HoldLimits;
use super::line_error::LineError;
use super::session::RawSession;
use crate::record::loaded::Loaded;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact, UsedContent};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::without_mark;

/// Longest line: the largest field there is, in base64, and the rest of its line.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// Size of a line that is read with any `--memory`.
const MIN_LINE_LIMIT: u64 = 32 << 20;
/// Memory of the values of a line that is read with any `--memory`.
const MIN_TREE_LIMIT: u64 = 64 << 20;
/// The start of a line that is too long, in which its stream is looked for, in bytes.
const LINE_HEAD_BYTES: usize = 64 << 10;
/// Lines that are reported individually; more are only counted.
const MAX_REPORTED_LINES: usize = 20;
/// A `close` this far behind its `status` is part of it, and so is the method of a stream.
const HELD: HoldLimits = HoldLimits { frames: 256, bytes: 1 << 20 };
/// Lines between two chances to drop old facts.
const LINES_PER_READ: usize = 64;
/// Memory of a line that is kept for the next one.
const MAX_SPARE_LINE_BYTES: usize = 1 << 20;

/// Optional conversions while reading.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Redacts secrets before anything is stored.
    pub redact: Option<Arc<dyn Redact>>,
    /// Decodes `node_hint` and `body`. Without it, both are skipped with a notice.
    pub json: Option<&'a dyn JsonCodec>,
    /// The key of the content hashes.
    pub seed: u64,
    /// Bytes that the reader may use: lines longer than half of them are skipped, of which at least
    /// 32 MB and at most 1 GB are read; `None` for 1 GB.
    pub memory: Option<usize>,
}

/// Reads raw JSONL. Bad lines are skipped and reported in the notices.
///
/// # Errors
///
/// The input can't be read.
pub fn read(input: impl BufRead) -> io::Result<Loaded> {
    read_with(input, &Options::default())
}

/// Reads raw JSONL with [`Options`].
///
/// # Errors
///
/// The input can't be read.
pub fn read_with(input: impl BufRead, options: &Options<'_>) -> io::Result<Loaded> {
    let everything = HoldLimits { frames: usize::MAX, bytes: usize::MAX };
    let (mut catalog, mut reading) = LineReader::new(input, options, everything)?;
    let mut frames = Vec::new();
    while reading.next(&mut catalog, &mut frames)? {}
    let clock = reading.clock();
    let (end, notices) = reading.finish();
    Ok(Loaded { catalog, clock, frames, end, notices, secrets: false })
}

/// Starts reading raw JSONL with [`Options`].
///
/// # Errors
///
/// The input can't be read.
pub fn start<'a, R: BufRead>(input: R, options: &Options<'a>) -> io::Result<(Catalog, LineReader<'a, R>)> {
    LineReader::new(input, options, HELD)
}

/// Raw JSONL that is read in order, some lines at a time.
pub struct LineReader<'a, R> {
    input: R,
    line: Vec<u8>,
    /// Lines that were read.
    number: u64,
    max_line: u64,
    position: u64,
    has_ended: bool,
    session: RawSession<'a>,
    hold: HoldLimits,
    notices: Vec<String>,
    skipped_lines: usize,
}

impl<'a, R: BufRead> LineReader<'a, R> {
    fn new(input: R, options: &Options<'a>, hold: HoldLimits) -> io::Result<(Catalog, Self)> {
        let mut catalog =
            Catalog::new(options.seed, options.redact.clone(), Box::new(MemoryBodies::default()));
        // Half of the memory is for the line, and half for its values.
        let half = options.memory.map_or(MAX_LINE_BYTES, |bytes| bytes as u64 / 2);
        let max_line = half.clamp(MIN_LINE_LIMIT, MAX_LINE_BYTES);
        let tree_limit = usize::try_from(max_line.max(MIN_TREE_LIMIT)).unwrap_or(usize::MAX);
        let mut reading = LineReader {
            input,
            line: Vec::new(),
            number: 0,
            max_line,
            position: 0,
            has_ended: false,
            session: RawSession::new(options.json, tree_limit),
            hold,
            notices: Vec::new(),
            skipped_lines: 0,
        };
        while !reading.session.has_clock() && !reading.has_ended {
            reading.read_line(&mut catalog)?;
        }
        Ok((catalog, reading))
    }

    /// Returns the clock of the first line with a time.
    pub fn clock(&self) -> Clock {
        self.session.clock
    }

    /// Returns how many bytes are read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends the next frames to `out`, and their content to the catalog that came with the
    /// reader.
    ///
    /// Returns false at the end of the input.
    ///
    /// # Errors
    ///
    /// The input can't be read.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> io::Result<bool> {
        if self.has_ended {
            let before = out.len();
            self.session.frames.pass(HoldLimits { frames: 0, bytes: 0 }, out);
            return Ok(out.len() > before);
        }
        let until = self.position.saturating_add(self.hold.bytes as u64);
        for _ in 0..LINES_PER_READ {
            self.read_line(catalog)?;
            if self.has_ended || self.position > until {
                break;
            }
        }
        self.session.frames.pass(self.hold, out);
        Ok(true)
    }

    /// Marks the contents as used to which the reader refers.
    pub fn mark(&self, used: &mut UsedContent) {
        self.session.frames.mark(used);
    }

    fn read_line(&mut self, catalog: &mut Catalog) -> io::Result<()> {
        self.line.clear();
        self.line.shrink_to(MAX_SPARE_LINE_BYTES);
        let read = (&mut self.input).take(self.max_line).read_until(b'\n', &mut self.line)? as u64;
        self.has_ended = read == 0;
        self.number += u64::from(read > 0);
        self.position += read;
        let result = if read == self.max_line {
            let skipped = self.input.skip_until(b'\n')? as u64;
            self.position += skipped;
            self.line.truncate(LINE_HEAD_BYTES);
            let is_counted = self.session.long_line(&self.line, read + skipped, catalog);
            let limit = self.max_line >> 20;
            Err(if is_counted { LineError::LongMessage(limit) } else { LineError::TooLong(limit) })
        } else {
            self.session.frames.begin_line(self.line.len());
            let line = if self.number == 1 { without_mark(&self.line) } else { &self.line };
            self.session.line(line.trim_ascii(), catalog)
        };
        if let Err(error) = result {
            self.skipped_lines += 1;
            if self.skipped_lines <= MAX_REPORTED_LINES {
                self.notices.push(format!("line {} skipped: {error}", self.number));
            }
        }
        Ok(())
    }

    /// Returns the time at which the session ends, and messages to the user about what could not
    /// be read.
    pub fn finish(self) -> (Time, Vec<String>) {
        let (mut notices, undecoded) = (self.notices, self.session.undecoded);
        if self.skipped_lines > MAX_REPORTED_LINES {
            notices.push(format!("{} more lines skipped", self.skipped_lines - MAX_REPORTED_LINES));
        }
        if undecoded > 0 {
            notices.push(format!(
                "{undecoded} JSON bodies or nodes skipped: descriptors are needed to decode them"
            ));
        }
        (self.session.now, notices)
    }
}
