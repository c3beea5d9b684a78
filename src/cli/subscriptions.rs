//! `get --subscriptions`: requested names, and which of them were delivered.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::store::{MissingAnswer, ResourceFact, StateFact, Store};
use crate::present::json;
use crate::present::report::{self, Role};
use crate::present::structured;
use crate::schema::Schema;
use crate::wire::text::{count, shown_name, type_label};

use super::args::{Format, GetArgs};
use super::error::CliError;
use super::io::Style;
use super::json_out::Objects;
use super::table::{Cell, Table};
use super::target::GetTarget;
use super::words;
use super::words::resource_state;

/// The subscriptions that `get --subscriptions` prints.
pub(super) struct SubscriptionRows<'a> {
    pub args: &'a GetArgs,
    pub states: &'a [&'a StateFact],
    /// The parsed WHAT; empty: all.
    pub targets: &'a [GetTarget],
    pub store: &'a Store,
    pub schema: &'a Schema,
    pub style: Style,
}

impl SubscriptionRows<'_> {
    /// Writes one row per stream and type, or with WHAT one row per name.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), CliError> {
        match self.args.format {
            Some(Format::Json | Format::Jsonl) => self.objects(out),
            None | Some(Format::Table | Format::Wide) if self.args.what.is_empty() => self.types(out),
            None | Some(Format::Table | Format::Wide) => self.names(out),
            Some(_) => Err(CliError::usage("--subscriptions prints -o table, wide, json or jsonl")),
        }
    }

    fn objects(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let mut objects = Objects::new(out, self.args.format == Some(Format::Json));
        for state in self.states {
            let mut object = json::state(state, &self.store.clock());
            let answers = report::missing_answers_of(self.store, self.schema, state);
            words::add_missing_answers(&mut object, &answers);
            self.add_globs(state, &mut object);
            objects.put(&object)?;
        }
        Ok(objects.finish()?)
    }

    /// Adds the subscribed globs of a type to its object.
    fn add_globs(&self, state: &StateFact, object: &mut Value) {
        let globs = self.store.globs(state.stream, &state.type_url);
        let members = self.store.glob_members(state.stream, &state.type_url);
        if let (Value::Object(fields), false) = (object, globs.is_empty()) {
            fields.insert("globs".into(), json::globs(&globs, &members));
        }
    }

    /// Writes one row per stream and type.
    fn types(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let cells = self.store.summaries();
        let titles = ["NODE", "TYPE", "SUBSCRIBED", ">NAMES", ">MISS", ">ABSENT"];
        let mut table = Table::new(out, self.style, !self.args.rows.no_headers, &titles);
        for state in self.states {
            let cell =
                cells.iter().find(|cell| (cell.stream, &cell.type_url) == (state.stream, &state.type_url));
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

    /// Writes one row per name of WHAT.
    fn names(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let all: Vec<Vec<MissingAnswer>> = self
            .states
            .iter()
            .map(|state| report::missing_answers_of(self.store, self.schema, state))
            .collect();
        // Add the column only if a row has something in it.
        let has_causes = all.iter().any(|answers| !answers.is_empty());
        let facts: Vec<Vec<ResourceFact>> =
            self.states.iter().map(|state| self.store.resources(state.stream, &state.type_url)).collect();
        let has_aliases = facts.iter().flatten().any(|fact| !fact.aliases.is_empty());
        let mut titles = vec!["NODE", "TYPE", "NAME", "VER", "STATE"];
        let has_globs = |state: &&StateFact| !self.store.globs(state.stream, &state.type_url).is_empty();
        let has_globs = self.states.iter().copied().any(|state| has_globs(&state));
        titles.extend(has_aliases.then_some("ALIAS OF"));
        titles.extend(has_globs.then_some("MEMBERS"));
        titles.extend(has_causes.then_some("PERHAPS"));
        let mut table = Table::new(out, self.style, !self.args.rows.no_headers, &titles);
        for ((state, answers), resources) in self.states.iter().zip(&all).zip(&facts) {
            let aliases = resources.iter().flat_map(|fact| fact.aliases.iter().map(move |name| (name, fact)));
            let by_alias: HashMap<&Arc<str>, _> = aliases.collect();
            let globs = self.store.globs(state.stream, &state.type_url);
            let members = self.store.glob_members(state.stream, &state.type_url);
            let by_name: HashMap<&str, _> =
                resources.iter().chain(&globs).map(|fact| (&*fact.name, fact)).collect();
            let is_wanted =
                |name: &&Arc<str>| self.targets.iter().any(|what| what.is_named(&state.type_url, name));
            for name in state.names.iter().filter(is_wanted) {
                let fact = by_name.get(&**name).or_else(|| by_alias.get(name)).copied();
                let mut cells = name_cells(state, name, fact);
                if has_aliases {
                    let other = fact.filter(|fact| fact.name != *name);
                    cells.push(Cell::new(other.map_or("", |fact| shown_name(&fact.name))));
                }
                if has_globs {
                    let members = members.get(name).copied().map(structured::glob_members);
                    cells.push(Cell::new(members.unwrap_or_default()));
                }
                if has_causes {
                    let answer = answers.iter().find(|answer| answer.names.contains(name));
                    let cause = answer.map(|answer| format!("{} (?)", report::missing_answer_reason(answer)));
                    cells.push(Cell::role(cause.unwrap_or_default(), Role::Muted));
                }
                table.row(cells)?;
            }
        }
        Ok(table.finish()?)
    }
}

fn node(state: &StateFact) -> Cell {
    Cell::new(format!("{} #{}", state.node.as_deref().unwrap_or("-"), state.stream.0))
}

/// Formats a requested name and the resource of that name, if any.
fn name_cells(state: &StateFact, name: &str, fact: Option<&ResourceFact>) -> Vec<Cell> {
    let (word, role) = match fact {
        Some(fact) if fact.is_missing() => ("missing".to_owned(), Role::Warn),
        Some(fact) => resource_state(fact),
        None => ("waiting".to_owned(), Role::Pending),
    };
    vec![
        node(state),
        Cell::role(type_label(state.type_url.as_str()), Role::Muted),
        Cell::new(shown_name(name)),
        Cell::new(fact.and_then(|fact| fact.version.as_deref()).unwrap_or("-")),
        Cell::role(word, role),
    ]
}
