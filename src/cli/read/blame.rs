//! `blame`: what a Kubernetes object made, and in which clients it is in force.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use xdscope_engine::filter::{Filter, RowKind};
use xdscope_engine::made::{
    MadeResource, MadeSince, Outcome, OutcomeCounts, OwnerPattern, OwnerSummaries, OwnerSummary, made_since,
    refused_because_of, visit_made,
};
use xdscope_engine::store::{ClientMarks, StateFact, Store};
use xdscope_present::bodies::Contents;
use xdscope_present::json;
use xdscope_present::report::{self, Role};
use xdscope_present::table::{Cell, Columns, TableLooks};
use xdscope_present::text::{markdown, shell_word};
use xdscope_schema::Schema;
use xdscope_wire::event::TypeUrl;
use xdscope_wire::text::{count, display_safe, plural, shown_name, time_of_day, type_label};

use super::refusal_reasons::{RefusalReasons, shortened};
use crate::cli::args::{BlameArgs, Format, Global};
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::words::resource_state;
use crate::cli::source;
use crate::cli::source::select::{self, Picked};
use crate::cli::terminal::io::Io;

/// Owners above a table.
const MAX_OWNERS: usize = 3;

/// Clients of a row that are named.
const MAX_CLIENTS: usize = 3;

/// Owners that an error lists.
const MAX_LISTED: usize = 5;

pub(crate) fn run(args: &BlameArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let filter = select::filter(args.rows.filter.as_deref(), RowKind::Resources, &io.zone)?;
    let wanted = patterns(&args.owners)?;
    let (store, folded) = source::store_at(&args.source, &args.at, global, io)?;
    let pick = args.rows.streams.pick();
    let picked = Picked::of(pick.as_ref(), &store)?;
    select::say_unknown(&filter, &store, global.quiet, io);
    // Clients that are not selected tell who made what a selected one misses.
    let states = Picked::of(None, &store)?.current_states(pick.as_ref(), &store);
    let schema = &folded.schema;
    let blame = Blame { args, store: &store, schema, filter: &filter, picked: &picked, states: &states };
    let form = args.format.table_form();
    let table = TableLooks { style: io.style(global), has_titles: !args.rows.no_headers, form };
    let looks = ObjectLooks { table, terminal: io.stdout_is_terminal };
    let (summaries, made) =
        if wanted.is_empty() { (blame.summaries(), Vec::new()) } else { blame.made_by(&wanted)? };
    if wanted.is_empty() {
        blame.write_owners(&summaries, looks, &mut *io.stdout)?;
    } else {
        blame.write_made(&summaries, &made, looks, io)?;
    }
    if !global.quiet && args.format.is_text() {
        io.flush()?;
        if let Some(text) = blame.last_words(&summaries, &made) {
            io.say(&display_safe(&text));
        }
    }
    let has_problem = summaries.iter().filter_map(|summary| summary.counts.worst()).any(Outcome::is_problem);
    Ok(if has_problem { Exit::No } else { Exit::Yes })
}

/// Parses owners as typed. A first word without `/` is the kind of those that follow, as for
/// kubectl: `VirtualService shop/reviews`.
fn patterns(words: &[String]) -> Result<Vec<OwnerPattern>, CliError> {
    let mut words = words.iter().flat_map(|word| word.split_whitespace()).peekable();
    let kind = match words.peek() {
        Some(first) if !first.contains('/') => words.next(),
        _ => None,
    };
    let paths: Vec<String> = match kind {
        Some(kind) if words.peek().is_none() => vec![kind.to_owned()],
        Some(kind) => words.map(|name| format!("{kind}/{name}")).collect(),
        None => words.map(str::to_owned).collect(),
    };
    let parse = |path: &String| {
        OwnerPattern::new(path).map_err(|error| CliError::usage(format!("OWNER: {}", error.reason)))
    };
    paths.iter().map(parse).collect()
}

/// The selected part of a source.
struct Blame<'a> {
    args: &'a BlameArgs,
    store: &'a Store,
    schema: &'a Arc<Schema>,
    filter: &'a Filter,
    picked: &'a Picked,
    states: &'a [StateFact],
}

