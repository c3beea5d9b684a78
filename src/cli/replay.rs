//! `replay`: a recording with a time cursor, on screens, or with one line per event.

mod screens;

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::engine::filter::{Filter, RowKind};
use crate::engine::store::Store;
use crate::sources::{self, Limit, Passes, ReadProgress, ReplayPosition, RowSink, StoreUntil, Timeline};
use crate::wire::event::Time;

use super::args::LogArgs;
use super::args::{Format, Global, ReplayArgs, SourceArgs, StreamPick, TimeFormat};
use super::error::{CliError, Exit};
use super::io::{Io, Style};
use super::progress::Progress;
use super::select::Picked;
use super::{message_line, offline, schema_flags, select, source};

/// Interval at which a followed file is checked.
const FILE_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Reading again takes at most one part in this many of the time.
const IDLE_SHARE: u32 = 10;

pub(super) fn run(args: &ReplayArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow {
        check_is_file(&args.source)?;
    }
    let seed = schema_flags::seed()?;
    if args.format.is_none() && !args.no_tui && io.has_screen() {
        return screens::run(args, seed, global, io);
    }
    let lines = Lines {
        source: &args.source,
        at: &args.at,
        filter: args.filter.as_deref(),
        stream: None,
        time: args.time,
        jsonl: args.format == Some(Format::Jsonl),
    };
    if args.follow { lines.follow(seed, global, io) } else { lines.print(global, io) }
}

/// Runs `log FILE --follow`.
pub(super) fn follow_lines(
    args: &LogArgs,
    output: Format,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    check_is_file(&args.source)?;
    let pick = args.rows.streams.pick();
    let lines = Lines {
        source: &args.source,
        at: &ReplayPosition::End,
        filter: args.rows.filter.as_deref(),
        stream: pick.as_ref(),
        time: args.time,
        jsonl: output == Format::Jsonl,
    };
    lines.follow(schema_flags::seed()?, global, io)
}

/// Refuses to follow stdin.
fn check_is_file(args: &SourceArgs) -> Result<(), CliError> {
    match args.source.as_str() {
        "-" => Err(CliError::usage("--follow needs a file, and SOURCE is stdin").next("name the file")),
        _ => Ok(()),
    }
}

/// The lines of a source.
struct Lines<'a> {
    source: &'a SourceArgs,
    at: &'a ReplayPosition,
    filter: Option<&'a str>,
    stream: Option<&'a StreamPick>,
    time: TimeFormat,
    jsonl: bool,
}

impl Lines<'_> {
    /// Prints each row: when memory is full, and at the end.
    fn print(&self, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
        let filter = select::filter(self.filter, RowKind::Messages, &io.zone(self.time))?;
        let (mut passes, seen) = source::offline_passes(self.source, global, io)?;
        seen.with_messages()?;
        let limit = source::limit(&mut passes, self.at, global, io)?;
        let (schema, timers) = (passes.schema().clone(), &self.source.timers);
        let mut printer = self.printer(filter, global, io);
        let mut out = std::mem::replace(&mut io.stdout, Box::new(std::io::sink()));
        let mut result = Ok(());
        let mut progress = Progress::new(&self.source.source, global, io);
        let folded = passes.fold(&mut progress, |catalog, clock| {
            let store = sources::store(offline::options(timers), catalog, clock, &schema);
            RowSink::new(StoreUntil::new(store, limit), |facts: &StoreUntil, rows| {
                if result.is_ok() {
                    result = printer.rows(facts.store(), rows, &mut *out);
                }
            })
        });
        drop(progress);
        let folded = folded.map(|folded| folded.map(|sink| drop(sink.finish())));
        io.stdout = out;
        offline::say(&folded?.notices, global, io);
        result?;
        io.flush()?;
        Ok(Exit::Yes)
    }

    fn printer(&self, filter: Filter, global: &Global, io: &Io<'_>) -> LinePrinter<'_> {
        let (zone, style) = (io.zone(self.time), io.style(global));
        LinePrinter { lines: self, filter, zone, style, last: PrintedTo::default(), passed: None }
    }

    /// Prints each row, then those that come.
    fn follow(&self, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
        let filter = select::filter(self.filter, RowKind::Messages, &io.zone(self.time))?;
        let mut printer = self.printer(filter, global, io);
        let schema = schema_flags::schema(&self.source.descriptors, global)?;
        let path = offline::find(&self.source.source, io)?;
        let spec = offline::spec(self.source, seed, &path);
        let options = offline::options(&self.source.timers);
        let mut growth = Growth::new(path);
        let known = Limit::known(self.at);
        let mut limit = match known {
            Some(limit) => limit,
            None => {
                let mut passes = Passes::open(&spec, &schema, options.history)?;
                source::limit(&mut passes, self.at, global, io)?
            }
        };
        let mut is_first = true;
        loop {
            let begun = Instant::now();
            printer.begin();
            let mut result = Ok(());
            let folded = sources::fold(&spec, &schema, &mut Unseen, |catalog, clock| {
                let store = sources::store(options, catalog, clock, &schema);
                RowSink::new(StoreUntil::new(store, limit.clone()), |facts: &StoreUntil, rows| {
                    if result.is_ok() {
                        result = printer.rows(facts.store(), rows, &mut *io.stdout);
                    }
                })
            });
            let folded = folded.map(|folded| folded.map(|sink| drop(sink.finish())));
            result?;
            io.flush()?;
            match folded {
                Ok(folded) if is_first => offline::say(&folded.with_messages()?.notices, global, io),
                Err(error) if is_first => return Err(error.into()),
                // A file that cannot be read may be half written: try again later.
                _ => {}
            }
            (is_first, limit) = (false, Limit::All);
            growth.wait(begun.elapsed());
        }
    }
}

