//! `log`: messages in order, with what answers what.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use xdscope_engine::analysis;
use xdscope_engine::analysis::Analysis;

use xdscope_engine::filter::{Filter, RowKind};
use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::bodies::Contents;
use xdscope_present::json;
use xdscope_present::message_text::message_text;
use xdscope_present::table::{Table, TableLooks};
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_sources::{ReplayPosition, RowSink, StoreUntil, Timeline};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{display_safe, plural, size};

use super::{ladder, refusals};
use crate::cli::args::{Format, Global, LogArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects, add_body, add_intercepted};
use crate::cli::output::message_line::{DEFAULT_COLUMNS, RowLayout};
use crate::cli::source;
use crate::cli::source::offline;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;

pub(crate) fn run(args: &LogArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.body && args.format == Format::Md {
        return Err(CliError::usage("--body: a table of Markdown has no bodies").next("-o text, or -o jsonl"));
    }
    print(args, &ReplayPosition::End, global, io)
}

/// Prints the rows of a source up to a position.
pub(crate) fn print(
    args: &LogArgs,
    at: &ReplayPosition,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let mut out = std::mem::replace(&mut io.stdout, Box::new(std::io::sink()));
    let exit = match (at, args.since) {
        (ReplayPosition::End, None) => write(args, global, io, &mut *out),
        _ => write_part(args, at, global, io, &mut *out),
    };
    io.stdout = out;
    exit
}

/// Writes the rows up to a position, or the last ones, of a source that is read several times.
fn write_part(
    args: &LogArgs,
    at: &ReplayPosition,
    global: &Global,
    io: &mut Io<'_>,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut log = Log::new(args, global, io, &mut *out)?;
    let filter = log.filter.clone();
    let (mut passes, seen) = source::passes(&args.source, global, io)?;
    seen.with_messages()?;
    let limit = source::limit(&mut passes, at, global, io)?;
    if let Some(since) = args.since {
        let span = passes.span(&mut Progress::new(&args.source.source, global, io))?;
        log.since = since_of(since, span.clock, span.end)?;
    }
    let (schema, timers) = (passes.schema().clone(), &args.source.timers);
    let mut progress = Progress::new(&args.source.source, global, io);
    let folded = passes.fold(&mut progress, |catalog, clock| {
        let store = xdscope_sources::store(offline::options(timers), catalog, clock, &schema);
        let (log, schema) = (&mut log, schema.clone());
        RowSink::new(StoreUntil::new(store, limit), move |facts: &StoreUntil, rows| {
            if let (false, Ok(picked)) =
                (args.ladder, Picked::of(args.rows.streams.pick().as_ref(), facts.store()))
            {
                log.take(facts.store(), &schema, &picked, rows);
            }
        })
    })?;
    drop(progress);
    let mut parts = None;
    let folded = folded.map(|sink| parts = Some(sink.into_parts()));
    let (facts, shown) = parts.expect("the fold has facts");
    let store = facts.into_facts();
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    let printed = match args.ladder {
        true => log.ladder(&store, &schema, &picked)?,
        false => {
            log.take(&store, &schema, &picked, shown..store.rows());
            log.finish(&store, &schema)?
        }
    };
    out.flush()?;
    offline::say(&folded.notices, global, io);
    select::say_unknown(&filter, &store, global.quiet, io);
    if printed == 0 && !global.quiet {
        say_none(&store, io);
    }
    Ok(Exit::Yes)
}

/// Returns the time from which `--since` prints rows of a source that ends at `end`.
pub(crate) fn since_of(since: Duration, clock: Clock, end: Time) -> Result<Time, CliError> {
    if clock.untimed {
        let error = CliError::usage("--since has no effect: this source has no times");
        return Err(error.next("--tail N, for the last rows"));
    }
    let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Ok(Time(end.0.saturating_sub(since)))
}

fn say_none(store: &Store, io: &mut Io<'_>) {
    let all = store.rows();
    io.say(&if all == 0 {
        "no messages".to_owned()
    } else {
        format!("0 of {} match", plural(all as u64, "row"))
    });
}

/// Writes rows while the source is read: when memory is full, and at the end.
///
/// The rules cost as much as all else. Only the line about problems needs them, and the last rows
/// are asked for without it.
fn write(args: &LogArgs, global: &Global, io: &mut Io<'_>, out: &mut dyn Write) -> Result<Exit, CliError> {
    if args.tail.is_some() || global.quiet || !args.format.is_text() {
        return write_rows(args, global, io, out, |store, _| store, |store, _, _| store);
    }
    let begin = |store, schema: &Arc<Schema>| Analysis::new(store, analysis::rules(schema));
    write_rows(args, global, io, out, begin, |facts, picked, io| {
        let (store, lint) = facts.into_parts();
        let selection = format!("{}{}", shell_word(&args.source.source), args.rows.streams.again());
        select::say_problems((&store, lint.findings()), picked, &selection, io);
        store
    })
}

