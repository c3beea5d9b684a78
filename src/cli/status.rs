//! `status`: who is in sync, and what is open.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::applied::{AppliedDiff, AppliedState};
use crate::engine::filter;
use crate::engine::store::{ProblemFact, StateFact, Store, TypeState};
use crate::present::applied::{applied_lines, applied_summary};
use crate::present::json;
use crate::present::report::{self, Role, Row, Rows, Warming};
use crate::schema::Schema;
use crate::wire::event::{Kind, StreamId, Variant};
use crate::wire::text::{age, count, display_safe, latency, plural, type_label};

use super::args::SourceArgs;
use super::args::{Format, Global, StatusArgs};
use super::error::{CliError, Exit};
use super::io::{Io, Style};
use super::json_out::Objects;
use super::select::{self, Picked};
use super::table::{Cell, Table};
use super::{applied, offline, source, wait, words};

pub(super) fn run(args: &StatusArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let filter = select::filter(args.rows.filter.as_deref(), filter::RowKind::States, &io.zone)?;
    let source = &SourceArgs { timeout: args.wait, ..args.source.clone() };
    let in_time = synced(args, global, io)?;
    let (store, schema) = source::states(source, global, io)?;
    let beside = match &args.applied {
        Some(path) => Some(beside(path, &store, &schema, global, io)?),
        None => None,
    };
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    let mut states = store.states();
    states.retain(|state| picked.has(state.stream) && filter.state(state, &store));
    let shown: HashSet<_> = states.iter().map(|state| (state.stream, &state.type_url)).collect();
    let mut summaries = store.summaries();
    summaries.retain(|cell| shown.contains(&(cell.stream, &cell.type_url)));
    let streams: HashSet<StreamId> = picked.streams.iter().map(|stream| stream.stream).collect();
    let streams_shown = picked.streams.into_iter().map(Arc::new).collect();
    let mut matrix = Rows::build(streams_shown, summaries.into_iter().map(Arc::new).collect());
    if !filter.is_empty() {
        matrix.rows.retain(|row| row.cells.iter().any(Option::is_some));
    }
    let mut warming = report::warming(&store, &schema);
    warming.retain(|warming| shown.iter().any(|(stream, _)| *stream == warming.stream));
    let accounts: Vec<Option<AppliedDiff>> =
        states.iter().map(|state| beside.as_ref().and_then(|beside| beside.compare(state, &store))).collect();
    let down: Vec<ProblemFact> = if filter.is_empty() {
        let of_all = store.problems().into_iter();
        of_all
            .filter(|problem| problem.state == TypeState::Down && streams.contains(&problem.stream))
            .collect()
    } else {
        Vec::new()
    };
    let style = io.style(global);
    let out = &mut *io.stdout;
    if talks_of(args.format) {
        for problem in &down {
            writeln!(out, "{}", display_safe(&unreachable(problem, &store)))?;
        }
    }
    match args.format {
        Format::Json | Format::Jsonl | Format::Yaml => {
            let mut objects = match args.format {
                Format::Yaml => Objects::yaml(out, io.stdout_is_terminal),
                form => Objects::new(out, form == Format::Json),
            };
            for (state, account) in states.iter().zip(&accounts) {
                let mut object = json::state(state, &store.clock());
                if let (Some(waits), Value::Object(fields)) = (waits(state, &warming, &store), &mut object) {
                    fields.insert("warming".into(), waits);
                }
                if let (Some(account), Value::Object(fields)) = (account, &mut object) {
                    fields.insert("applied".into(), json::applied(account));
                }
                words::add_silences(&mut object, &report::silences_of(&store, &schema, state));
                objects.put(&object)?;
            }
            if args.format == Format::Json {
                for stream in store.streams().iter().filter(|stream| streams.contains(&stream.stream)) {
                    objects.put(&json::stream(stream, &store.clock()))?;
                }
            }
            objects.finish()?;
        }
        Format::Wide => {
            let accounts = beside.is_some().then_some(accounts.as_slice());
            wide((&states, accounts), (&store, &schema), style, !args.rows.no_headers, out)?;
        }
        Format::Name => {
            let names: std::collections::BTreeSet<&str> =
                matrix.rows.iter().map(|row| row.name.as_str()).collect();
            names.iter().try_for_each(|name| writeln!(out, "{}", display_safe(name)))?;
        }
        _ => write(&matrix, &store, style, !args.rows.no_headers, out)?,
    }
    if talks_of(args.format) {
        let now = (!store.clock().untimed).then(|| store.now());
        for warming in &warming {
            let node =
                warming.node.as_deref().map_or_else(|| format!("#{}", warming.stream.0), str::to_owned);
            writeln!(io.stdout, "{}", display_safe(&format!("{node}: {}", warming.text(now))))?;
        }
        for (state, account) in states.iter().zip(&accounts) {
            for (what, names) in account.iter().flat_map(applied_lines) {
                let node =
                    state.node.as_deref().map_or_else(|| format!("#{}", state.stream.0), str::to_owned);
                let label = type_label(state.type_url.as_str());
                let line = format!("{node}: {label} applied: {what}: {}", report::names(names, NAMES));
                writeln!(io.stdout, "{}", display_safe(&line))?;
            }
        }
    }
    if !(talks_of(args.format) || global.quiet) {
        io.flush()?;
        down.iter().for_each(|problem| io.say(&display_safe(&unreachable(problem, &store))));
    }
    let problems = problems(&matrix)
        + down.len() as u64
        + accounts.iter().flatten().filter(|account| account.is_problem()).count() as u64;
    let talks = matches!(args.format, Format::Table | Format::Text) && !global.quiet;
    if talks && matrix.rows.is_empty() && down.is_empty() {
        io.flush()?;
        io.say(if filter.is_empty() { "no streams in it" } else { "no state matches" });
    } else if talks && problems > 0 {
        io.flush()?;
        let again = format!("xdscope status {} -o wide", args.source.source);
        io.say(&format!("{}; {again} says who owes what", plural(problems, "problem")));
    }
    if !in_time {
        return Ok(Exit::Never);
    }
    Ok(if problems > 0 { Exit::No } else { Exit::Yes })
}

