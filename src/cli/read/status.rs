//! `status`: who is in sync, and what is open.

mod wide;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use xdscope_engine::analysis;
use xdscope_engine::applied::{AppliedDiff, AppliedState};
use xdscope_engine::filter;
use xdscope_engine::lint::{self, Finding};
use xdscope_engine::made::owners_of_problem;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::readings::{OpenReading, open_readings_of};
use xdscope_engine::recovery::{RecoveryFact, recoveries};
use xdscope_engine::store::{AbsenceFact, ClientMarks, StateFact, Store, SummaryFact, WarmingFact};
use xdscope_present::admin::admin_line;
use xdscope_present::applied::applied_lines;
use xdscope_present::json;
use xdscope_present::report::{self, Role, Rows};
use xdscope_present::table::{ClientColumns, Columns, TableLooks};
use xdscope_schema::Schema;
use xdscope_sources::{Folded, ReplayPosition, SourceFormat};
use xdscope_wire::Profile;
use xdscope_wire::event::{Kind, StreamId, TypeUrl};
use xdscope_wire::text::{age, count, display_safe, plural, type_label};

use super::wait;
use crate::cli::args::SourceArgs;
use crate::cli::args::{Format, Global, StatusArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::source;
use crate::cli::source::changes::PrintedFacts;
use crate::cli::source::select;
use crate::cli::source::select::{Picked, Selected};
use crate::cli::source::{applied, changes, offline};
use crate::cli::terminal::io::{Io, Style};

pub(crate) fn run(args: &StatusArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let filter = select::filter(args.rows.filter.as_deref(), filter::RowKind::States, &io.zone)?;
    if args.watch {
        select::say_unknown_types(&filter, global.quiet, io);
        return watch(args, &filter, global, io);
    }
    let source = &SourceArgs { timeout: args.wait, ..args.source.clone() };
    let in_time = synced(args, global, io)?;
    let profile = args.profile.edition();
    let rules = |schema: &Arc<Schema>| lint::Options { profile, ..analysis::rules(schema) };
    let folded = source::analyse_at(source, &args.at, rules, global, io)?;
    let is_at_end = args.at == ReplayPosition::End && folded.format != SourceFormat::Live;
    let Folded { facts, schema, .. } = folded;
    let (store, lint) = facts.into_parts();
    let applied = match &args.applied {
        Some(path) => {
            let applied = applied::open(path, offline::options(&source.timers).history, &schema, io)?;
            say_applied(path, &applied, &store, global, io);
            Some(applied)
        }
        None => None,
    };
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    select::say_unknown(&filter, &store, global.quiet, io);
    let status = Status::new((&store, lint.findings()), &schema, picked, &filter, applied.as_ref());
    let end = is_at_end.then_some("the recording ends");
    let status = Status { profile, end, ..status };
    let style = io.style(global);
    status.write(args, style, io.stdout_is_terminal, &mut *io.stdout)?;
    let has_problems = status.has_problems();
    let has_summary = args.format.is_text() && !global.quiet;
    if has_summary && status.matrix.rows.is_empty() && !has_problems {
        io.flush()?;
        io.say(if filter.is_empty() { "no streams" } else { "no state matches" });
    } else if let Some(worst) = status.selected.problems.first()
        && has_summary
        && has_problems
    {
        io.flush()?;
        io.say(&display_safe(&format!("next: {}", report::next_step(worst, &args.source.source))));
    }
    if !in_time {
        return Ok(Exit::Never);
    }
    Ok(status.exit())
}

/// Prints the states, and again each row that changes.
fn watch(
    args: &StatusArgs,
    filter: &filter::Filter,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let mut args = args.clone();
    if args.format == Format::Json {
        args.format = Format::Jsonl;
    }
    let source = args.source.clone();
    let mut changes = PrintedFacts::default();
    changes::watch(&source, global, io, &mut |facts, schema, io| {
        let picked = Picked::of(args.rows.streams.pick().as_ref(), facts)?;
        let mut status = Status::new((facts, facts.findings()), schema, picked, filter, None);
        status.profile = args.profile.edition();
        let exit = status.exit();
        status.is_update = !changes.is_new("first".to_owned(), String::new());
        status.retain_changed(&mut changes);
        let style = io.style(global);
        status.write(&args, style, io.stdout_is_terminal, &mut *io.stdout)?;
        // Later rows stand below the titles of the first ones.
        args.rows.no_headers |= !status.matrix.rows.is_empty();
        io.flush()?;
        Ok(exit)
    })
}

/// A client, by its node and one of its streams, and names of secrets.
type ClientSecrets = (Option<Arc<str>>, StreamId, Vec<Arc<str>>);

/// The selected part of a store.
struct Status<'a> {
    store: &'a Store,
    schema: &'a Arc<Schema>,
    streams: HashSet<StreamId>,
    states: Vec<StateFact>,
    matrix: Rows,
    marks: ClientMarks,
    warming: Vec<WarmingFact>,
    /// Differences to what the client has applied, for each of the states.
    applied: Option<Vec<Option<AppliedDiff>>>,
    /// By client, the secrets that it has requested from another server and not received.
    missing_secrets: Vec<ClientSecrets>,
    /// The problems of the selected streams and types.
    selected: Selected,
    /// The edition of the protocol that the user states.
    profile: Option<Profile>,
    /// The word for types without a state: empty if the filter hides states.
    none: &'static str,
    /// Whether facts were printed before, so that only changes follow.
    is_update: bool,
    /// The words for the end of the source, if the facts are those of the end.
    end: Option<&'static str>,
}

