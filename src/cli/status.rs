//! `status`: is everyone in sync, and if not, who and what?

use std::collections::{HashMap, HashSet};

use crate::event::{StreamId, TypeUrl, Variant};
use crate::filter::Rows;
use crate::json;
use crate::store::{StateFact, Store, StreamFact, TypeState};
use crate::text::{age, count, latency, plural, type_label};

use super::args::{At, Format, Global, StatusArgs};
use super::error::{CliError, Exit};
use super::io::{Io, Role, Style};
use super::json_out::Objects;
use super::select::{self, Picked};
use super::source::{self, Limit};
use super::table::{Cell, Table};
use super::words;

pub(super) fn run(args: &StatusArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let filter = select::filter(args.rows.filter.as_deref(), Rows::States, &io.zone)?;
    let source = source::open(&args.source, global, io)?;
    let limit = Limit::of(&At::End, &source.loaded, &io.zone)?;
    let (store, _) = source::replay(source, &args.source.timers, &limit);
    let picked = Picked::of(args.rows.stream.as_ref(), &store)?;
    let mut states = store.states();
    states.retain(|state| picked.has(state.stream) && filter.state(state, &store));
    let matrix = Matrix::build(picked.streams, &states, !filter.is_empty());
    let style = io.style(global);
    let out = &mut *io.stdout;
    match args.output {
        Format::Json | Format::Jsonl => {
            let mut objects = Objects::new(out, args.output == Format::Json);
            for state in &states {
                objects.put(&json::state(state, &store.clock()))?;
            }
            if args.output == Format::Json {
                for stream in store.streams().iter().filter(|stream| matrix.streams.contains(&stream.stream))
                {
                    objects.put(&json::stream(stream, &store.clock()))?;
                }
            }
            objects.finish()?;
        }
        Format::Wide => wide(&states, &store, style, !args.rows.no_headers, out)?,
        _ => matrix.write(&store, style, !args.rows.no_headers, out)?,
    }
    let problems = matrix.problems();
    let talks = matches!(args.output, Format::Table) && !global.quiet;
    if talks && matrix.rows.is_empty() {
        io.flush()?;
        io.say(if filter.is_empty() { "no streams in it" } else { "no state matches" });
    } else if talks && problems > 0 {
        io.flush()?;
        let again = format!("xdscope status {} -o wide", args.source.source);
        io.say(&format!("{}; {again} says who owes what", plural(problems, "problem")));
    }
    Ok(if problems > 0 { Exit::No } else { Exit::Yes })
}

/// Nodes by types, worst first.
struct Matrix<'a> {
    types: Vec<TypeUrl>,
    rows: Vec<Row<'a>>,
    /// All streams that are told about, earlier ones of reconnected clients too.
    streams: HashSet<StreamId>,
}

/// One node, or one stream of a node that has not said its name.
struct Row<'a> {
    /// The first stream of the row.
    key: StreamId,
    name: String,
    variant: Option<Variant>,
    /// The newest ones: those open, or if none is, all.
    streams: Vec<StreamFact>,
    reconnects: usize,
    /// One per type.
    cells: Vec<Option<&'a StateFact>>,
}

impl<'a> Matrix<'a> {
    fn build(streams: Vec<StreamFact>, states: &'a [StateFact], filtered: bool) -> Matrix<'a> {
        let mut types: Vec<TypeUrl> = states.iter().map(|state| state.type_url.clone()).collect();
        types.sort_by_cached_key(words::type_order);
        types.dedup();
        let ids = streams.iter().map(|stream| stream.stream).collect();
        let mut rows = rows(streams);
        fill(&mut rows, &types, states);
        if filtered {
            rows.retain(|row| row.cells.iter().any(Option::is_some));
        }
        rows.sort_by_key(|row| (words::severity(row.worst()), row.key));
        Matrix { types, rows, streams: ids }
    }

    /// Cells that someone must act on. A stream that has ended is judged by its last word, unless the same
    /// client came back.
    fn problems(&self) -> u64 {
        let cells = self.rows.iter().flat_map(|row| row.cells.iter().flatten());
        cells.filter(|cell| words::is_problem(cell.last_state.unwrap_or(cell.state))).count() as u64
    }

    fn write(
        &self,
        store: &Store,
        style: Style,
        headers: bool,
        out: &mut dyn std::io::Write,
    ) -> Result<(), CliError> {
        let labels: Vec<String> = self.types.iter().map(|url| type_label(url.as_str())).collect();
        let mut titles = vec!["NODE", "VARIANT"];
        titles.extend(labels.iter().map(String::as_str));
        let mut table = Table::new(out, style, headers && !self.rows.is_empty(), &titles);
        for row in &self.rows {
            table.row(row.cells(store, style))?;
        }
        Ok(table.finish()?)
    }
}

impl Row<'_> {
    fn closed(&self) -> bool {
        self.streams.iter().all(|stream| stream.closed.is_some())
    }