/// Writes the rows of facts that `begin` makes. `end` returns their store.
fn write_rows<T: Timeline>(
    args: &LogArgs,
    global: &Global,
    io: &mut Io<'_>,
    out: &mut dyn Write,
    begin: impl FnOnce(Store, &Arc<Schema>) -> T,
    end: impl FnOnce(T, &Picked, &mut Io<'_>) -> Store,
) -> Result<Exit, CliError> {
    let mut log = Log::new(args, global, io, &mut *out)?;
    let filter = log.filter.clone();
    let mut left_out = 0;
    let folded = source::fold(&args.source, global, io, |catalog, clock, schema: &Arc<Schema>| {
        let store = xdscope_sources::store(offline::options(&args.source.timers), catalog, clock, schema);
        let facts = begin(store, schema);
        let (log, left_out, schema) = (&mut log, &mut left_out, schema.clone());
        let show = move |facts: &T, rows: Range<usize>| match args.ladder {
            // A ladder is drawn as a whole.
            true => *left_out = rows.end,
            // Nodes that are not known yet have no rows.
            false => {
                if let Ok(picked) = Picked::of(args.rows.streams.pick().as_ref(), facts.store()) {
                    log.take(facts.store(), &schema, &picked, rows);
                }
            }
        };
        RowSink::new(facts, show)
    })?
    .with_messages()?;
    let schema = folded.schema.clone();
    let (facts, shown) = folded.facts.into_parts();
    let picked = Picked::of(args.rows.streams.pick().as_ref(), facts.store())?;
    let store = end(facts, &picked, io);
    let printed = match args.ladder {
        true => log.ladder(&store, &schema, &picked)?,
        false => {
            log.take(&store, &schema, &picked, shown..store.rows());
            log.finish(&store, &schema)?
        }
    };
    out.flush()?;
    select::say_unknown(&filter, &store, global.quiet, io);
    if !global.quiet {
        say_left_out(args, &store, left_out as u64, io);
        if printed == 0 {
            say_none(&store, io);
        }
    }
    Ok(Exit::Yes)
}

/// Says which rows or contents did not fit into memory.
fn say_left_out(args: &LogArgs, store: &Store, rows: u64, io: &mut Io<'_>) {
    // Rows that were dropped were written before, with their content.
    let contents = if store.first_row() == 0 { store.dropped() } else { 0 };
    let what = match (rows, contents) {
        (0, 0) => return,
        (0, messages) => format!("the content of the first {}", plural(messages, "message")),
        (rows, _) => format!("the first {}", plural(rows, "row")),
    };
    let limit = args.source.timers.memory;
    io.say(&format!(
        "{what} did not fit into --memory {}; --memory {} holds twice as many",
        size(limit).replace(' ', ""),
        size(limit.saturating_mul(2)).replace(' ', ""),
    ));
}

/// The rows of a log.
pub(crate) struct Log<'a> {
    args: &'a LogArgs,
    pub(crate) filter: Filter,
    /// Rows before this time are left out.
    pub(crate) since: Time,
    layout: RowLayout,
    form: RowOutput<'a>,
    /// The time of the row that was written last.
    before: Option<Time>,
    /// With `--tail`: the last rows so far.
    tail: VecDeque<MessageFact>,
    /// Whether rows are printed as they come.
    is_live: bool,
    /// The rows that were taken when a followed source was read before.
    last: RowsTaken,
    /// The rows that the current reading has passed; `None` if the source is read once.
    passed: Option<RowsTaken>,
    printed: usize,
    result: Result<(), CliError>,
}

/// A place among rows, which are in order of time. The first files of a followed folder may be
/// removed, so that a row has another number at each reading.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct RowsTaken {
    at: Time,
    /// Rows of this time.
    rows: u64,
}