/// Prints rows as lines.
struct LinePrinter<'a> {
    lines: &'a Lines<'a>,
    filter: Filter,
    zone: jiff::tz::TimeZone,
    style: Style,
    /// The rows that were printed when a followed source was read before.
    last: PrintedTo,
    /// The rows that the current reading has passed; `None` if the source is read once.
    passed: Option<PrintedTo>,
}

/// A place among rows, which are in order of time. The first files of a followed folder may be
/// removed, so that a row has another number at each reading.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PrintedTo {
    at: Time,
    /// Rows of this time.
    rows: u64,
}

impl LinePrinter<'_> {
    /// Begins another reading of a followed source: rows that were printed are left out.
    fn begin(&mut self) {
        self.last = self.last.max(self.passed.unwrap_or_default());
        self.passed = Some(PrintedTo::default());
    }

    /// Passes a row, and returns whether it was printed before.
    fn is_printed(&mut self, at: Time) -> bool {
        let Some(passed) = &mut self.passed else { return false };
        // Copies of several connections may be slightly out of order.
        let rows = if at <= passed.at { passed.rows + 1 } else { 1 };
        *passed = PrintedTo { at: passed.at.max(at), rows };
        *passed <= self.last
    }

    fn rows(&mut self, store: &Store, rows: Range<usize>, out: &mut dyn Write) -> Result<(), CliError> {
        let picked = Picked::of(self.lines.stream, store)?;
        for fact in rows.filter_map(|row| store.row(row)) {
            if !self.is_printed(fact.at) && picked.has(fact.stream) && self.filter.message(&fact, store) {
                let line = if self.lines.jsonl {
                    message_line::json(&fact, store)
                } else {
                    message_line::text(&fact, store, &self.zone, self.style)
                };
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}

/// A source that grows: a file, or the recordings of a folder.
struct Growth {
    path: PathBuf,
    /// Size in bytes when the source was last read.
    known: u64,
}

impl Growth {
    fn new(path: PathBuf) -> Growth {
        Growth { known: sources::size_of(&path), path }
    }

    /// Waits until the source has changed. `spent` is how long its last reading took.
    fn wait(&mut self, spent: Duration) {
        let mut pause = FILE_CHECK_INTERVAL.max(spent * IDLE_SHARE);
        loop {
            std::thread::sleep(pause);
            pause = FILE_CHECK_INTERVAL;
            let size = sources::size_of(&self.path);
            if std::mem::replace(&mut self.known, size) != size {
                return;
            }
        }
    }
}

/// The progress of a reading that nobody watches.
struct Unseen;

impl ReadProgress for Unseen {
    fn start(&mut self, _size: u64) {}
    fn update(&mut self, _position: &dyn Fn() -> u64) {}
}
