//! `get --subscriptions`: requested names, and which of them were delivered.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use xdscope_engine::store::{
    ClaimFact, ClaimOutcome, MissingAnswer, ResourceFact, ResourceState, StateFact, Store,
};
use xdscope_engine::structured::StructuredNames;
use xdscope_present::json;
use xdscope_present::report::{self, Role};
use xdscope_present::structured;
use xdscope_schema::Schema;
use xdscope_wire::text::{count, shown_name, type_label};

use crate::cli::args::{Format, GetArgs};
use crate::cli::error::CliError;
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::table::{Cell, Table};
use crate::cli::output::words::resource_state;
use crate::cli::source::target::GetTarget;
use crate::cli::terminal::io::Style;

/// The subscriptions that `get --subscriptions` prints.
pub(crate) struct SubscriptionRows<'a> {
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
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<(), CliError> {
        match self.args.format {
            Some(format @ (Format::Json | Format::Jsonl | Format::Columns(_))) => self.objects(format, out),
            None | Some(Format::Table | Format::Wide) if self.args.what.is_empty() => self.types(out),
            None | Some(Format::Table | Format::Wide) => self.names(out),
            Some(_) => Err(CliError::usage("--subscriptions prints -o table, wide, json or jsonl")),
        }
    }

    fn objects(&self, format: Format, out: &mut dyn Write) -> Result<(), CliError> {
        let (style, headers) = (self.style, !self.args.rows.no_headers);
        let mut objects = Objects::new(out, format, ObjectLooks { style, headers, terminal: false });
        for state in self.states {
            let mut object = json::state(state, &self.store.clock());
            let answers = report::missing_answers_of(self.store, self.schema, state);
            json::add_missing_answers(&mut object, &answers);
            self.add_globs(state, &mut object);
            self.add_redirects(state, &mut object);
            json::add_claims(&mut object, &self.store.claims(state.stream, &state.type_url));
            objects.put(&object)?;
        }
        Ok(objects.finish()?)
    }

    /// Adds the subscribed globs of a type to its object.
    fn add_globs(&self, state: &StateFact, object: &mut Value) {
        let globs = self.store.globs(state.stream, &state.type_url);
        let (globs, members) = (globs.facts(), globs.members());
        if let (Value::Object(fields), false) = (object, globs.is_empty()) {
            fields.insert("globs".into(), json::globs(&globs, &members));
        }
    }

    /// Adds the redirected names of a type to its object.
    fn add_redirects(&self, state: &StateFact, object: &mut Value) {
        let names = StructuredNames::new(self.store, self.schema, Vec::new());
        let resources = self.store.resources(state.stream, &state.type_url);
        let redirected = resources.iter().filter(|fact| fact.state == ResourceState::Redirected);
        let redirects: Vec<Value> =
            redirected.map(|fact| json!({ "name": &*fact.name, "targets": names.redirects(fact) })).collect();
        if let (Value::Object(fields), false) = (object, redirects.is_empty()) {
            fields.insert("redirects".into(), redirects.into());
        }
    }

    /// Writes one row per stream and type.
    fn types(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let cells = self.store.summaries();
        let claims = self.states.iter().map(|state| self.store.reconnect(state.stream, &state.type_url));
        let claims: Vec<_> = claims.collect();
        // Add the column only if a row has something in it.
        let has_claims = claims.iter().any(Option::is_some);
        let redirected: Vec<usize> = self.states.iter().map(|state| self.redirected(state)).collect();
        let has_redirects = redirected.iter().any(|number| *number > 0);
        let mut titles = vec!["NODE", "TYPE", "SUBSCRIBED", ">NAMES", ">MISS", ">ABSENT"];
        titles.extend(has_redirects.then_some(">REDIRECTED"));
        titles.extend(has_claims.then_some("RECONNECT"));
        let mut table = Table::new(out, self.style, !self.args.rows.no_headers, &titles);
        for ((state, claims), redirected) in self.states.iter().zip(claims).zip(redirected) {
            let cell =
                cells.iter().find(|cell| (cell.stream, &cell.type_url) == (state.stream, &state.type_url));
            let missing = cell.map_or(0, |cell| cell.overdue);
            let mut cells = vec![
                node(state),
                Cell::new(type_label(state.type_url.as_str())),
                Cell::new(report::subscribed(state)),
                Cell::new(count(state.names.len() as u64)),
                Cell::role(count(missing), if missing == 0 { Role::Plain } else { Role::Warn }),
                Cell::new(count(state.absent.len() as u64)),
            ];
            cells.extend(has_redirects.then(|| Cell::new(count(redirected as u64))));
            cells.extend(
                has_claims.then(|| Cell::new(claims.as_ref().map(report::reconnect).unwrap_or_default())),
            );
            table.row(cells)?;
        }
        Ok(table.finish()?)
    }

    /// Returns the number of requested names in whose place the server named another resource.
    fn redirected(&self, state: &StateFact) -> usize {
        let resources = self.store.resources(state.stream, &state.type_url);
        resources.iter().filter(|fact| fact.state == ResourceState::Redirected).count()
    }

    /// Returns how many members the globs and lists of a type have.
    fn members(
        &self,
        names: &StructuredNames<'_>,
        state: &StateFact,
        facts: &[ResourceFact],
    ) -> HashMap<Arc<str>, String> {
        let globs = self.store.globs(state.stream, &state.type_url).facts();
        let members =
            |fact: &ResourceFact| Some((fact.name.clone(), structured::members(&names.members(fact)?)));
        facts.iter().chain(&globs).filter_map(members).collect()
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
        let claims: Vec<Vec<ClaimFact>> =
            self.states.iter().map(|state| self.store.claims(state.stream, &state.type_url)).collect();
        let has_claims = claims.iter().any(|claims| !claims.is_empty());
        let mut titles = vec!["NODE", "TYPE", "NAME", "VER", "STATE"];
        let names = StructuredNames::new(self.store, self.schema, Vec::new());
        let members: Vec<HashMap<Arc<str>, String>> =
            self.states.iter().zip(&facts).map(|(state, facts)| self.members(&names, state, facts)).collect();
        let has_members = members.iter().any(|of_state| !of_state.is_empty());
        let redirects: Vec<HashMap<Arc<str>, String>> =
            facts.iter().map(|facts| redirects(&names, facts)).collect();
        let has_redirects = redirects.iter().any(|of_state| !of_state.is_empty());
        titles.extend(has_redirects.then_some("REDIRECTS TO"));
        titles.extend(has_aliases.then_some("ALIAS OF"));
        titles.extend(has_members.then_some("MEMBERS"));
        titles.extend(has_causes.then_some("PERHAPS"));
        titles.extend(has_claims.then_some(["CLAIMED", "KNOWN", "OUTCOME"]).into_iter().flatten());
        let mut table = Table::new(out, self.style, !self.args.rows.no_headers, &titles);
        let rows = self.states.iter().zip(&all).zip(&facts).zip(&claims).zip(&members).zip(&redirects);
        for (((((state, answers), resources), claims), members), redirects) in rows {
            let aliases = resources.iter().flat_map(|fact| fact.aliases.iter().map(move |name| (name, fact)));
            let by_alias: HashMap<&Arc<str>, _> = aliases.collect();
            let globs = self.store.globs(state.stream, &state.type_url).facts();
            let by_name: HashMap<&str, _> =
                resources.iter().chain(&globs).map(|fact| (&*fact.name, fact)).collect();
            let is_wanted =
                |name: &&Arc<str>| self.targets.iter().any(|what| what.is_named(&state.type_url, name));
            let left = claims.iter().filter(|claim| claim.outcome == ClaimOutcome::LeftBehind);
            let left: HashSet<&Arc<str>> = left.map(|claim| &claim.name).collect();
            let requested: HashSet<&Arc<str>> = state.names.iter().collect();
            let names = state.names.iter().filter(|name| !left.contains(name));
            // Resources of the wildcard that the server owes (docs/protocol.md#f-14).
            let owed = state.missing.iter().chain(&state.owed_again);
            let owed = owed.filter(|name| !requested.contains(name) && !left.contains(name));
            let unsubscribed = claims.iter().map(|claim| &claim.name).filter(|name| left.contains(name));
            // Names whose unsubscription the server has yet to answer (docs/protocol.md#f-26).
            let unclassified = resources.iter().filter(|fact| fact.unclassified.is_some());
            let unclassified = unclassified.map(|fact| &fact.name);
            for name in names.chain(owed).chain(unsubscribed).chain(unclassified).filter(is_wanted) {
                let fact = by_name.get(&**name).or_else(|| by_alias.get(name)).copied();
                let mut cells = name_cells(state, name, fact);
                if left.contains(name) {
                    cells[STATE_COLUMN] = Cell::role("not subscribed", Role::Muted);
                }
                if has_redirects {
                    let target = fact.and_then(|fact| redirects.get(&fact.name)).cloned();
                    cells.push(Cell::new(target.unwrap_or_default()));
                }
                if has_aliases {
                    let other = fact.filter(|fact| fact.name != *name);
                    cells.push(Cell::new(other.map_or("", |fact| shown_name(&fact.name))));
                }
                if has_members {
                    cells.push(Cell::new(members.get(name).cloned().unwrap_or_default()));
                }
                if has_causes {
                    let answer = answers.iter().find(|answer| answer.names.contains(name));
                    let cause =
                        answer.map(|answer| format!("{} (guess)", report::missing_answer_reason(answer)));
                    cells.push(Cell::role(cause.unwrap_or_default(), Role::Muted));
                }
                if has_claims {
                    let claim = claims.binary_search_by(|claim| claim.name.cmp(name)).ok();
                    cells.extend(claim_cells(claim.and_then(|at| claims.get(at))));
                }
                table.row(cells)?;
            }
        }
        Ok(table.finish()?)
    }
}