impl<'a> Status<'a> {
    fn new(
        (store, findings): (&'a Store, &[Finding]),
        schema: &'a Arc<Schema>,
        picked: Picked,
        filter: &filter::Filter,
        applied: Option<&AppliedState>,
    ) -> Status<'a> {
        let mut states = store.states();
        states.retain(|state| picked.has(state.summary.stream) && filter.state(state, store));
        let mut shown: HashMap<StreamId, HashSet<&TypeUrl>> = HashMap::new();
        for state in &states {
            shown.entry(state.summary.stream).or_default().insert(&state.summary.type_url);
        }
        let is_shown = |stream: StreamId, type_url: &TypeUrl| {
            shown.get(&stream).is_some_and(|types| types.contains(type_url))
        };
        let mut summaries = store.summaries();
        summaries.retain(|fact| is_shown(fact.stream, &fact.type_url));
        let streams: HashSet<StreamId> = picked.streams.iter().map(|stream| stream.stream).collect();
        let rows = picked.streams.into_iter().map(Arc::new).collect();
        let marks = store.client_marks();
        let mut matrix = Rows::build(rows, summaries.into_iter().map(Arc::new).collect(), &marks);
        if !filter.is_empty() {
            matrix.rows.retain(|row| row.cells.iter().any(Option::is_some));
        }
        let mut warming = store.warming();
        warming.retain(|fact| is_shown(fact.stream, &fact.type_url));
        let selected = Selected::of(store, findings, applied, |stream, type_url| {
            let has_state = type_url.is_empty() && shown.contains_key(&stream);
            streams.contains(&stream) && (filter.is_empty() || has_state || is_shown(stream, type_url))
        });
        let missing_secrets = applied.map(|applied| missing_secrets(&states, applied)).unwrap_or_default();
        let applied = applied
            .map(|applied| states.iter().map(|state| applied.compare(state, store)).collect::<Vec<_>>());
        let is_update = false;
        let none = if filter.is_empty() { "idle" } else { "" };
        Status {
            none,
            store,
            schema,
            streams,
            states,
            matrix,
            marks,
            warming,
            applied,
            missing_secrets,
            selected,
            profile: None,
            is_update,
            end: None,
        }
    }

