//! `replay`: a recording with a time cursor, on screens, or with one line per event.

mod screens;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::engine::filter::RowKind;
use crate::schema::Schema;
use crate::sources::{self, Limit, ReplayPosition, record::Loaded};

use super::args::LogArgs;
use super::args::{Format, Global, ReplayArgs, SourceArgs, StreamPick, TimeFormat};
use super::error::{CliError, Exit};
use super::io::Io;
use super::select::Picked;

use super::{message_line, offline, schema_flags, select};

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
        follow: args.follow,
    };
    lines.print(seed, global, io)
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
        follow: true,
    };
    lines.print(schema_flags::seed()?, global, io)
}

/// Refuses to follow stdin.
fn check_is_file(args: &SourceArgs) -> Result<(), CliError> {
    match args.source.as_str() {
        "-" => Err(CliError::usage("--follow needs a file, and SOURCE is stdin").next("name the file")),
        _ => Ok(()),
    }
}

/// The lines of a source, and with `follow` those that come.
struct Lines<'a> {
    source: &'a SourceArgs,
    at: &'a ReplayPosition,
    filter: Option<&'a str>,
    stream: Option<&'a StreamPick>,
    time: TimeFormat,
    jsonl: bool,
    follow: bool,
}

impl Lines<'_> {
    /// Prints each row, then those that come.
    fn print(&self, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
        let zone = io.zone(self.time);
        let filter = select::filter(self.filter, RowKind::Messages, &zone)?;
        let style = io.style(global);
        let opened = offline::read_quietly(self.source, seed, global, io)?;
        // A recording that is followed may have just begun.
        if !self.follow {
            offline::check_content(&opened)?;
        }
        offline::say(&opened.loaded.notices, global, io);
        let opened = opened.with_messages()?;
        let limit = Limit::of(self.at, &opened.loaded, &zone)?;
        let reload = if self.follow {
            Some(follow(self.source, seed, &opened.schema, opened.size.unwrap_or(0), io)?)
        } else {
            None
        };
        let timers = &self.source.timers;
        let (mut store, schema) = sources::replay(opened, offline::options(timers), &limit);
        let mut shown = 0;
        loop {
            let picked = Picked::of(self.stream, &store)?;
            for fact in (shown..store.rows()).filter_map(|row| store.row(row)) {
                if picked.has(fact.stream) && filter.message(&fact, &store) {
                    let line = if self.jsonl {
                        message_line::json(&fact, &store)
                    } else {
                        message_line::text(&fact, &store, &zone, style)
                    };
                    writeln!(io.stdout, "{}", line.trim_end())?;
                }
            }
            io.flush()?;
            shown = shown.max(store.rows());
            let Some(loaded) = reload.as_ref().and_then(|reload| reload.recv().ok()) else {
                return Ok(Exit::Yes);
            };
            store = sources::replay_all(loaded, offline::options(timers), &schema);
        }
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
