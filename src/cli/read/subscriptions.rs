//! `get --subscriptions`: requested names, and which of them were delivered.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use xdscope_engine::store::{ClaimFact, ClaimOutcome, ResourceFact, ResourceState, StateFact, Store};
use xdscope_engine::structured::StructuredNames;
use xdscope_present::json;
use xdscope_present::report::{self, Role};
use xdscope_present::structured;
use xdscope_present::table::{Cell, Columns, TableLooks};
use xdscope_schema::Schema;
use xdscope_wire::text::{count, shown_name, type_label};

use crate::cli::args::{Format, GetArgs};
use crate::cli::error::CliError;
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::words::resource_state;
use crate::cli::source::target::GetTarget;

/// The subscriptions that `get --subscriptions` prints.
pub(crate) struct SubscriptionRows<'a> {
    pub args: &'a GetArgs,
    pub states: &'a [&'a StateFact],
    /// The parsed WHAT; empty: all.
    pub targets: &'a [GetTarget],
    pub store: &'a Store,
    pub schema: &'a Schema,
}

impl SubscriptionRows<'_> {
    /// Writes one row per stream and type, or with WHAT one row per name.
    pub(crate) fn write(&self, looks: ObjectLooks, out: &mut dyn Write) -> Result<(), CliError> {
        match self.args.format {
            Some(format @ (Format::Json | Format::Jsonl | Format::Columns(_))) => {
                self.objects(Objects::new(out, format, looks))
            }
            None | Some(Format::Table | Format::Wide | Format::Md) if self.args.what.is_empty() => {
                self.types(looks.table, out)
            }
            None | Some(Format::Table | Format::Wide | Format::Md) => self.names(looks.table, out),
            Some(_) => Err(CliError::usage("--subscriptions prints -o table, wide, json or jsonl")),
        }
    }

    fn objects(&self, mut objects: Objects<'_>) -> Result<(), CliError> {
        for state in self.states {
            let mut object = json::state(state, &self.store.clock());
            let answers = report::missing_answers_of(self.store, self.schema, state);
            json::add_missing_answers(&mut object, &answers);
            self.add_globs(state, &mut object);
            self.add_redirects(state, &mut object);
            json::add_claims(&mut object, &self.store.claims(state.summary.stream, &state.summary.type_url));
            objects.put(&object)?;
        }
        Ok(objects.finish()?)
    }

    /// Adds the subscribed globs of a type to its object.
    fn add_globs(&self, state: &StateFact, object: &mut Value) {
        let globs = self.store.globs(state.summary.stream, &state.summary.type_url);
        let (globs, members) = (globs.facts(), globs.members());
        if let (Value::Object(fields), false) = (object, globs.is_empty()) {
            fields.insert("globs".into(), json::globs(&globs, &members));
        }
    }

    /// Adds the redirected names of a type to its object.
    fn add_redirects(&self, state: &StateFact, object: &mut Value) {
        let names = StructuredNames::new(self.store, self.schema, Vec::new());
        let resources = self.store.resources(state.summary.stream, &state.summary.type_url);
        let redirected = resources.iter().filter(|fact| fact.state == ResourceState::Redirected);
        let redirects: Vec<Value> =
            redirected.map(|fact| json!({ "name": &*fact.name, "targets": names.redirects(fact) })).collect();
        if let (Value::Object(fields), false) = (object, redirects.is_empty()) {
            fields.insert("redirects".into(), redirects.into());
        }
    }

    /// Writes one row per stream and type.
    fn types(&self, looks: TableLooks, out: &mut dyn Write) -> Result<(), CliError> {
        let summaries = self.store.summaries();
        let missing = |state: &&StateFact| {
            let key = (state.summary.stream, &state.summary.type_url);
            match summaries.iter().find(|summary| (summary.stream, &summary.type_url) == key) {
                Some(summary) if summary.overdue > 0 => Cell::role(count(summary.overdue), Role::Warn),
                _ => Cell::new("0"),
            }
        };
        let reconnect = |state: &&StateFact| {
            let claims = self.store.reconnect(state.summary.stream, &state.summary.type_url);
            claims.as_ref().map(report::reconnect).unwrap_or_default()
        };
        let mut columns = Columns::new()
            .text("NODE", |state: &&StateFact| node(state))
            .text("TYPE", |state| type_label(state.summary.type_url.as_str()))
            .text("SUBSCRIBED", |state| report::subscribed(state))
            .number("NAMES", |state| count(state.subscription.names.len() as u64))
            .number("MISS", missing)
            .number("ABSENT", |state| count(state.subscription.absent.len() as u64));
        if self.states.iter().any(|state| self.redirected(state) > 0) {
            let redirected = |state: &&StateFact| count(self.redirected(state) as u64);
            columns = columns.number("REDIRECTED", redirected);
        }
        columns = columns.optional_text("RECONNECT", reconnect);
        Ok(columns.write_with_titles(self.states, looks, out)?)
    }

    /// Returns the number of requested names in whose place the server named another resource.
    fn redirected(&self, state: &StateFact) -> usize {
        let resources = self.store.resources(state.summary.stream, &state.summary.type_url);
        resources.iter().filter(|fact| fact.state == ResourceState::Redirected).count()
    }

    /// Writes one row per name of WHAT.
    fn names(&self, looks: TableLooks, out: &mut dyn Write) -> Result<(), CliError> {
        let mut rows = Vec::new();
        for state in self.states {
            self.add_names(state, &mut rows);
        }
        let claim = |text: fn(&ClaimFact) -> Cell| {
            move |row: &NameRow<'_>| row.claim.as_ref().map_or(Cell::new(""), text)
        };
        let outcome = |claim: &ClaimFact| {
            let role = if is_left_behind(claim) { Role::Warn } else { Role::Plain };
            Cell::role(report::claim_outcome(claim.outcome), role)
        };
        let columns = Columns::new()
            .text("NODE", |row: &NameRow<'_>| node(row.state))
            .text("TYPE", |row| type_label(row.state.summary.type_url.as_str()))
            .role(Role::Muted)
            .text("NAME", |row| shown_name(&row.name).to_owned())
            .text("VER", |row| row.version().to_owned())
            .text("STATE", NameRow::state)
            .optional_text("REDIRECTS TO", |row| row.target.clone())
            .optional_text("ALIAS OF", |row| row.alias_of().to_owned())
            .optional_text("MEMBERS", |row| row.members.clone())
            .optional_text("PERHAPS", |row| row.cause.clone())
            .role(Role::Muted)
            .optional_text("CLAIMED", claim(|claim| Cell::new(shown_name(&claim.version))))
            .optional_text("KNOWN", claim(|claim| Cell::new(claim.known.as_deref().map_or("-", shown_name))))
            .optional_text("OUTCOME", claim(outcome));
        Ok(columns.write_with_titles(&rows, looks, out)?)
    }

    /// Adds the rows of a type.
    fn add_names<'s>(&self, state: &'s StateFact, rows: &mut Vec<NameRow<'s>>) {
        let structured = StructuredNames::new(self.store, self.schema, Vec::new());
        let resources = self.store.resources(state.summary.stream, &state.summary.type_url);
        let globs = self.store.globs(state.summary.stream, &state.summary.type_url).facts();
        let claims = self.store.claims(state.summary.stream, &state.summary.type_url);
        let answers = report::missing_answers_of(self.store, self.schema, state);
        let mut by_name: HashMap<&str, &ResourceFact> = HashMap::new();
        for fact in &resources {
            by_name.extend(fact.aliases.iter().map(|alias| (&**alias, fact)));
        }
        by_name.extend(resources.iter().chain(&globs).map(|fact| (&*fact.name, fact)));
        let left: HashSet<&Arc<str>> =
            claims.iter().filter(|claim| is_left_behind(claim)).map(|claim| &claim.name).collect();
        let requested: HashSet<&Arc<str>> = state.subscription.names.iter().collect();
        let names = state.subscription.names.iter().filter(|name| !left.contains(name));
        // Resources of the wildcard that the server owes (docs/protocol.md#f-14).
        let owed = state.subscription.missing.iter().chain(&state.subscription.owed_again);
        let owed = owed.filter(|name| !requested.contains(name) && !left.contains(name));
        let unsubscribed = claims.iter().map(|claim| &claim.name).filter(|name| left.contains(name));
        // Names whose unsubscription the server has yet to answer (docs/protocol.md#f-26).
        let unclassified = resources.iter().filter(|fact| fact.unclassified.is_some());
        let unclassified = unclassified.map(|fact| &fact.name);
        for name in names.chain(owed).chain(unsubscribed).chain(unclassified) {
            if !self.targets.iter().any(|what| what.is_named(&state.summary.type_url, name)) {
                continue;
            }
            let fact = by_name.get(&**name).copied();
            let answer = answers.iter().find(|answer| answer.names.contains(name));
            let members = fact.and_then(|fact| structured.members(fact));
            let claim = claims.binary_search_by(|claim| claim.name.cmp(name)).ok();
            rows.push(NameRow {
                state,
                name: name.clone(),
                fact: fact.cloned(),
                is_left: left.contains(name),
                target: fact.and_then(|fact| redirect(&structured, fact)).unwrap_or_default(),
                members: members.as_ref().map(structured::members).unwrap_or_default(),
                cause: answer
                    .map(|answer| format!("{} (guess)", report::missing_answer_reason(answer)))
                    .unwrap_or_default(),
                claim: claim.and_then(|at| claims.get(at)).cloned(),
            });
        }
    }
}