impl Blame<'_> {
    fn visit(&self, wanted: &[OwnerPattern], see: &mut dyn FnMut(MadeResource)) {
        let contents = Contents { store: self.store, schema: self.schema };
        let is_wanted = |owner: &_| wanted.is_empty() || wanted.iter().any(|pattern| pattern.matches(owner));
        visit_made(self.store, self.states, is_wanted, &mut |made| {
            let is_picked = self.picked.has(made.fact.stream);
            if is_picked && self.filter.resource_with(&made.fact, self.store, &contents) {
                see(made);
            }
        });
    }

    fn summaries(&self) -> Vec<OwnerSummary> {
        let mut summaries = OwnerSummaries::default();
        self.visit(&[], &mut |made| summaries.add(&made));
        summaries.finish()
    }

    /// Returns the owners that match, and what they made by type and name, the worst first.
    fn made_by(&self, wanted: &[OwnerPattern]) -> Result<(Vec<OwnerSummary>, Vec<MadeResource>), CliError> {
        let mut summaries = OwnerSummaries::default();
        let mut all = Vec::new();
        self.visit(wanted, &mut |made| {
            summaries.add(&made);
            all.push(made);
        });
        let summaries = summaries.finish();
        if let Some(unknown) =
            wanted.iter().find(|pattern| !all.iter().any(|made| pattern.matches(&made.owner)))
        {
            return Err(self.made_nothing(unknown));
        }
        all.sort_by_cached_key(|made| {
            let MadeResource { owner, fact, outcome, .. } = made;
            (owner.path(), report::type_order(&fact.type_url), fact.name.clone(), *outcome, fact.stream)
        });
        Ok((summaries, all))
    }

    /// The error of an owner that made nothing, with those that resemble it, or else some.
    fn made_nothing(&self, pattern: &OwnerPattern) -> CliError {
        let typed = pattern.text();
        let source = shell_word(&self.args.source.source);
        if !self.filter.is_empty() {
            let words = format!("no resource that matches the filter was made from {typed}");
            let next = format!("xdscope blame {source} {}", shell_word(typed));
            return CliError::new(Exit::Never, words).next(next);
        }
        let known: Vec<String> = self.summaries().iter().map(|summary| summary.owner.path()).collect();
        let near = near_owners(typed, &known).into_iter().take(MAX_LISTED);
        let mut next: Vec<String> =
            near.map(|path| format!("xdscope blame {source} {}", shell_word(path))).collect();
        next.push(match known.len() {
            0 => format!("xdscope get {source} -o wide   no resource states an owner"),
            owners => format!("xdscope blame {source}   {}", plural(owners as u64, "owner")),
        });
        CliError { next, ..CliError::new(Exit::Never, format!("no resource was made from {typed}")) }
    }

    fn write_owners(
        &self,
        summaries: &[OwnerSummary],
        looks: ObjectLooks,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        match self.args.format {
            format if format.is_of_objects() => {
                let mut objects = Objects::new(out, format, looks);
                for summary in summaries {
                    objects.put(&json::owner_summary(summary))?;
                }
                Ok(objects.finish()?)
            }
            Format::Name => {
                for summary in summaries {
                    writeln!(out, "{}", display_safe(&summary.owner.path()))?;
                }
                Ok(())
            }
            _ => {
                let worst = |summary: &OwnerSummary| match summary.counts.worst() {
                    Some(outcome) => report::outcome_word(outcome),
                    None => ("", Role::Plain),
                };
                let mut columns = Columns::new()
                    .text("OWNER", |summary: &OwnerSummary| summary.owner.to_string())
                    .text("WORST", worst)
                    .number("RESOURCES", |summary| count(summary.resources))
                    .number("CLIENTS", |summary| count(summary.clients));
                for outcome in Outcome::ALL.into_iter().filter(|outcome| has_column(*outcome, summaries)) {
                    let (word, role) = report::outcome_word(outcome);
                    columns = columns.number(word.to_uppercase(), move |summary| {
                        match summary.counts.of(outcome) {
                            0 => Cell::new("0"),
                            n => Cell::role(count(n), role),
                        }
                    });
                }
                Ok(columns.write(summaries, looks.table, out)?)
            }
        }
    }

    fn write_made(
        &self,
        summaries: &[OwnerSummary],
        made: &[MadeResource],
        looks: ObjectLooks,
        io: &mut Io<'_>,
    ) -> Result<(), CliError> {
        let reasons = RefusalReasons::new(self.store, self.schema, self.states);
        let reason = |made: &MadeResource| reasons.of(&made.fact).or_else(|| reasons.of_others(&made.fact));
        let since = made_since(self.store, made);
        let pairs = made.iter().zip(&since);
        let zone = io.zone.clone();
        let out = &mut *io.stdout;
        match self.args.format {
            format if format.is_of_objects() => {
                let mut objects = Objects::new(out, format, looks);
                for (made, since) in pairs {
                    objects.put(&json::made(made, since.as_ref(), reason(made), &self.store.clock()))?;
                }
                return Ok(objects.finish()?);
            }
            Format::Name => {
                let name = |made: &MadeResource| {
                    format!("{}/{}", json::type_word(&made.fact.type_url), made.fact.name)
                };
                let mut names: Vec<String> = made.iter().map(name).collect();
                names.dedup();
                for name in names {
                    writeln!(out, "{}", display_safe(&name))?;
                }
                return Ok(());
            }
            _ => {}
        }
        let is_markdown = self.args.format == Format::Md;
        if looks.table.has_titles || is_markdown {
            self.write_summaries(summaries, made, out)?;
        }
        let marks = self.store.client_marks();
        let rows = rows(pairs, reason, &marks, self.args.format == Format::Wide);
        self.write_rows(rows, &zone, looks.table, out)
    }

    /// Writes each owner with its command, and the numbers of what it made, the worst first; then
    /// the resources because of which clients refused those of the owners.
    fn write_summaries(
        &self,
        summaries: &[OwnerSummary],
        made: &[MadeResource],
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let mut lines: Vec<String> = Vec::new();
        for summary in summaries.iter().take(MAX_OWNERS) {
            lines.push(report::owner_line(&summary.owner));
            lines.push(format!(
                "  {} in {}: {}",
                plural(summary.resources, "resource"),
                plural(summary.clients, "client"),
                report::outcome_counts(&summary.counts)
            ));
        }
        if let Some(others) = summaries.get(MAX_OWNERS..).filter(|others| !others.is_empty()) {
            lines.push(format!("and {}", plural(others.len() as u64, "more owner")));
        }
        for cause in refused_because_of(self.store, self.schema, made).iter().take(MAX_OWNERS) {
            let resource = format!("{} {}", type_label(cause.type_url.as_str()), shown_name(&cause.name));
            let owner = cause.owners.first().map(|owner| format!(": {}", report::owner_line(owner)));
            lines.push(format!("refused because of {resource}{}", owner.unwrap_or_default()));
        }
        for line in lines {
            match self.args.format {
                // Each is a paragraph.
                Format::Md => writeln!(out, "{}\n", markdown(&line))?,
                _ => writeln!(out, "{}", display_safe(&line))?,
            }
        }
        if self.args.format != Format::Md {
            writeln!(out)?;
        }
        Ok(())
    }

    fn write_rows(
        &self,
        rows: Vec<BlameRow<'_>>,
        zone: &jiff::tz::TimeZone,
        looks: TableLooks,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let clock = self.store.clock();
        let has_owners = rows.windows(2).any(|pair| match pair {
            [a, b] => a.made.owner != b.made.owner,
            _ => false,
        });
        let mut columns: Columns<'_, BlameRow<'_>> = Columns::new();
        if has_owners {
            columns = columns.text("OWNER", |row: &BlameRow<'_>| row.made.owner.to_string());
        }
        let time = |row: &BlameRow<'_>| match row.since {
            Some(MadeSince::Push(push)) => time_of_day(push.at, clock, zone),
            Some(MadeSince::Request { at, .. }) => time_of_day(*at, clock, zone),
            None => "-".to_owned(),
        };
        let version = |row: &BlameRow<'_>| match row.since {
            Some(MadeSince::Push(push)) => push.version.to_string(),
            _ => row.made.fact.standing().map_or_else(|| "-".to_owned(), |version| version.to_string()),
        };
        columns = columns
            .text("TYPE", |row: &BlameRow<'_>| type_label(row.made.fact.type_url.as_str()))
            .role(Role::Muted)
            .text("NAME", |row: &BlameRow<'_>| shown_name(&row.made.fact.name).to_owned())
            .text("STATE", |row: &BlameRow<'_>| (row.state.clone(), row.role))
            .text("SINCE", |row: &BlameRow<'_>| row.since.map_or_else(|| "-".to_owned(), report::made_since));
        if !clock.untimed {
            columns = columns.text("TIME", time).role(Role::Muted);
        }
        let columns = columns
            .text("VER", version)
            .text("NODE", BlameRow::clients)
            .optional_text("REASON", |row: &BlameRow<'_>| shortened(&row.reason))
            .role(Role::Bad);
        Ok(columns.write(&rows, looks, out)?)
    }

    /// Returns what to say below the tables.
    fn last_words(&self, summaries: &[OwnerSummary], made: &[MadeResource]) -> Option<String> {
        let source = shell_word(&self.args.source.source);
        if summaries.is_empty() {
            let none = match self.filter.is_empty() {
                true => "no resource states the Kubernetes object that it was made from",
                false => "no resource matches",
            };
            return Some(none.to_owned());
        }
        let refused = made.iter().find(|made| made.outcome == Outcome::Refused);
        if let Some(made) = refused {
            let stream = made.fact.stream.0;
            return Some(format!(
                "next: xdscope log {source} --stream '#{stream}' --filter 'kind:nack' --body"
            ));
        }
        let mut counts = OutcomeCounts::default();
        made.iter().for_each(|made| counts.add(made.outcome));
        let is_problem = counts.worst().is_some_and(Outcome::is_problem);
        is_problem.then(|| format!("next: xdscope status {source}"))
    }
}

/// Returns the owners that resemble what was typed, else those of that name, else all.
fn near_owners<'a>(typed: &str, known: &'a [String]) -> Vec<&'a str> {
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let paths = || known.iter().map(String::as_str);
    let near = suggest::near(typed, paths());
    if !near.is_empty() {
        return near;
    }
    let same_name: Vec<&str> = paths().filter(|path| name(path) == name(typed)).collect();
    if same_name.is_empty() { paths().collect() } else { same_name }
}

/// Whether the list of owners has a column for an outcome: always for the most frequent ones.
fn has_column(outcome: Outcome, summaries: &[OwnerSummary]) -> bool {
    let is_frequent = matches!(outcome, Outcome::Refused | Outcome::Missing | Outcome::InForce);
    is_frequent || summaries.iter().any(|summary| summary.counts.of(outcome) > 0)
}

/// A resource with one state in some clients.
struct BlameRow<'a> {
    made: &'a MadeResource,
    since: Option<&'a MadeSince>,
    state: String,
    role: Role,
    reason: String,
    names: Vec<String>,
}