    /// Removes what was printed before.
    fn retain_changed(&mut self, changes: &mut PrintedFacts) {
        let (store, clock) = (self.store, self.store.clock());
        self.matrix.rows.retain(|row| {
            let state = |fact: &Arc<SummaryFact>| (report::state_text(fact.state, &**fact, "x"), fact.since);
            let cells: Vec<_> = row.cells.iter().map(|cell| cell.as_ref().map(state)).collect();
            let value = format!("{cells:?} {:?} {}", row.variant, row.is_closed());
            changes.is_new(format!("row {}", row.title()), value)
        });
        self.selected.problems.retain(|problem| {
            let key = format!("{} {}", report::problem_place(problem), report::problem_word(problem).0);
            changes.is_new(key, report::problem(problem, &clock))
        });
        self.states.retain(|state| {
            let version = store
                .summaries_of(state.summary.stream)
                .into_iter()
                .find(|of| of.type_url == state.summary.type_url);
            let value = format!("{:?} {:?}", state.summary.state, version.map(|of| (of.since, of.resources)));
            changes.is_new(format!("state {} {}", state.summary.stream.0, state.summary.type_url), value)
        });
        if self.is_update {
            self.warming.clear();
        }
    }

    /// Pairs each state with its difference to what the client has applied.
    fn with_applied(&self) -> impl Iterator<Item = (&StateFact, Option<&AppliedDiff>)> {
        let diff = |at| self.applied.as_ref().and_then(|diffs| diffs.get(at)).and_then(Option::as_ref);
        self.states.iter().enumerate().map(move |(at, state)| (state, diff(at)))
    }

    /// Returns the number of types of open streams in whose messages xdscope has intervened.
    fn diverged(&self) -> usize {
        let is_open = |stream| self.store.stream(stream).is_some_and(|stream| stream.closed.is_none());
        self.states.iter().filter(|state| state.diverged.is_some() && is_open(state.summary.stream)).count()
    }

    /// Returns whether there is a problem, or a difference to what clients have applied.
    fn has_problems(&self) -> bool {
        self.selected.problems.iter().any(ProblemFact::is_wrong)
    }

    fn exit(&self) -> Exit {
        if self.has_problems() { Exit::No } else { Exit::Yes }
    }

    fn write(
        &self,
        args: &StatusArgs,
        style: Style,
        terminal: bool,
        out: &mut dyn std::io::Write,
    ) -> Result<(), CliError> {
        let has_titles = !args.rows.no_headers;
        let looks = TableLooks { style, has_titles, form: args.format.table_form() };
        let is_empty = self.matrix.rows.is_empty() && self.selected.problems.is_empty();
        let is_markdown = args.format == Format::Md;
        if (args.format.is_text() || is_markdown) && (has_titles || self.is_update) && !is_empty {
            self.write_problems(TableLooks { has_titles: is_markdown, ..looks }, out)?;
        }
        match args.format {
            format if format.is_of_objects() => {
                let table = TableLooks { has_titles: has_titles && !self.is_update, ..looks };
                self.objects(format, ObjectLooks { table, terminal }, out)?;
            }
            Format::Wide => self.wide(looks, out)?,
            Format::Name => {
                let rows = self.matrix.rows.iter();
                let names: std::collections::BTreeSet<&str> = rows.map(|row| row.name.as_str()).collect();
                names.iter().try_for_each(|name| writeln!(out, "{}", display_safe(name)))?;
            }
            _ => {
                let (now, clock, idle) = (self.store.now(), self.store.clock(), self.none);
                let clients = ClientColumns { now, clock, times: style.pick("×", "x"), idle };
                clients.columns(&self.matrix).write(&self.matrix.rows, looks, out)?;
            }
        }
        if args.format.is_text() {
            self.lines_below(out)?;
        }
        Ok(())
    }

