//! `log`: messages in order, with what answers what.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::app::analysis::{self, Analysis};

use crate::engine::filter::{Filter, RowKind};
use crate::engine::store::{MessageFact, Store};
use crate::present::json;
use crate::present::report::{self, Role};
use crate::schema::{FieldNames, Schema};
use crate::sources::bodies::{self, Contents};
use crate::sources::{self, RowSink};
use crate::wire::event::{Dir, Time};
use crate::wire::text::{latency, plural, size, time_of_day, type_label};

use super::args::{Format, Global, LogArgs, TimeFormat};
use super::error::{CliError, Exit};
use super::io::{Io, Style};
use super::json_out::{Objects, add_body, write_yaml};
use super::select::{self, Picked};
use super::table::{Cell, Table};
use super::{ladder, offline, refusals, source, words};

/// Default limit of gRPC for one message, in bytes. Larger messages are marked.
const GRPC_MAX_MESSAGE_BYTES: u64 = 4 << 20;

pub(super) fn run(args: &LogArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow {
        return super::watch::follow(args, global, io);
    }
    let mut out = std::mem::replace(&mut io.stdout, Box::new(std::io::sink()));
    let exit = write(args, global, io, &mut *out);
    io.stdout = out;
    exit
}

/// Writes rows while the source is read: when memory is full, and at the end.
fn write(args: &LogArgs, global: &Global, io: &mut Io<'_>, out: &mut dyn Write) -> Result<Exit, CliError> {
    let zone = io.zone(args.time);
    let filter = select::filter(args.rows.filter.as_deref(), RowKind::Messages, &zone)?;
    let mut log = Log {
        args,
        filter,
        zone,
        style: io.style(global),
        terminal: io.stdout_is_terminal,
        form: RowOutput::Pending(&mut *out),
        tail: VecDeque::new(),
        printed: 0,
        result: Ok(()),
    };
    let mut left_out = 0;
    let folded = source::fold(&args.source, global, io, |catalog, clock, schema: &Arc<Schema>| {
        let store = sources::store(offline::options(&args.source.timers), catalog, clock, schema);
        let (log, left_out, schema, rules) = (&mut log, &mut left_out, schema.clone(), schema.clone());
        let show = move |facts: &Analysis, rows: Range<usize>| match args.ladder {
            // A ladder is drawn as a whole.
            true => *left_out = rows.end,
            // Nodes that are not known yet have no rows.
            false => {
                if let Ok(picked) = Picked::of(args.rows.streams.pick().as_ref(), facts) {
                    log.take(facts, &schema, &picked, rows);
                }
            }
        };
        RowSink::new(Analysis::new(store, analysis::rules(&rules)), show)
    })?
    .with_messages()?;
    let schema = folded.schema.clone();
    let (facts, shown) = folded.facts.into_parts();
    let (store, lint) = facts.into_parts();
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    if !global.quiet && args.format.is_text() {
        select::say_problems((&store, lint.findings()), &picked, &args.source.source, io);
    }
    let printed = match args.ladder {
        true => log.ladder(&store, &schema, &picked)?,
        false => {
            log.take(&store, &schema, &picked, shown..store.rows());
            log.finish(&store, &schema)?
        }
    };
    out.flush()?;
    if !global.quiet {
        say_left_out(args, &store, left_out as u64, io);
        if printed == 0 {
            let all = store.rows();
            io.say(&if all == 0 {
                "no messages".to_owned()
            } else {
                format!("0 of {} match", plural(all as u64, "row"))
            });
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
struct Log<'a> {
    args: &'a LogArgs,
    filter: Filter,
    zone: jiff::tz::TimeZone,
    style: Style,
    terminal: bool,
    form: RowOutput<'a>,
    /// With `--tail`: the last rows so far.
    tail: VecDeque<MessageFact>,
    printed: usize,
    result: Result<(), CliError>,
}

/// The writer of rows.
enum RowOutput<'a> {
    /// No row was written so far.
    Pending(&'a mut dyn Write),
    Objects(Objects<'a>),
    Lines(&'a mut dyn Write),
    Table {
        table: Table<'a>,
        before: Option<Time>,
        has_nodes: bool,
    },
    /// Everything is written.
    Done,
}

impl<'a> Log<'a> {
    /// Takes the rows that match.
    fn take(&mut self, store: &Store, schema: &Arc<Schema>, picked: &Picked, rows: Range<usize>) {
        self.begin(picked);
        let contents = Contents { store, schema };
        for fact in rows.filter_map(|row| store.row(row)) {
            if self.result.is_err() {
                return;
            }
            if !picked.has(fact.stream) || !self.filter.message_with(&fact, store, &contents) {
                continue;
            }
            match self.args.tail {
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

    fn begin(&mut self, picked: &Picked) {
        if !matches!(self.form, RowOutput::Pending(_)) {
            return;
        }
        let RowOutput::Pending(out) = std::mem::replace(&mut self.form, RowOutput::Done) else { return };
        self.form = match self.args.format {
            Format::Json | Format::Jsonl => {
                RowOutput::Objects(Objects::new(out, self.args.format == Format::Json))
            }
            Format::Yaml | Format::Name => RowOutput::Lines(out),
            _ => {
                let has_nodes = picked.streams.len() > 1 || self.args.format == Format::Wide;
                RowOutput::Table { table: self.table(out, has_nodes), before: None, has_nodes }
            }
        };
    }

    fn table(&self, out: &'a mut dyn Write, has_nodes: bool) -> Table<'a> {
        let mut titles = vec![">#", ">TIME"];
        if self.args.time != TimeFormat::Delta {
            titles.push(if self.style.ascii { "DELTA" } else { "Δ" });
        }
        if has_nodes {
            titles.push("NODE");
        }
        titles.extend(["", "TYPE", "KIND", "VER", "NONCE", "RESOURCES", ">SIZE", ">LAT"]);
        titles.extend((self.args.format == Format::Wide).then_some("CLASS"));
        titles.push("NOTE");
        Table::new(out, self.style, !self.args.rows.no_headers, &titles)
    }

    /// Writes a row.
    fn put(&mut self, store: &Store, schema: &Arc<Schema>, fact: &MessageFact) -> Result<(), CliError> {
        let printer = Printer { args: self.args, store, schema, zone: &self.zone, style: self.style };
        match &mut self.form {
            RowOutput::Objects(objects) => objects.put(&printer.object(fact))?,
            RowOutput::Lines(out) if self.args.format == Format::Yaml => {
                writeln!(out, "---")?;
                write_yaml(*out, &printer.object(fact), "", self.terminal)?;
            }
            RowOutput::Lines(out) => {
                let Some(n) = fact.n else { return Ok(()) };
                writeln!(out, "#{}", n.0)?;
            }
            RowOutput::Table { table, before, has_nodes } => {
                let by_delta = self.args.time == TimeFormat::Delta;
                table.row(printer.cells(fact, *before, by_delta, *has_nodes))?;
                *before = Some(fact.at);
                if let (true, Some(n)) = (self.args.body, fact.n) {
                    table.flush()?;
                    let body = bodies::message(store, schema, n, FieldNames::Original).unwrap_or(Value::Null);
                    write_yaml(table.out(), &body, "      ", self.terminal)?;
                    refusals::write(store, schema, fact, self.terminal, table.out())?;
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
            RowOutput::Table { table, .. } if self.printed > 0 => table.finish()?,
            RowOutput::Lines(out) => out.flush()?,
            RowOutput::Table { .. } | RowOutput::Pending(_) | RowOutput::Done => {}
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
        ladder::write(&picked.streams, rows, store, &self.zone, self.style, out)
    }
}

struct Printer<'a> {
    args: &'a LogArgs,
    store: &'a Store,
    schema: &'a Arc<Schema>,
    zone: &'a jiff::tz::TimeZone,
    style: Style,
}

impl Printer<'_> {
    /// Builds the object that `-o json` prints.
    fn object(&self, fact: &MessageFact) -> Value {
        let mut object = json::complete_message(fact, self.store);
        if self.args.body {
            add_body(&mut object, self.store, self.schema, fact.n);
            refusals::add_to(&mut object, self.store, self.schema, fact);
        }
        object
    }

    fn cells(&self, fact: &MessageFact, before: Option<Time>, by_delta: bool, nodes: bool) -> Vec<Cell> {
        let untimed = self.store.clock().untimed;
        let row = fact.line();
        let (kind, role) = words::kind(&row, self.style);
        let delta = before.filter(|_| !untimed).map(|before| report::delta(fact.at.since(before)));
        let delta = delta.unwrap_or_default();
        let arrow = match fact.dir {
            Some(Dir::Req) => self.style.pick("→", "->"),
            Some(Dir::Resp) => self.style.pick("←", "<-"),
            None => "",
        };
        let large = fact.size > GRPC_MAX_MESSAGE_BYTES;
        let mut cells = vec![Cell::role(fact.n.map_or("-".into(), |n| n.0.to_string()), Role::Muted)];
        if by_delta {
            cells.push(Cell::new(delta));
        } else {
            cells.push(Cell::new(self.time(fact.at)));
            cells.push(Cell::role(delta, Role::Muted));
        }
        if nodes {
            cells.push(Cell::new(format!("{} #{}", fact.node.as_deref().unwrap_or("-"), fact.stream.0)));
        }
        cells.extend([
            Cell::new(arrow),
            Cell::new(fact.dir.map_or_else(String::new, |_| type_label(fact.type_url.as_str()))),
            Cell::role(kind, role),
            Cell::new(&fact.version),
            Cell::new(&fact.nonce),
            Cell::new(report::resources(&row)),
            Cell::role(
                if fact.n.is_none() {
                    String::new()
                } else {
                    format!("{}{}", size(fact.size), if large { "!" } else { "" })
                },
                if large { Role::Warn } else { Role::Plain },
            ),
            Cell::new(fact.latency.filter(|_| fact.dir == Some(Dir::Req)).map(latency).unwrap_or_default()),
        ]);
        if self.args.format == Format::Wide {
            cells.push(Cell::new(fact.class.map_or("", |class| class.word())));
        }
        let with_order = self.args.format == Format::Wide;
        cells.push(Cell::new(report::remarks(fact, &row, with_order)));
        cells
    }

    fn time(&self, at: Time) -> String {
        let clock = self.store.clock();
        let relative = self.args.time == TimeFormat::Relative;
        let clock = if relative { crate::wire::event::Clock { epoch: None, ..clock } } else { clock };
        time_of_day(at, clock, self.zone)
    }
}