    fn worst(&self) -> TypeState {
        if self.closed() {
            return TypeState::Closed;
        }
        let states = self.cells.iter().flatten().map(|cell| cell.state);
        states.min_by_key(|state| words::severity(*state)).unwrap_or(TypeState::Idle)
    }

    fn cells(&self, store: &Store, style: Style) -> Vec<Cell> {
        let name = match self.streams.len() {
            0 | 1 => self.name.clone(),
            n => format!("{} ({n})", self.name),
        };
        let role = if self.closed() || self.variant.is_none() { Role::Muted } else { Role::Plain };
        let variant = self.variant.map_or("opaque", Variant::word);
        let mut cells = vec![Cell::role(name, role), Cell::role(variant, Role::Muted)];
        if self.closed() {
            cells.push(Cell::role(self.ended(store, style), Role::Muted));
        } else if self.variant.is_none() {
            let messages = self.streams.iter().map(|stream| stream.messages).sum();
            cells.push(Cell::role(format!("not xDS, {}", plural(messages, "message")), Role::Muted));
        } else {
            cells.extend(self.cells.iter().map(|cell| match cell {
                Some(fact) => words::state_cell(fact, store.now(), store.clock().untimed, style),
                None => Cell::role("idle", Role::Muted),
            }));
        }
        cells
    }

    /// `closed 2m ago: UNAVAILABLE keepalive timeout; 3 reconnects; last CDS NACK×3`.
    fn ended(&self, store: &Store, style: Style) -> String {
        let last = self.streams.last();
        let mut text = "closed".to_owned();
        if let Some(at) = last.and_then(|stream| stream.closed).filter(|_| !store.clock().untimed) {
            text.push_str(&format!(" {} ago", age(store.now().since(at))));
        }
        let why = last.and_then(|stream| stream.end.as_ref()).map(words::end).unwrap_or_default();
        if !why.is_empty() {
            text.push_str(&format!(": {why}"));
        }
        if self.reconnects > 0 {
            text.push_str(&format!("; {}", plural(self.reconnects as u64, "reconnect")));
        }
        for cell in self.cells.iter().flatten() {
            if let Some(state) = cell.last_state.filter(|state| words::is_problem(*state)) {
                let label = type_label(cell.type_url.as_str());
                text.push_str(&format!("; last {label} {}", words::state_text(cell, state, style)));
            }
        }
        text
    }
}