    /// Writes the number of problems, then each on a line, the worst first, and an empty line.
    fn write_problems(&self, looks: TableLooks, out: &mut dyn std::io::Write) -> Result<(), CliError> {
        let wrong: Vec<&ProblemFact> =
            self.selected.problems.iter().filter(|problem| problem.is_wrong()).collect();
        if !self.is_update {
            writeln!(out, "{}", report::problem_count_line(&self.selected.problems, self.diverged()))?;
            let (clock, now) = (self.store.clock(), self.store.now());
            let yet =
                self.end.and_then(|end| report::no_problem_yet(&self.selected.problems, &clock, (now, end)));
            if let Some(text) = yet {
                writeln!(out, "{text}")?;
            }
        }
        if wrong.is_empty() {
            return if self.is_update { Ok(()) } else { Ok(writeln!(out)?) };
        }
        let (clock, now) = (self.store.clock(), self.store.now());
        let since = |problem: &&ProblemFact| match clock.untimed {
            true => "-".to_owned(),
            false => age(now.since(problem.since)),
        };
        let text = |problem: &&ProblemFact| {
            let owner = report::owner_clause(&owners_of_problem(self.store, problem));
            let text = report::problem_with_reason(problem, &clock) + &owner;
            if looks.style.ascii { text.replace('×', "x") } else { text }
        };
        let columns = Columns::new()
            .text("STATE", |problem: &&ProblemFact| report::problem_word(problem))
            .text("WHERE", |problem| report::problem_place(problem))
            .number("AGE", since)
            .role(Role::Muted)
            .text("PROBLEM", text);
        if looks.has_titles {
            // A table of Markdown stands behind an empty line.
            writeln!(out)?;
        }
        let listed = wrong.get(..wrong.len().min(MAX_PROBLEMS)).unwrap_or_default();
        columns.write(listed, looks, &mut *out)?;
        if wrong.len() > MAX_PROBLEMS {
            writeln!(out, "and {} more", count((wrong.len() - MAX_PROBLEMS) as u64))?;
        }
        if self.is_update {
            return Ok(());
        }
        Ok(writeln!(out)?)
    }

    fn objects(
        &self,
        format: Format,
        looks: ObjectLooks,
        out: &mut dyn std::io::Write,
    ) -> Result<(), CliError> {
        let clock = self.store.clock();
        let mut objects = Objects::new(out, format, looks);
        for problem in &self.selected.problems {
            let mut object = json::problem(problem, &self.selected.findings, &clock);
            json::add_owners(&mut object, &owners_of_problem(self.store, problem));
            objects.put(&object)?;
        }
        for (state, diff) in self.with_applied() {
            let store = (self.store, self.profile);
            objects.put(&json::complete_state(state, (&self.warming, diff), store, self.schema))?;
        }
        for client in self.recoveries() {
            objects.put(&json::recovery(&client))?;
        }
        if format == Format::Json {
            let streams = self.store.streams();
            for stream in streams.iter().filter(|stream| self.streams.contains(&stream.stream)) {
                objects.put(&json::stream_with_node(stream, self.store, self.schema))?;
            }
        }
        Ok(objects.finish()?)
    }

    /// Returns the texts with which servers say that requested resources do not exist, for the
    /// selected types.
    fn absences(&self) -> Vec<AbsenceFact> {
        let mut absences = if self.is_update { Vec::new() } else { AbsenceFact::all(self.store) };
        absences.retain(|absence| {
            let is_shown = |state: &StateFact| {
                state.summary.stream == absence.stream && state.summary.type_url == absence.type_url
            };
            self.states.iter().any(is_shown)
        });
        absences
    }

    /// Returns the selected clients that met faults.
    fn recoveries(&self) -> Vec<RecoveryFact> {
        let mut all = if self.is_update { Vec::new() } else { recoveries(self.store) };
        let nodes: HashSet<_> = self.states.iter().filter_map(|state| state.summary.node.clone()).collect();
        all.retain(|client| client.node.is_empty() || nodes.contains(&client.node));
        all
    }

    /// Returns the readings of a state of which no message has decided yet.
    fn readings(&self, state: &StateFact) -> Vec<OpenReading> {
        open_readings_of(self.store, self.schema, state)
    }