/// The writer of rows.
enum RowOutput<'a> {
    /// No row was written so far.
    Pending(&'a mut dyn Write),
    Objects(Objects<'a>),
    Lines(&'a mut dyn Write),
    /// Rows of at most 100 columns.
    Rows {
        out: &'a mut dyn Write,
        /// Whether the titles are still to be written.
        has_titles: bool,
    },
    /// All columns, as wide as they are.
    Table(Table<'a>),
    /// Everything is written.
    Done,
}

impl<'a> Log<'a> {
    pub(crate) fn new(
        args: &'a LogArgs,
        global: &Global,
        io: &Io<'_>,
        out: &'a mut dyn Write,
    ) -> Result<Log<'a>, CliError> {
        let zone = io.zone(args.time);
        let filter = select::filter(args.rows.filter.as_deref(), RowKind::Messages, &zone)?;
        let (time, style, columns) = (args.time, io.style(global), io.columns());
        let is_cut = io.stdout_is_terminal || columns.is_some();
        let columns = columns.unwrap_or(DEFAULT_COLUMNS);
        Ok(Log {
            args,
            filter,
            since: Time::ZERO,
            layout: RowLayout { time, zone, style, has_nodes: true, is_cut, columns },
            form: RowOutput::Pending(out),
            before: None,
            tail: VecDeque::new(),
            is_live: false,
            last: RowsTaken::default(),
            passed: None,
            printed: 0,
            result: Ok(()),
        })
    }

    /// Begins another reading of a followed source: rows that were taken are left out.
    pub(crate) fn begin_reading(&mut self) {
        self.last = self.last.max(self.passed.unwrap_or_default());
        self.passed = Some(RowsTaken::default());
    }

    /// Passes a row, and returns whether it was taken before.
    fn was_taken(&mut self, at: Time) -> bool {
        let Some(passed) = &mut self.passed else { return false };
        // Copies of several connections may be slightly out of order.
        let rows = if at <= passed.at { passed.rows + 1 } else { 1 };
        *passed = RowsTaken { at: passed.at.max(at), rows };
        *passed <= self.last
    }

    /// Takes the rows that match.
    pub(crate) fn take(&mut self, store: &Store, schema: &Arc<Schema>, picked: &Picked, rows: Range<usize>) {
        self.begin(picked);
        let contents = Contents { store, schema };
        if let (Some(most), false, None) = (self.args.tail, self.is_live, self.passed) {
            return self.take_last(most, rows, picked, &contents);
        }
        for fact in rows.filter_map(|row| store.row(row)) {
            if self.result.is_err() {
                return;
            }
            if self.was_taken(fact.at)
                || fact.at < self.since
                || !picked.has(fact.stream)
                || !self.filter.message_with(&fact, store, &contents)
            {
                continue;
            }
            match self.args.tail.filter(|_| !self.is_live) {
                None => self.result = self.put(store, schema, &fact),
                Some(most) => {
                    self.tail.push_back(fact);
                    if self.tail.len() > most {
                        self.tail.pop_front();
                    }
                }
            }
        }
    }

    /// Takes the last rows that match, from the end on. Earlier rows are not even read.
    fn take_last(&mut self, most: usize, rows: Range<usize>, picked: &Picked, contents: &Contents<'_>) {
        let is_wanted = |fact: &MessageFact| {
            fact.at >= self.since
                && picked.has(fact.stream)
                && self.filter.message_with(fact, contents.store, contents)
        };
        let last = rows.rev().filter_map(|row| contents.store.row(row)).filter(is_wanted).take(most);
        let last: Vec<MessageFact> = last.collect();
        let excess = (self.tail.len() + last.len()).saturating_sub(most);
        self.tail.drain(..excess);
        self.tail.extend(last.into_iter().rev());
    }

    fn begin(&mut self, picked: &Picked) {
        if !matches!(self.form, RowOutput::Pending(_)) {
            return;
        }
        let RowOutput::Pending(out) = std::mem::replace(&mut self.form, RowOutput::Done) else { return };
        let has_titles = !self.args.rows.no_headers;
        let looks = TableLooks { style: self.layout.style, has_titles, form: self.args.format.table_form() };
        self.form = match self.args.format {
            format if format.is_of_objects() => {
                let looks = ObjectLooks { table: looks, terminal: self.layout.is_cut };
                RowOutput::Objects(Objects::new(out, format, looks))
            }
            Format::Name => RowOutput::Lines(out),
            Format::Wide | Format::Md => {
                RowOutput::Table(Table::new(out, looks, self.layout.wide_columns().headings()))
            }
            _ => {
                // More streams may come.
                self.layout.has_nodes = picked.streams.len() > 1 || self.args.follow;
                RowOutput::Rows { out, has_titles }
            }
        };
    }

    /// Prints the last rows of `--tail`, and from now on each row as it comes.
    pub(crate) fn go_live(&mut self, store: &Store, schema: &Arc<Schema>) -> Result<(), CliError> {
        for fact in std::mem::take(&mut self.tail) {
            self.put(store, schema, &fact)?;
        }
        self.is_live = true;
        self.flush()
    }

    /// Hands all rows so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        std::mem::replace(&mut self.result, Ok(()))?;
        match &mut self.form {
            RowOutput::Pending(out) | RowOutput::Lines(out) | RowOutput::Rows { out, .. } => out.flush()?,
            RowOutput::Objects(objects) => objects.flush()?,
            RowOutput::Table(table) => {
                table.flush()?;
                table.out().flush()?;
            }
            RowOutput::Done => {}
        }
        Ok(())
    }

    /// Writes a row.
    fn put(&mut self, store: &Store, schema: &Arc<Schema>, fact: &MessageFact) -> Result<(), CliError> {
        let printer = Printer { args: self.args, store, schema, terminal: self.layout.is_cut };
        let before = self.before.replace(fact.at);
        match &mut self.form {
            RowOutput::Objects(objects) => objects.put(&printer.object(fact))?,
            RowOutput::Lines(out) => {
                let Some(n) = fact.n else { return Ok(()) };
                writeln!(out, "#{}", n.0)?;
            }
            RowOutput::Rows { out, has_titles } => {
                if std::mem::take(has_titles) {
                    writeln!(out, "{}", self.layout.titles())?;
                }
                writeln!(out, "{}", self.layout.row(fact, before, store))?;
                printer.body(fact, *out)?;
            }
            RowOutput::Table(table) => {
                let row = self.layout.log_row(fact, before, store);
                table.row(self.layout.wide_columns().cells(&row))?;
                if self.args.body {
                    table.flush()?;
                    printer.body(fact, table.out())?;
                }
            }
            RowOutput::Pending(_) | RowOutput::Done => {}
        }
        self.printed += 1;
        Ok(())
    }

    /// Writes what remains. Returns the number of rows.
    fn finish(mut self, store: &Store, schema: &Arc<Schema>) -> Result<usize, CliError> {
        for fact in std::mem::take(&mut self.tail) {
            self.put(store, schema, &fact)?;
        }
        self.result?;
        match self.form {
            RowOutput::Objects(objects) => objects.finish()?,
            RowOutput::Table(table) => table.finish()?,
            RowOutput::Lines(out) => out.flush()?,
            RowOutput::Rows { .. } | RowOutput::Pending(_) | RowOutput::Done => {}
        }
        Ok(self.printed)
    }

    /// Draws the rows of a store as a ladder. Returns the number of rows.
    fn ladder(self, store: &Store, schema: &Arc<Schema>, picked: &Picked) -> Result<usize, CliError> {
        let RowOutput::Pending(out) = self.form else { return Ok(0) };
        let contents = Contents { store, schema };
        let get = |row: usize| {
            let fact = store.row(row)?;
            (picked.has(fact.stream) && self.filter.message_with(&fact, store, &contents)).then_some(fact)
        };
        let rows: Box<dyn Iterator<Item = MessageFact> + '_> = match self.args.tail {
            None => Box::new((0..store.rows()).filter_map(get)),
            Some(n) => {
                let mut last: Vec<MessageFact> = (0..store.rows()).rev().filter_map(get).take(n).collect();
                last.reverse();
                Box::new(last.into_iter())
            }
        };
        ladder::write(&picked.streams, rows, store, &self.layout, out)
    }
}

struct Printer<'a> {
    args: &'a LogArgs,
    store: &'a Store,
    schema: &'a Arc<Schema>,
    /// Whether the output is a terminal.
    terminal: bool,
}

impl Printer<'_> {
    /// Builds the object that `-o json` prints.
    fn object(&self, fact: &MessageFact) -> Value {
        let mut object = json::complete_message(fact, self.store);
        if self.args.body {
            add_body(&mut object, self.store, self.schema, fact.n);
            add_intercepted(&mut object, self.store, self.schema, fact);
            refusals::add_to(&mut object, self.store, self.schema, fact);
        }
        object
    }

    /// Writes the content of a message below its row, with `--body`.
    fn body(&self, fact: &MessageFact, out: &mut dyn Write) -> Result<(), CliError> {
        if !self.args.body {
            return Ok(());
        }
        for line in message_text(self.store, self.schema, fact).lines() {
            match self.terminal {
                true => writeln!(out, "      {}", display_safe(line))?,
                false => writeln!(out, "      {line}")?,
            }
        }
        Ok(())
    }
}