/// Streams to rows: a reconnect continues its row, the per-type streams of one node share one.
fn rows<'a>(streams: Vec<StreamFact>) -> Vec<Row<'a>> {
    let before: HashMap<StreamId, StreamId> =
        streams.iter().filter_map(|stream| Some((stream.stream, stream.reconnect_of?))).collect();
    let superseded: HashSet<StreamId> = before.values().copied().collect();
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut shared: HashMap<(String, Variant), usize> = HashMap::new();
    for stream in streams.into_iter().filter(|stream| !superseded.contains(&stream.stream)) {
        let (mut key, mut reconnects) = (stream.stream, 0);
        // Each step goes to an earlier stream, so this ends.
        while let Some(earlier) = before.get(&key).filter(|earlier| **earlier < key) {
            (key, reconnects) = (*earlier, reconnects + 1);
        }
        let name = select::node_name(&stream);
        let variant = stream.variant;
        if let (Some(variant), true) = (variant.filter(|v| !v.is_aggregated()), stream.node.is_some()) {
            if let Some(row) = shared.get(&(name.clone(), variant)).and_then(|i| rows.get_mut(*i)) {
                row.reconnects += reconnects;
                row.streams.push(stream);
                continue;
            }
            shared.insert((name.clone(), variant), rows.len());
        }
        rows.push(Row { key, name, variant, streams: vec![stream], reconnects, cells: Vec::new() });
    }
    for row in &mut rows {
        row.streams.sort_by_key(|stream| stream.stream);
        if row.streams.iter().any(|stream| stream.closed.is_none()) {
            row.streams.retain(|stream| stream.closed.is_none());
        }
    }
    rows
}

/// Puts each state into its cell; of several streams of one node the worst stands there.
fn fill<'a>(rows: &mut [Row<'a>], types: &[TypeUrl], states: &'a [StateFact]) {
    let mut row_of: HashMap<StreamId, usize> = HashMap::new();
    for (i, row) in rows.iter_mut().enumerate() {
        row.cells = vec![None; types.len()];
        row_of.extend(row.streams.iter().map(|stream| (stream.stream, i)));
    }
    let column_of: HashMap<&TypeUrl, usize> = types.iter().enumerate().map(|(i, url)| (url, i)).collect();
    for state in states {
        let row = row_of.get(&state.stream).and_then(|i| rows.get_mut(*i));
        let (Some(row), Some(column)) = (row, column_of.get(&state.type_url)) else { continue };
        let Some(cell) = row.cells.get_mut(*column) else { continue };
        if cell.is_none_or(|known| words::severity(state.state) < words::severity(known.state)) {
            *cell = Some(state);
        }
    }
}

/// One row per stream and type, with versions, nonces and who owes what.
fn wide(
    states: &[StateFact],
    store: &Store,
    style: Style,
    headers: bool,
    out: &mut dyn std::io::Write,
) -> Result<(), CliError> {
    let problems = store.problems();
    let titles = [
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
        ">ACK P50",
        ">AGE",
        "OPEN",
    ];
    let mut table = Table::new(out, style, headers && !states.is_empty(), &titles);
    for state in states {
        let text = |text: &Option<std::sync::Arc<str>>| Cell::new(text.as_deref().unwrap_or("-"));
        let (_, role) = words::state_word(state.state);
        let p50 = state.ack_ms.and_then(|(p50, _)| std::time::Duration::try_from_secs_f64(p50 / 1e3).ok());
        let open: Vec<&str> = problems
            .iter()
            .filter(|problem| problem.stream == state.stream && problem.type_url == state.type_url)
            .flat_map(|problem| [Some(problem.text.as_str()), problem.quote.as_deref()])
            .flatten()
            .collect();
        table.row(vec![
            Cell::new(state.node.as_deref().unwrap_or("-")),
            Cell::new(state.stream.0.to_string()),
            Cell::role(state.variant.word(), Role::Muted),
            Cell::new(type_label(state.type_url.as_str())),
            Cell::role(words::state_text(state, state.state, style), role),
            text(&state.in_force),
            text(&state.offered),
            text(&state.nonce),
            Cell::new(words::subscribed(state)),
            Cell::new(held(state)),
            Cell::new(count(state.pushes)),
            Cell::new(p50.map_or("-".into(), latency)),
            Cell::new(if store.clock().untimed { "-".into() } else { age(store.now().since(state.since)) }),
            Cell::new(if style.ascii { open.join(": ").replace('×', "x") } else { open.join(": ") }),
        ])?;
    }
    Ok(table.finish()?)
}

/// Resources that are there; of those asked for by name, where that can be said.
fn held(state: &StateFact) -> String {
    match state.wildcard {
        crate::store::Wildcard::None if !state.names.is_empty() => {
            format!("{} of {}", count(state.resources), count(state.names.len() as u64))
        }
        _ => count(state.resources),
    }
}