/// Returns the targets of the redirects among the resources of a type, by name.
fn redirects(names: &StructuredNames<'_>, facts: &[ResourceFact]) -> HashMap<Arc<str>, String> {
    let redirected = facts.iter().filter(|fact| fact.state == ResourceState::Redirected);
    let targets = redirected.map(|fact| (fact.name.clone(), structured::redirects(&names.redirects(fact))));
    targets.filter_map(|(name, targets)| Some((name, targets?))).collect()
}

/// Formats an entry of `initial_resource_versions`: stated version, last known version, outcome.
fn claim_cells(claim: Option<&ClaimFact>) -> [Cell; 3] {
    let Some(claim) = claim else { return ["", "", ""].map(Cell::new) };
    let known = claim.known.as_deref().map_or("-", shown_name);
    let role = if claim.outcome == ClaimOutcome::LeftBehind { Role::Warn } else { Role::Plain };
    [
        Cell::new(shown_name(&claim.version)),
        Cell::new(known),
        Cell::role(report::claim_outcome(claim.outcome), role),
    ]
}

fn node(state: &StateFact) -> Cell {
    Cell::new(format!("{} #{}", state.node.as_deref().unwrap_or("-"), state.stream.0))
}

/// The index of the state in [`name_cells`].
const STATE_COLUMN: usize = 4;

/// Formats a requested name and the resource of that name, if any.
fn name_cells(state: &StateFact, name: &str, fact: Option<&ResourceFact>) -> Vec<Cell> {
    let (word, role) = match fact {
        Some(fact) => resource_state(fact),
        None => ("waiting".to_owned(), Role::Pending),
    };
    vec![
        node(state),
        Cell::role(type_label(state.type_url.as_str()), Role::Muted),
        Cell::new(shown_name(name)),
        Cell::new(
            fact.and_then(|fact| fact.standing())
                .map(|text| &**text)
                .filter(|text| !text.is_empty())
                .unwrap_or("-"),
        ),
        Cell::role(word, role),
    ]
}
