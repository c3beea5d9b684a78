//! `get --subscriptions`: who asked for what, and what never came?

use std::collections::HashMap;
use std::io::Write;

use crate::json;
use crate::report::{self, Role};
use crate::store::{StateFact, Store};
use crate::text::{count, type_label};

use super::args::{Format, GetArgs};
use super::error::CliError;
use super::get;
use super::io::Style;
use super::json_out::Objects;
use super::table::{Cell, Table};

/// Types without WHAT: one row per stream and type. With it: one row per name.
pub(super) fn write(
    args: &GetArgs,
    states: &[&StateFact],
    store: &Store,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    match args.output {
        Some(Format::Json | Format::Jsonl) => {
            let mut objects = Objects::new(out, args.output == Some(Format::Json));
            for state in states {
                objects.put(&json::state(state, &store.clock()))?;
            }
            Ok(objects.finish()?)
        }
        None | Some(Format::Table | Format::Wide) if args.what.is_empty() => types(args, states, style, out),
        None | Some(Format::Table | Format::Wide) => names(args, states, store, style, out),
        Some(_) => Err(CliError::usage("--subscriptions prints -o table, wide, json or jsonl")),
    }
}

fn node(state: &StateFact) -> Cell {
    Cell::new(format!("{} #{}", state.node.as_deref().unwrap_or("-"), state.stream.0))
}

fn types(args: &GetArgs, states: &[&StateFact], style: Style, out: &mut dyn Write) -> Result<(), CliError> {
    let titles = ["NODE", "TYPE", "SUBSCRIBED", ">NAMES", ">MISS", ">ABSENT"];
    let mut table = Table::new(out, style, !args.rows.no_headers, &titles);
    for state in states {
        let missing = if state.missing.is_empty() { Role::Plain } else { Role::Warn };
        table.row(vec![
            node(state),
            Cell::new(type_label(state.type_url.as_str())),
            Cell::new(report::subscribed(state)),
            Cell::new(count(state.names.len() as u64)),
            Cell::role(count(state.missing.len() as u64), missing),
            Cell::new(count(state.absent.len() as u64)),
        ])?;
    }
    Ok(table.finish()?)
}

fn names(
    args: &GetArgs,
    states: &[&StateFact],
    store: &Store,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let mut table = Table::new(out, style, !args.rows.no_headers, &["NODE", "TYPE", "NAME", "VER", "STATE"]);
    for state in states {
        let resources = store.resources(state.stream, &state.type_url);
        let by_name: HashMap<&str, _> = resources.iter().map(|fact| (&*fact.name, fact)).collect();
        for name in &state.names {
            let fact = by_name.get(&**name).copied();
            let (word, role) = match fact {
                _ if state.missing.contains(name) => ("missing".to_owned(), Role::Warn),
                Some(fact) => get::word(fact),
                None => ("waiting".to_owned(), Role::Pending),
            };
            table.row(vec![
                node(state),
                Cell::role(type_label(state.type_url.as_str()), Role::Muted),
                Cell::new(name),
                Cell::new(fact.and_then(|fact| fact.version.as_deref()).unwrap_or("-")),
                Cell::role(word, role),
            ])?;
        }
    }
    Ok(table.finish()?)
}
