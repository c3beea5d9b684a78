//! `log`: messages in order, with what answers what.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::filter::{Filter, RowKind};
use crate::engine::store::{MessageFact, Store};
use crate::present::report::{self, Role};
use crate::schema::{FieldNames, Schema};
use crate::sources::bodies::{self, Contents};
use crate::wire::event::{Dir, Time};
use crate::wire::text::{latency, plural, size, time_of_day, type_label};

use super::args::{Format, Global, LogArgs, TimeFormat};
use super::error::{CliError, Exit};
use super::io::{Io, Style};
use super::json_out::{Objects, add_body, write_yaml};
use super::select::{self, Picked};
use super::table::{Cell, Table};
use super::{ladder, refusals, source, words};

/// Default limit of gRPC for one message, in bytes. Larger messages are marked.
const GRPC_MAX_MESSAGE_BYTES: u64 = 4 << 20;

pub(super) fn run(args: &LogArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow {
        return super::watch::follow(args, global, io);
    }
    let zone = io.zone(args.time);
    let filter = select::filter(args.rows.filter.as_deref(), RowKind::Messages, &zone)?;
    let folded = source::analyse(&args.source, global, io)?.with_messages()?;
    let schema = folded.schema;
    let (store, lint) = folded.facts.into_parts();
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    if !global.quiet && args.format.is_text() {
        select::say_problems((&store, lint.findings()), &picked, &args.source.source, io);
    }
    let style = io.style(global);
    let printer = Printer { args, store: &store, schema: &schema, zone, style };
    let rows = matching(args, &store, &schema, &filter, &picked);
    let out = &mut *io.stdout;
    let printed = match (args.ladder, args.format) {
        (true, _) => ladder::write(&picked.streams, rows, &store, &printer.zone, style, out)?,
        (_, Format::Json | Format::Jsonl) => printer.objects(rows, out)?,
        (_, Format::Yaml) => printer.yaml(rows, io.stdout_is_terminal, out)?,
        (_, Format::Name) => printer.names(rows, out)?,
        _ => {
            let nodes = picked.streams.len() > 1 || args.format == Format::Wide;
            printer.table(rows, nodes, io.stdout_is_terminal, out)?
        }
    };
    if store.dropped() > 0 && !global.quiet {
        io.flush()?;
        let limit = args.source.timers.memory;
        io.say(&format!(
            "the content of the first {} did not fit into --memory {}; --memory {} holds twice as many",
            plural(store.dropped(), "message"),
            size(limit).replace(' ', ""),
            size(limit.saturating_mul(2)).replace(' ', ""),
        ));
    }
    if printed == 0 && !global.quiet {
        io.flush()?;
        let all = store.rows();
        io.say(&if all == 0 {
            "no messages".to_owned()
        } else {
            format!("0 of {} match", plural(all as u64, "row"))
        });
    }
    Ok(Exit::Yes)
}

/// Returns the matching rows in order, computed on demand; with `--tail` the last ones.
fn matching<'a>(
    args: &LogArgs,
    store: &'a Store,
    schema: &'a Arc<Schema>,
    filter: &'a Filter,
    picked: &'a Picked,
) -> Box<dyn Iterator<Item = MessageFact> + 'a> {
    let contents = Contents { store, schema };
    let get = move |row: usize| {
        let fact = store.row(row)?;
        (picked.has(fact.stream) && filter.message_with(&fact, store, &contents)).then_some(fact)
    };
    match args.tail {
        None => Box::new((0..store.rows()).filter_map(get)),
        Some(n) => {
            let mut last: Vec<MessageFact> = (0..store.rows()).rev().filter_map(get).take(n).collect();
            last.reverse();
            Box::new(last.into_iter())
        }
    }
}

struct Printer<'a> {
    args: &'a LogArgs,
    store: &'a Store,
    schema: &'a Arc<Schema>,
    zone: jiff::tz::TimeZone,
    style: Style,
}

type RowsOf<'a> = Box<dyn Iterator<Item = MessageFact> + 'a>;

impl Printer<'_> {
    /// Builds the object that `-o json` prints.
    fn object(&self, fact: &MessageFact) -> Value {
        let mut object = words::message(fact, self.store);
        if self.args.body {
            add_body(&mut object, self.store, self.schema, fact.n);
            refusals::add_to(&mut object, self.store, self.schema, fact);
        }
        object
    }

    fn objects(&self, rows: RowsOf<'_>, out: &mut dyn std::io::Write) -> Result<usize, CliError> {
        let mut objects = Objects::new(out, self.args.format == Format::Json);
        let mut printed = 0;
        for fact in rows {
            printed += 1;
            objects.put(&self.object(&fact))?;
        }
        objects.finish()?;
        Ok(printed)
    }

    fn yaml(
        &self,
        rows: RowsOf<'_>,
        terminal: bool,
        out: &mut dyn std::io::Write,
    ) -> Result<usize, CliError> {
        let mut printed = 0;
        for fact in rows {
            printed += 1;
            writeln!(out, "---")?;
            write_yaml(out, &self.object(&fact), "", terminal)?;
        }
        Ok(printed)
    }

    fn names(&self, rows: RowsOf<'_>, out: &mut dyn std::io::Write) -> Result<usize, CliError> {
        let mut printed = 0;
        for fact in rows {
            if let Some(n) = fact.n {
                printed += 1;
                writeln!(out, "#{}", n.0)?;
            }
        }
        Ok(printed)
    }

    fn table(
        &self,
        rows: RowsOf<'_>,
        nodes: bool,
        terminal: bool,
        out: &mut dyn std::io::Write,
    ) -> Result<usize, CliError> {
        let by_delta = self.args.time == TimeFormat::Delta;
        let mut titles = vec![">#", ">TIME"];
        if !by_delta {
            titles.push(if self.style.ascii { "DELTA" } else { "Δ" });
        }
        if nodes {
            titles.push("NODE");
        }
        titles.extend(["", "TYPE", "KIND", "VER", "NONCE", "RESOURCES", ">SIZE", ">LAT"]);
        titles.extend((self.args.format == Format::Wide).then_some("CLASS"));
        titles.push("NOTE");
        let mut table = Table::new(out, self.style, !self.args.rows.no_headers, &titles);
        let mut before: Option<Time> = None;
        let mut printed = 0;
        for fact in rows {
            printed += 1;
            table.row(self.cells(&fact, before, by_delta, nodes))?;
            before = Some(fact.at);
            if let (true, Some(n)) = (self.args.body, fact.n) {
                table.flush()?;
                let body =
                    bodies::message(self.store, self.schema, n, FieldNames::Original).unwrap_or(Value::Null);
                write_yaml(table.out(), &body, "      ", terminal)?;
                refusals::write(self.store, self.schema, &fact, terminal, table.out())?;
            }
        }
        if printed > 0 {
            table.finish()?;
        }
        Ok(printed)
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
        time_of_day(at, clock, &self.zone)
    }
}
