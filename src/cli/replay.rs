//! `replay`: a recording with a time cursor, as screens; without a terminal a line per event.

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

/// How often a file is looked at for more.
const LOOK: Duration = Duration::from_millis(250);
/// Of the time, reading again takes no more than one in so many parts.
const SHARE: u32 = 10;

pub(super) fn run(args: &ReplayArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow {
        is_file(&args.source)?;
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

/// `log FILE --follow`.
pub(super) fn follow_lines(
    args: &LogArgs,
    output: Format,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    is_file(&args.source)?;
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

/// Only a file can be followed.
fn is_file(args: &SourceArgs) -> Result<(), CliError> {
    match args.source.as_str() {
        "-" => Err(CliError::usage("--follow follows a file, and SOURCE is stdin").next("name the file")),
        _ => Ok(()),
    }
}

/// A source as lines: what there is, and with `follow` what comes.
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
    /// Each row as `log` prints it, then those that come.
    fn print(&self, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
        let zone = io.zone(self.time);
        let filter = select::filter(self.filter, RowKind::Messages, &zone)?;
        let style = io.style(global);
        let opened = offline::open(self.source, seed, global, io)?.with_messages()?;
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

/// Reads the source again each time it has grown, on a thread of its own.
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
        let mut pause = LOOK;
        loop {
            std::thread::sleep(pause);
            pause = LOOK;
            let size = std::fs::metadata(&path).map_or(known, |file| file.len());
            if size == known {
                continue;
            }
            let begun = Instant::now();
            // What can't be read now may be half written: the next look sees more of it.
            if let Ok(source) = sources::open(&offline::spec(&args, seed, &path), &Arc::clone(&schema)) {
                known = size;
                if send.send(source.loaded).is_err() {
                    return;
                }
            }
            pause = LOOK.max(begun.elapsed() * SHARE);
        }
    };
    let thread = std::thread::Builder::new().name("follow".into()).spawn(work);
    thread.map_err(|error| CliError::new(Exit::Defect, "cannot follow").because(error))?;
    Ok(receive)
}
