//! `replay`: a recording with a time cursor, on screens, or with one line per event.

mod screens;

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::engine::filter::{Filter, RowKind};
use crate::engine::store::Store;
use crate::schema::Schema;
use crate::sources::{self, Limit, ReplayPosition, RowSink, StoreUntil, Timeline, record::Loaded};

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
        LinePrinter { lines: self, filter, zone: io.zone(self.time), style: io.style(global) }
    }

    /// Prints each row, then those that come.
    fn follow(&self, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
        let zone = io.zone(self.time);
        let filter = select::filter(self.filter, RowKind::Messages, &zone)?;
        let mut printer = self.printer(filter, global, io);
        // A recording that is followed may have just begun.
        let opened = offline::read_quietly(self.source, seed, global, io)?;
        offline::say(&opened.loaded.notices, global, io);
        let opened = opened.with_messages()?;
        let limit = Limit::of(self.at, &opened.loaded, &zone)?;
        let reload = follow(self.source, seed, &opened.schema, opened.size.unwrap_or(0), io)?;
        let timers = &self.source.timers;
        let (mut store, schema) = sources::replay(opened, offline::options(timers), &limit);
        let mut shown = 0;
        loop {
            printer.rows(&store, shown..store.rows(), &mut *io.stdout)?;
            io.flush()?;
            shown = shown.max(store.rows());
            let Ok(loaded) = reload.recv() else { return Ok(Exit::Yes) };
            store = sources::replay_all(loaded, offline::options(timers), &schema);
        }
    }
}

/// Prints rows as lines.
struct LinePrinter<'a> {
    lines: &'a Lines<'a>,
    filter: Filter,
    zone: jiff::tz::TimeZone,
    style: Style,
}

impl LinePrinter<'_> {
    fn rows(&mut self, store: &Store, rows: Range<usize>, out: &mut dyn Write) -> Result<(), CliError> {
        let picked = Picked::of(self.lines.stream, store)?;
        for fact in rows.filter_map(|row| store.row(row)) {
            if picked.has(fact.stream) && self.filter.message(&fact, store) {
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

/// Reads the source again on a thread each time it has grown.
fn follow(
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
    mut known: u64,
    io: &Io<'_>,
) -> Result<Receiver<Loaded>, CliError> {
    let path = offline::find(&args.source, io)?;
    let (args, schema) = (args.clone(), schema.clone());
    let (send, receive) = channel();
    let work = move || {
        let mut pause = FILE_CHECK_INTERVAL;
        loop {
            std::thread::sleep(pause);
            pause = FILE_CHECK_INTERVAL;
            let size = std::fs::metadata(&path).map_or(known, |file| file.len());
            if size == known {
                continue;
            }
            let begun = Instant::now();
            // A file that cannot be read may be half written: try again later.
            if let Ok(source) = sources::open(&offline::spec(&args, seed, &path), &Arc::clone(&schema)) {
                known = size;
                if send.send(source.loaded).is_err() {
                    return;
                }
            }
            pause = FILE_CHECK_INTERVAL.max(begun.elapsed() * IDLE_SHARE);
        }
    };
    let thread = std::thread::Builder::new().name("follow".into()).spawn(work);
    thread.map_err(|error| CliError::new(Exit::Defect, "cannot follow the file").because(error))?;
    Ok(receive)
}