/// A requested name.
struct NameRow<'a> {
    state: &'a StateFact,
    name: Arc<str>,
    /// The resource of the name or alias, if any.
    fact: Option<ResourceFact>,
    /// Whether the client has left the name out of its subscription after a reconnect.
    is_left: bool,
    /// The targets of a redirect.
    target: String,
    /// How many members a glob or list has.
    members: String,
    /// The likely cause of a missing answer.
    cause: String,
    /// The entry of the name in `initial_resource_versions`.
    claim: Option<ClaimFact>,
}

impl NameRow<'_> {
    fn version(&self) -> &str {
        let version = self.fact.as_ref().and_then(|fact| fact.standing());
        version.map(|version| &**version).filter(|version| !version.is_empty()).unwrap_or("-")
    }

    fn state(&self) -> (String, Role) {
        match &self.fact {
            _ if self.is_left => ("not subscribed".to_owned(), Role::Muted),
            Some(fact) => resource_state(fact),
            None => ("waiting".to_owned(), Role::Pending),
        }
    }

    fn alias_of(&self) -> &str {
        match &self.fact {
            Some(fact) if fact.name != self.name => shown_name(&fact.name),
            _ => "",
        }
    }
}

/// Whether a client claims a version of a resource to which it has no subscription.
fn is_left_behind(claim: &ClaimFact) -> bool {
    claim.outcome == ClaimOutcome::LeftBehind
}

/// Returns the targets of a resource that is redirected.
fn redirect(names: &StructuredNames<'_>, fact: &ResourceFact) -> Option<String> {
    match fact.state {
        ResourceState::Redirected => structured::redirects(&names.redirects(fact)),
        _ => None,
    }
}

fn node(state: &StateFact) -> String {
    format!("{} #{}", state.summary.node.as_deref().unwrap_or("-"), state.summary.stream.0)
}