impl BlameRow<'_> {
    /// Returns the client, or the number of clients and the first of them.
    fn clients(&self) -> String {
        match &self.names[..] {
            [client] => client.clone(),
            names => {
                let (shown, others) = names.split_at(names.len().min(MAX_CLIENTS));
                let listed = report::listed_names(shown, others.len() as u64);
                format!("{}: {listed}", plural(names.len() as u64, "client"))
            }
        }
    }
}

/// The parts that clients of one row share: the owner, the resource, its state and the reason.
type RowKey<'a> = (String, &'a TypeUrl, &'a str, String, String);

/// Returns the rows of a table. Clients with one state share a row, unless `is_wide`; its message
/// is the first one.
fn rows<'a>(
    made: impl Iterator<Item = (&'a MadeResource, &'a Option<MadeSince>)>,
    reason: impl Fn(&MadeResource) -> Option<String>,
    marks: &ClientMarks,
    is_wide: bool,
) -> Vec<BlameRow<'a>> {
    let mut rows: Vec<BlameRow<'a>> = Vec::new();
    let mut known: HashMap<RowKey<'a>, usize> = HashMap::new();
    for (made, since) in made {
        let (state, role) = state_of(made);
        let reason = reason(made).unwrap_or_default();
        let fact = &made.fact;
        let client = report::client_name(fact.node.as_deref(), fact.stream, marks);
        let key = (made.owner.to_string(), &fact.type_url, &*fact.name, state.clone(), reason.clone());
        let shared = known.get(&key).filter(|_| !is_wide).and_then(|index| rows.get_mut(*index));
        match shared {
            Some(row) => row.names.push(client),
            None => {
                known.insert(key, rows.len());
                let names = vec![client];
                rows.push(BlameRow { made, since: since.as_ref(), state, role, reason, names });
            }
        }
    }
    rows
}

/// Names the state of a resource in a client, with what the resource waits for.
fn state_of(made: &MadeResource) -> (String, Role) {
    let MadeResource { fact, warming, outcome, .. } = made;
    let (state, role) = resource_state(fact);
    if let Some(warming) = warming {
        return (format!("{state}, warming: {}", report::warming_needs(warming)), Role::Warn);
    }
    let is_plain = fact.refusal.is_none() && fact.owed_again.is_none() && !fact.is_unreadable;
    match outcome {
        Outcome::InForce if is_plain => {
            let (word, role) = report::outcome_word(*outcome);
            let closed = if fact.is_stream_down { format!(", {}", report::CLOSED) } else { String::new() };
            (format!("{word}{closed}"), role)
        }
        Outcome::Unanswered => (format!("{state}, {}", report::NOT_ANSWERED), Role::Warn),
        Outcome::Pending if fact.is_unanswered && fact.earlier_refusal.is_none() => {
            (format!("{state}, {}", report::NOT_ANSWERED), Role::Pending)
        }
        _ => (state, role),
    }
}