/// `--wait` on a recording: until all in it are in sync. False: they never were, which is said.
fn synced(args: &StatusArgs, global: &Global, io: &mut Io<'_>) -> Result<bool, CliError> {
    let Some(patience) = args.wait else { return Ok(true) };
    if offline::is_server(&args.source.source) {
        return if args.nodes.is_some() { Err(wait::one_node()) } else { Ok(true) };
    }
    let condition = wait::Condition::Synced;
    let met = wait::on_recording(&args.source, (&condition, "synced"), args.nodes, patience, global, io)?;
    if !met && !global.quiet {
        let nodes = args
            .nodes
            .map_or_else(|| "not all nodes were".into(), |n| format!("{} were not", plural(n, "node")));
        io.say(&format!("{nodes} in sync within {patience:?}"));
    }
    Ok(met)
}

/// Names of a line.
const NAMES: usize = 10;

/// The file of `--applied`; says which of its clients the source does not have.
fn beside(
    path: &Path,
    store: &Store,
    schema: &Arc<Schema>,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<AppliedState, CliError> {
    let beside = applied::open(path, schema)?;
    let streams = store.streams();
    let nodes: HashSet<&str> = streams.iter().filter_map(select::node).collect();
    if !global.quiet {
        for notice in applied::notices(path, &beside, &nodes) {
            io.say(&display_safe(&notice));
        }
    }
    Ok(beside)
}

/// Resources of the type that are warming up, each with what it waits for; none: the field is left out.
fn waits(state: &StateFact, warming: &[Warming], store: &Store) -> Option<Value> {
    let kind = Kind::of_type_url(state.type_url.as_str()).map(|(kind, _)| kind)?;
    let clock = store.clock();
    let of_state = warming.iter().filter(|warming| (warming.stream, warming.kind) == (state.stream, kind));
    let items: Vec<Value> = of_state
        .map(|warming| {
            let waits = warming.waits.iter().map(|waits| {
                let since = waits.since.map(|(at, _)| json::time(at, &clock));
                let asked = waits.since.map(|(_, n)| n.0);
                json!({ "type": waits.kind.word(), "name": &*waits.name, "since": since, "asked": asked })
            });
            json!({ "name": &*warming.name, "waits_for": waits.collect::<Vec<_>>(), "owes": "server" })
        })
        .collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

/// Tables have lines for people around them.
fn talks_of(output: Format) -> bool {
    matches!(output, Format::Table | Format::Text | Format::Wide)
}

/// `127.0.0.1:18000  DOWN 12s  server can't be reached, 11 attempts since 14:02:08: connect failed: …`.
fn unreachable(problem: &ProblemFact, store: &Store) -> String {
    let (word, _) = report::state_word(problem.state);
    let since = if store.clock().untimed { String::new() } else { age(store.now().since(problem.since)) };
    format!(
        "{}  {}  {}",
        problem.node.as_deref().unwrap_or("-"),
        format!("{word} {since}").trim_end(),
        report::problem(problem, &store.clock())
    )
}

/// Cells that someone must act on. A stream that has ended is judged by its last word, unless the same client
/// came back.
fn problems(matrix: &Rows) -> u64 {
    let cells = matrix.rows.iter().flat_map(|row| row.cells.iter().flatten());
    cells.filter(|cell| report::is_problem(cell.last_state.unwrap_or(cell.state))).count() as u64
}

fn write(
    matrix: &Rows,
    store: &Store,
    style: Style,
    headers: bool,
    out: &mut dyn std::io::Write,
) -> Result<(), CliError> {
    let labels: Vec<String> = matrix.types.iter().map(|url| type_label(url.as_str())).collect();
    let mut titles = vec!["NODE", "VARIANT"];
    titles.extend(labels.iter().map(String::as_str));
    let mut table = Table::new(out, style, headers && !matrix.rows.is_empty(), &titles);
    for row in &matrix.rows {
        table.row(cells(row, store, style))?;
    }
    Ok(table.finish()?)
}

fn cells(row: &Row, store: &Store, style: Style) -> Vec<Cell> {
    let role = if row.closed() || row.variant.is_none() { Role::Muted } else { Role::Plain };
    let variant = row.variant.map_or("opaque", Variant::word);
    let mut cells = vec![Cell::role(row.title(), role), Cell::role(variant, Role::Muted)];
    if row.closed() {
        cells.push(Cell::role(ended(row, store, style), Role::Muted));
    } else if row.variant.is_none() {
        cells.push(Cell::role(row.opaque(), Role::Muted));
    } else {
        cells.extend(row.cells.iter().map(|cell| match cell {
            Some(fact) => words::state_cell(fact, store.now(), store.clock().untimed, style),
            None => Cell::role("idle", Role::Muted),
        }));
    }
    cells
}

/// `closed 2m ago: UNAVAILABLE keepalive timeout; 3 reconnects; last CDS NACK×3`.
fn ended(row: &Row, store: &Store, style: Style) -> String {
    report::ended(row, (!store.clock().untimed).then(|| store.now()), style.pick("×", "x"))
}

/// The place of the column of `--applied`: after RESOURCES.
const APPLIED: usize = 10;

/// One row per stream and type, with versions, nonces and who owes what.
fn wide(
    (states, accounts): (&[StateFact], Option<&[Option<AppliedDiff>]>),
    (store, schema): (&Store, &Schema),
    style: Style,
    headers: bool,
    out: &mut dyn std::io::Write,
) -> Result<(), CliError> {
    let problems = store.problems();
    let lives: HashMap<StreamId, String> = store
        .streams()
        .iter()
        .filter_map(|stream| Some((stream.stream, report::life(stream, !store.clock().untimed)?)))
        .collect();
    let mut titles = vec![
        "NODE",
        ">STREAM",
        "VARIANT",
        "TYPE",
        "STATE",
        "IN FORCE",
        "OFFERED",
        "NONCE",
        "SUBSCRIBED",
        "RESOURCES",
        ">PUSHES",
        ">SAME",
        ">ACK P50",
        ">AGE",
        "OPEN",
    ];
    if accounts.is_some() {
        titles.insert(APPLIED, "APPLIED");
    }
    let mut table = Table::new(out, style, headers && !states.is_empty(), &titles);
    for (at, state) in states.iter().enumerate() {
        let text = |text: &Option<std::sync::Arc<str>>| Cell::new(text.as_deref().unwrap_or("-"));
        let (_, role) = report::state_word(state.state);
        let word = report::state_text(state.state, state, style.pick("×", "x"));
        let from = report::age_from(state.state, state.since, state.nacks.last().map(|nack| nack.at));
        let p50 = state.ack_ms.and_then(|(p50, _)| std::time::Duration::try_from_secs_f64(p50 / 1e3).ok());
        let of_state = problems
            .iter()
            .filter(|problem| problem.stream == state.stream && problem.type_url == state.type_url);
        let mut open: Vec<String> = of_state
            .flat_map(|problem| {
                let sentence = report::problem(problem, &store.clock());
                [Some(sentence), problem.quote().map(|quote| quote.to_string())]
            })
            .flatten()
            .collect();
        open.extend(report::silences_of(store, schema, state).iter().map(report::silence));
        open.extend(lives.get(&state.stream).cloned());
        let mut cells = vec![
            Cell::new(state.node.as_deref().unwrap_or("-")),
            Cell::new(state.stream.0.to_string()),
            Cell::role(state.variant.word(), Role::Muted),
            Cell::new(type_label(state.type_url.as_str())),
            Cell::role(word, role),
            text(&state.in_force),
            text(&state.offered),
            text(&state.nonce),
            Cell::new(report::subscribed(state)),
            Cell::new(held(state)),
            Cell::new(count(state.pushes)),
            Cell::new(same(state)),
            Cell::new(p50.map_or("-".into(), latency)),
            Cell::new(if store.clock().untimed { "-".into() } else { age(store.now().since(from)) }),
            Cell::new(if style.ascii { open.join(": ").replace('×', "x") } else { open.join(": ") }),
        ];
        if let Some(accounts) = accounts {
            let account = accounts.get(at).and_then(Option::as_ref);
            let cell = account.map_or(Cell::role("-", Role::Muted), |account| {
                Cell::role(
                    applied_summary(account),
                    if account.is_problem() { Role::Bad } else { Role::Plain },
                )
            });
            cells.insert(APPLIED, cell);
        }
        table.row(cells)?;
    }
    Ok(table.finish()?)
}

/// Share of the bytes pushed that were of resources re-sent unchanged.
fn same(state: &StateFact) -> String {
    match state.bytes {
        0 => "-".into(),
        bytes => format!("{} %", state.bytes_same.saturating_mul(100) / bytes),
    }
}

/// Resources that are there; of those asked for by name, where that can be said.
fn held(state: &StateFact) -> String {
    match state.wildcard {
        crate::engine::store::Wildcard::None if !state.names.is_empty() => {
            format!("{} of {}", count(state.resources), count(state.names.len() as u64))
        }
        _ => count(state.resources),
    }
}
