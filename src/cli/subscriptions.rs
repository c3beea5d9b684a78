//! `get --subscriptions`: requested names, and which of them were delivered.

use std::collections::HashMap;
use std::io::Write;

use crate::engine::store::{MissingAnswer, StateFact, Store};
use crate::present::json;
use crate::present::report::{self, Role};
use crate::schema::Schema;
use crate::wire::text::{count, type_label};

use super::args::{Format, GetArgs};
use super::error::CliError;
use super::io::Style;
use super::json_out::Objects;
use super::table::{Cell, Table};
use super::target::GetTarget;
use super::words;
use super::words::resource_state;

/// Writes one row per stream and type, or with WHAT one row per name.
pub(super) fn write(
    args: &GetArgs,
    (states, whats): (&[&StateFact], &[GetTarget]),
    (store, schema): (&Store, &Schema),
    style: Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    match args.format {
        Some(Format::Json | Format::Jsonl) => {
            let mut objects = Objects::new(out, args.format == Some(Format::Json));
            for state in states {
                let mut object = json::state(state, &store.clock());
                words::add_missing_answers(&mut object, &report::missing_answers_of(store, schema, state));
                objects.put(&object)?;
            }
            Ok(objects.finish()?)
        }
        None | Some(Format::Table | Format::Wide) if args.what.is_empty() => {
            types(args, states, store, style, out)
        }
        None | Some(Format::Table | Format::Wide) => {
            names(args, (states, whats), (store, schema), style, out)
        }
        Some(_) => Err(CliError::usage("--subscriptions prints -o table, wide, json or jsonl")),
    }
}

fn node(state: &StateFact) -> Cell {
    Cell::new(format!("{} #{}", state.node.as_deref().unwrap_or("-"), state.stream.0))
}

fn types(
    args: &GetArgs,
    states: &[&StateFact],
    store: &Store,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let cells = store.summaries();
    let titles = ["NODE", "TYPE", "SUBSCRIBED", ">NAMES", ">MISS", ">ABSENT"];
    let mut table = Table::new(out, style, !args.rows.no_headers, &titles);
    for state in states {
        let cell = cells.iter().find(|cell| (cell.stream, &cell.type_url) == (state.stream, &state.type_url));
        let missing = cell.map_or(0, |cell| cell.overdue);
        table.row(vec![
            node(state),
            Cell::new(type_label(state.type_url.as_str())),
            Cell::new(report::subscribed(state)),
            Cell::new(count(state.names.len() as u64)),
            Cell::role(count(missing), if missing == 0 { Role::Plain } else { Role::Warn }),
            Cell::new(count(state.absent.len() as u64)),
        ])?;
    }
    Ok(table.finish()?)
}

fn names(
    args: &GetArgs,
    (states, whats): (&[&StateFact], &[GetTarget]),
    (store, schema): (&Store, &Schema),
    style: Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let all: Vec<Vec<MissingAnswer>> =
        states.iter().map(|state| report::missing_answers_of(store, schema, state)).collect();
    // Add the column only if a row has something in it.
    let mut titles = vec!["NODE", "TYPE", "NAME", "VER", "STATE"];
    titles.extend(all.iter().any(|answers| !answers.is_empty()).then_some("PERHAPS"));
    let mut table = Table::new(out, style, !args.rows.no_headers, &titles);
    for (state, answers) in states.iter().zip(&all) {
        let resources = store.resources(state.stream, &state.type_url);
        let by_name: HashMap<&str, _> = resources.iter().map(|fact| (&*fact.name, fact)).collect();
        let asked =
            |name: &&std::sync::Arc<str>| whats.iter().any(|what| what.is_named(&state.type_url, name));
        for name in state.names.iter().filter(asked) {
            let fact = by_name.get(&**name).copied();
            let (word, role) = match fact {
                Some(fact) if fact.is_missing() => ("missing".to_owned(), Role::Warn),
                Some(fact) => resource_state(fact),
                None => ("waiting".to_owned(), Role::Pending),
            };
            let mut cells = vec![
                node(state),
                Cell::role(type_label(state.type_url.as_str()), Role::Muted),
                Cell::new(name),
                Cell::new(fact.and_then(|fact| fact.version.as_deref()).unwrap_or("-")),
                Cell::role(word, role),
            ];
            let why =
                answers.iter().find(|answer| answer.names.contains(name)).map(report::missing_answer_reason);
            if titles.len() > cells.len() {
                cells.push(Cell::role(why.map(|why| format!("{why} (?)")).unwrap_or_default(), Role::Muted));
            }
            table.row(cells)?;
        }
    }
    Ok(table.finish()?)
}