    /// Writes resources that are warming, open readings, and differences to what clients have
    /// applied.
    fn lines_below(&self, out: &mut dyn std::io::Write) -> Result<(), CliError> {
        let now = (!self.store.clock().untimed).then(|| self.store.now());
        for client in self.recoveries() {
            writeln!(out, "{}", display_safe(&report::recovery(&client)))?;
        }
        let named = |node: Option<&str>, stream: StreamId| report::client_name(node, stream, &self.marks);
        for stream in self.store.streams().iter().filter(|stream| self.streams.contains(&stream.stream)) {
            if !self.is_update
                && let Some(admin) = self.store.admin_of(stream.stream)
            {
                let node = named(select::node(stream), stream.stream);
                writeln!(out, "{}", display_safe(&format!("{node}: {}", admin_line(&admin))))?;
            }
        }
        for warming in &self.warming {
            let node = named(warming.node.as_deref(), warming.stream);
            writeln!(out, "{}", display_safe(&format!("{node}: {}", report::warming(warming, now))))?;
        }
        for absence in self.absences() {
            let node = named(absence.node.as_deref(), absence.stream);
            writeln!(out, "{}", display_safe(&format!("{node}: {}", report::absence(&absence))))?;
        }
        let new_states = if self.is_update { &[][..] } else { &self.states };
        for state in new_states {
            let node = named(state.summary.node.as_deref(), state.summary.stream);
            let label = type_label(state.summary.type_url.as_str());
            for reading in self.readings(state) {
                let text = report::open_reading(&reading, self.profile);
                writeln!(out, "{}", display_safe(&format!("{node}: {label} {text}")))?;
            }
        }
        for (state, diff) in self.with_applied() {
            let node = named(state.summary.node.as_deref(), state.summary.stream);
            let label = type_label(state.summary.type_url.as_str());
            for (what, names) in diff.into_iter().flat_map(applied_lines) {
                let names = report::names(names, MAX_NAMES);
                writeln!(out, "{}", display_safe(&format!("{node}: {label} applied: {what}: {names}")))?;
            }
        }
        for (node, stream, names) in &self.missing_secrets {
            let node = named(node.as_deref(), *stream);
            let what = plural(names.len() as u64, "resource");
            let names = report::names(names, MAX_NAMES);
            let text = format!(
                "{node}: SDS applied: {what} requested and not received: {names}; the server is not behind this \
                 tap, and the likely cause if the client waits"
            );
            writeln!(out, "{}", display_safe(&text))?;
        }
        Ok(())
    }
}

/// Returns the secrets that each client has requested and not received, as its dump says.
///
/// Leaves out clients with a stream of secrets.
fn missing_secrets(states: &[StateFact], applied: &AppliedState) -> Vec<ClientSecrets> {
    let kind = |state: &StateFact| Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind);
    let mut seen: HashSet<Option<Arc<str>>> = HashSet::new();
    seen.extend(
        states.iter().filter(|state| kind(state) == Some(Kind::Sds)).map(|state| state.summary.node.clone()),
    );
    let mut out = Vec::new();
    for state in states.iter().filter(|state| state.summary.last_state.is_none()) {
        if seen.insert(state.summary.node.clone()) {
            let names = applied.unreceived(state.summary.node.as_deref(), Kind::Sds);
            out.push((state.summary.node.clone(), state.summary.stream, names));
        }
    }
    out.retain(|(_, _, names)| !names.is_empty());
    out
}

/// Waits until everything in a growing recording is in sync. Says so, and returns false, on a
/// timeout.
fn synced(args: &StatusArgs, global: &Global, io: &mut Io<'_>) -> Result<bool, CliError> {
    let Some(timeout) = args.wait else { return Ok(true) };
    if offline::is_server(&args.source.source) {
        return if args.nodes.is_some() { Err(wait::one_node()) } else { Ok(true) };
    }
    let condition = wait::Condition::Synced;
    let goal = wait::Goal { condition: &condition, text: "synced", nodes: args.nodes, timeout };
    let met = goal.on_recording(&args.source, global, io)? == wait::WaitEnd::Met;
    if !met && !global.quiet {
        let nodes = args
            .nodes
            .map_or_else(|| "not all nodes were".into(), |n| format!("{} were not", plural(n, "node")));
        io.say(&format!("{nodes} in sync within {timeout:?}"));
    }
    Ok(met)
}

/// Problems that the text formats list; the others are counted.
const MAX_PROBLEMS: usize = 20;

/// Number of names that a line lists.
const MAX_NAMES: usize = 10;

/// Says what the file of `--applied` lacks, and which of its clients the source does not have.
fn say_applied(path: &Path, applied: &AppliedState, store: &Store, global: &Global, io: &mut Io<'_>) {
    let streams = store.streams();
    let nodes: HashSet<&str> = streams.iter().filter_map(select::node).collect();
    if !global.quiet {
        for notice in applied::notices(path, applied, &nodes) {
            io.say(&display_safe(&notice));
        }
    }
}
