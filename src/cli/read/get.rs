//! `get`: resources and their content, on which stream and in which version.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::sync::Arc;

use serde_json::Value;

use xdscope_engine::analysis;
use xdscope_engine::constraints::BrokenConstraints;
use xdscope_engine::filter::{Filter, RowKind};
use xdscope_engine::graph;
use xdscope_engine::owners::owners_of_resource;
use xdscope_engine::store::{ResourceFact, ResourceState, StateFact, Store};
use xdscope_engine::structured::StructuredNames;
use xdscope_present::bodies;
use xdscope_present::bodies::Contents;
use xdscope_present::json;
use xdscope_present::report::{self, Role};
use xdscope_present::table::{Cell, Columns, TableLooks};
use xdscope_present::text::shell_word;
use xdscope_schema::{FieldNames, Schema, links};
use xdscope_sources::{Folded, ReplayPosition};
use xdscope_wire::event::{Kind, StreamId, Time, TypeUrl};
use xdscope_wire::text::{count, size, type_label};

use super::graphs::Graphs;
use super::nodes::{self, NodeRows};
use super::refusal_reasons::RefusalReasons;
use super::subscriptions::SubscriptionRows;
use super::tree;
use crate::cli::args::{Format, GetArgs, Global, SourceArgs};
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects, write_yaml};
use crate::cli::output::words::resource_state;
use crate::cli::source;
use crate::cli::source::changes;
use crate::cli::source::changes::PrintedFacts;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::source::target::{GetTarget, join_names};
use crate::cli::terminal::io::{Io, Style};

mod rows;

pub(crate) fn run(args: &GetArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let rows = if args.subscriptions { RowKind::States } else { RowKind::Resources };
    let filter = select::filter(args.rows.filter.as_deref(), rows, &io.zone)?;
    let words = join_names(&args.what);
    let whats: Vec<GetTarget> = words.iter().map(|text| GetTarget::parse(text)).collect();
    let is_about_nodes = words.len() == 1 && words.iter().all(|what| nodes::is_word(what));
    let ask = match is_about_nodes {
        true => Vec::new(),
        false => whats.iter().map(|what| what.request().to_owned()).collect(),
    };
    let mut asked = SourceArgs { ask, ..args.source.clone() };
    // A tree needs the resources that it refers to.
    if args.format == Some(Format::Tree) && !asked.client.no_expand {
        asked.client.expand = true;
    }
    if args.watch {
        select::say_unknown_types(&filter, global.quiet, io);
        if whats.is_empty() || is_about_nodes {
            return Err(CliError::usage("--watch needs a TYPE").next("xdscope get SOURCE cds --watch"));
        }
        return watch(args, &asked, (&filter, &whats), global, io);
    }
    let Folded { facts, schema, .. } = source::analyse_at(&asked, &args.at, analysis::rules, global, io)?;
    let (store, lint) = facts.into_parts();
    let picked = Picked::of(args.rows.streams.pick().as_ref(), &store)?;
    if is_about_nodes {
        let looks = looks(args, io.style(global), io);
        let rows = NodeRows { args, picked: &picked, store: &store, schema: &schema };
        if rows.write(looks, &mut *io.stdout)? == 0 && !global.quiet {
            io.flush()?;
            io.say("no request has stated a node");
        }
        return Ok(Exit::Yes);
    }
    select::say_unknown(&filter, &store, global.quiet, io);
    let states = picked.current_states(args.rows.streams.pick().as_ref(), &store);
    unknown(&whats, &states, &store, args)?;
    if !global.quiet && args.format.is_none_or(Format::is_text) {
        let at = match &args.at {
            ReplayPosition::End => String::new(),
            at => format!(" --at {}", shell_word(&at.to_string())),
        };
        let selection = format!("{}{}{at}", shell_word(&args.source.source), args.rows.streams.again());
        select::say_problems((&store, lint.findings()), &picked, &selection, io);
    }
    let graphs = Graphs::new(&store, &schema, &states);
    let reasons = RefusalReasons::new(&store, &schema, &states);
    let get = Get {
        args,
        store: &store,
        schema: &schema,
        filter: &filter,
        whats: &whats,
        states: &states,
        graphs,
        reasons,
        changes: None,
    };
    let looks = looks(args, io.style(global), io);
    let out = &mut *io.stdout;
    if args.subscriptions {
        get.subscriptions(looks, out)?;
        return Ok(Exit::Yes);
    }
    let printed = get.write(looks, out)?;
    if printed == 0 && !global.quiet {
        io.flush()?;
        io.say(if filter.is_empty() { "no resources" } else { "no resource matches" });
    }
    Ok(get.exit())
}

fn looks(args: &GetArgs, style: Style, io: &Io<'_>) -> ObjectLooks {
    let form = args.format.unwrap_or(Format::Table).table_form();
    let table = TableLooks { style, has_titles: !args.rows.no_headers, form };
    ObjectLooks { table, terminal: io.stdout_is_terminal }
}

/// Prints the selected resources, and again each one that changes.
fn watch(
    args: &GetArgs,
    source: &SourceArgs,
    (filter, whats): (&Filter, &[GetTarget]),
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let mut args = args.clone();
    if args.format == Some(Format::Json) {
        args.format = Some(Format::Jsonl);
    }
    if args.format == Some(Format::Tree) {
        return Err(CliError::usage("--watch prints rows, and a tree has none").next("-o table"));
    }
    let changes = RefCell::default();
    changes::watch(source, global, io, &mut |facts, schema, io| {
        let picked = Picked::of(args.rows.streams.pick().as_ref(), facts)?;
        let states = picked.current_states(args.rows.streams.pick().as_ref(), facts);
        let get = Get {
            args: &args,
            store: facts,
            schema,
            filter,
            whats,
            states: &states,
            graphs: Graphs::new(facts, schema, &states),
            reasons: RefusalReasons::new(facts, schema, &states),
            changes: Some(&changes),
        };
        let looks = looks(&args, io.style(global), io);
        let printed = get.write(looks, &mut *io.stdout)?;
        let exit = get.exit();
        // Later rows stand below the titles of the first ones.
        args.rows.no_headers |= printed > 0;
        io.flush()?;
        Ok(exit)
    })
}

/// Refuses types and names that the source does not have, and suggests those that it has.
fn unknown(whats: &[GetTarget], states: &[StateFact], store: &Store, args: &GetArgs) -> Result<(), CliError> {
    for what in whats {
        let of_type: Vec<&StateFact> =
            states.iter().filter(|state| what.is_type(&state.summary.type_url)).collect();
        let source = shell_word(&args.source.source);
        if of_type.is_empty() && what.kind.is_none() {
            let known: BTreeSet<String> =
                states.iter().map(|state| json::type_word(&state.summary.type_url).to_owned()).collect();
            let error = CliError::usage(format!(
                "unknown type `{}`: not built in, and not in this source",
                what.type_text
            ));
            let mut words: Vec<&str> = known.iter().map(String::as_str).collect();
            Kind::words().for_each(|word| words.push(word));
            let near = suggest::near(&what.type_text, words);
            let next: Vec<&str> = match near.is_empty() {
                true => known.iter().map(String::as_str).collect(),
                false => near,
            };
            let next = next.into_iter().map(|word| format!("xdscope get {source} {word}")).collect();
            return Err(CliError { next, ..error });
        }
        if let Some(name) = &what.name {
            let known = of_type.iter().any(|state| {
                state.subscription.names.iter().any(|known| **known == **name)
                    || store
                        .resources(state.summary.stream, &state.summary.type_url)
                        .iter()
                        .any(|fact| what.is(fact))
            });
            if !known {
                let words = match name.contains('*') {
                    true => format!("no name matches {}", what.text),
                    false => format!("{} was neither requested nor sent", what.text),
                };
                let error = CliError::new(Exit::Never, words);
                let near = what.near_names(store).into_iter();
                let next = near.map(|near| format!("xdscope get {source} {}", shell_word(&near)));
                let next = next.chain([format!("xdscope get {source} {}", what.type_text)]).collect();
                return Err(CliError { next, ..error });
            }
        }
    }
    Ok(())
}

pub(crate) struct Get<'a> {
    args: &'a GetArgs,
    pub(crate) store: &'a Store,
    pub(crate) schema: &'a Arc<Schema>,
    filter: &'a Filter,
    whats: &'a [GetTarget],
    states: &'a [StateFact],
    pub(crate) graphs: Graphs<'a>,
    reasons: RefusalReasons<'a>,
    /// With `--watch`: the resources as they were printed last.
    changes: Option<&'a RefCell<PrintedFacts>>,
}

impl Get<'_> {
    /// Writes the selected resources in the format of `-o`. Returns their number.
    fn write(&self, looks: ObjectLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        match self.args.format {
            Some(format @ (Format::Json | Format::Jsonl | Format::Columns(_))) => {
                self.objects(format, looks, out)
            }
            Some(Format::Yaml) => self.yaml(looks.terminal, out),
            Some(Format::Name) => self.names(out),
            Some(Format::Tree) => tree::write(self, looks.table.style, out),
            Some(Format::Wide) => self.wide_rows(looks.table, out),
            _ if self.whats.is_empty() => self.counts(looks.table, out),
            _ => self.rows(looks.table, out),
        }
    }

    /// Whether the server has sent a resource that WHAT names to none of the clients in time.
    fn exit(&self) -> Exit {
        if self.is_any_missing() { Exit::Never } else { Exit::Yes }
    }

    fn is_any_missing(&self) -> bool {
        let facts = |what: &GetTarget| {
            let states = self.states.iter().filter(|state| what.is_type(&state.summary.type_url));
            let resources =
                states.flat_map(|state| self.store.resources(state.summary.stream, &state.summary.type_url));
            resources.filter(|fact| what.is(fact)).collect::<Vec<_>>()
        };
        let named = self.whats.iter().filter(|what| what.name.is_some());
        named.map(facts).any(|facts| !facts.is_empty() && facts.iter().all(ResourceFact::is_missing))
    }

    /// Whether a resource has changed since it was printed.
    fn is_news(&self, fact: &ResourceFact) -> bool {
        self.changes.is_none_or(|changes| {
            let key = format!("{} {} {}", fact.stream.0, fact.type_url, fact.name);
            let value = format!("{:?} {:?} {:?}", fact.version, fact.hash, resource_state(fact).0);
            changes.borrow_mut().is_new(key, value)
        })
    }

    /// Writes the subscriptions that WHAT and the filter select.
    fn subscriptions(&self, looks: ObjectLooks, out: &mut dyn Write) -> Result<(), CliError> {
        let &Get { args, store, schema, whats, .. } = self;
        let names_any = whats.iter().any(|what| what.name.is_some());
        let is_shown = |state: &&StateFact| {
            let is_named =
                |name: &Arc<str>| whats.iter().any(|what| what.is_named(&state.summary.type_url, name));
            self.is_selected(&state.summary.type_url)
                && (!names_any || state.subscription.names.iter().any(is_named))
                && self.filter.state(state, store)
        };
        let states: Vec<&StateFact> = self.states.iter().filter(is_shown).collect();
        SubscriptionRows { args, states: &states, targets: whats, store, schema }.write(looks, out)
    }

    /// Returns the moment that the facts are of. `None` without timestamps.
    pub(crate) fn now(&self) -> Option<Time> {
        (!self.store.clock().untimed).then(|| self.store.now())
    }

    fn is_selected(&self, url: &TypeUrl) -> bool {
        self.whats.is_empty() || self.whats.iter().any(|what| what.is_type(url))
    }

    /// Calls `see` for each selected resource, and returns their number.
    pub(crate) fn each(
        &self,
        see: &mut dyn FnMut(ResourceFact) -> Result<(), CliError>,
    ) -> Result<usize, CliError> {
        let contents = Contents { store: self.store, schema: self.schema };
        let mut printed = 0;
        for state in self.states.iter().filter(|state| self.is_selected(&state.summary.type_url)) {
            let orphans = self.orphans(state);
            let resources = self.store.resources(state.summary.stream, &state.summary.type_url);
            let globs = match self.args.format {
                // Elsewhere a glob would count beside its members.
                Some(Format::Json | Format::Jsonl | Format::Wide | Format::Tree) => {
                    self.store.globs(state.summary.stream, &state.summary.type_url).facts()
                }
                _ => Vec::new(),
            };
            for mut fact in resources.into_iter().chain(globs) {
                if orphans.contains(&fact.name) {
                    fact.state = ResourceState::Orphan;
                }
                let wanted = self.whats.is_empty() || self.whats.iter().any(|what| what.is(&fact));
                if wanted && self.filter.resource_with(&fact, self.store, &contents) && self.is_news(&fact) {
                    printed += 1;
                    see(fact)?;
                }
            }
        }
        Ok(printed)
    }

    /// Finds the resources of a type that are in force and that nothing refers to.
    fn orphans(&self, state: &StateFact) -> HashSet<Arc<str>> {
        let kind = Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind);
        let looked = |kind: &Kind| graph::has_orphans(*kind) && state.summary.last_state.is_none();
        let Some(kind) = kind.filter(looked) else { return HashSet::new() };
        let Some(graph) = self.graphs.of(state.summary.stream) else { return HashSet::new() };
        graph.orphan_names(state.summary.stream, kind).cloned().collect()
    }

    /// Adds the needs of a warming resource, the clusters that a route points to in vain, and the
    /// certificate of a secret.
    fn add_consequences(&self, fact: &ResourceFact, object: &mut serde_json::Map<String, Value>) {
        let Some((kind, _)) = Kind::of_type_url(fact.type_url.as_str()) else { return };
        let clock = self.store.clock();
        let mut add = |key: &str, value: Option<Value>| {
            object.extend(value.map(|value| (key.to_owned(), value)));
        };
        add("refused_reason", self.reasons.of(fact).map(Value::String));
        add("warming", self.graphs.warming(fact).map(|warming| json::warming(warming, &clock)));
        if !matches!(kind, Kind::Eds | Kind::Rtds | Kind::Leds)
            && let Some(graph) = self.graphs.of(fact.stream)
            && let Some(id) = graph.find(kind, &fact.name)
        {
            add("unavailable_clusters", json::unavailable_clusters(&graph, id, &clock));
            add("other_sources", json::other_sources(&graph, id));
            let certificate = graph.get(id).and_then(|node| node.certificate.as_deref());
            add("certificate", certificate.map(json::certificate));
        }
    }

    fn objects(&self, format: Format, looks: ObjectLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        let mut objects = Objects::new(out, format, looks);
        let structured = self.structured_names();
        let printed = self.each(&mut |fact| {
            let fact = &fact;
            let mut object = json::resource(fact, &self.store.clock());
            let broken = BrokenConstraints::of_resource(self.store, self.schema, fact);
            json::add_broken_constraints(&mut object, &broken);
            if let Value::Object(fields) = &mut object {
                self.add_consequences(fact, fields);
                fields.extend(structured.of(fact).map(|of| ("xdstp".into(), json::structured(&of))));
                let owners = owners_of_resource(self.store.catalog(), fact);
                fields.extend(json::owners(&owners).map(|owners| ("owners".into(), owners)));
                fields.extend(self.authorities(fact).map(|of| ("authorities".into(), of)));
                let body = bodies::resource(self.store, self.schema, fact, FieldNames::Json);
                fields.extend(body.map(|body| ("body".into(), body)));
            }
            Ok(objects.put(&object)?)
        })?;
        objects.finish()?;
        Ok(printed)
    }

    pub(crate) fn structured_names(&self) -> StructuredNames<'_> {
        let streams: BTreeSet<StreamId> = self.states.iter().map(|state| state.summary.stream).collect();
        StructuredNames::new(self.store, self.schema, streams.into_iter().collect())
    }

    /// Lists where the servers of the `xdstp` names in a resource are looked up.
    fn authorities(&self, fact: &ResourceFact) -> Option<Value> {
        let bytes = self.store.catalog().bytes(fact.content?)?;
        memchr::memmem::find(&bytes, b"xdstp:")?;
        let body = bodies::resource(self.store, self.schema, fact, FieldNames::Original)?;
        json::authorities(&links::links_of(self.schema, &body))
    }

    /// Writes each content once, with the first stream that has it.
    fn yaml(&self, terminal: bool, out: &mut dyn Write) -> Result<usize, CliError> {
        let mut seen: HashSet<(String, Option<String>)> = HashSet::new();
        self.each(&mut |fact| {
            let once = fact.hash.clone().or_else(|| Some(format!("stream {}", fact.stream.0)));
            if !seen.insert((format!("{} {}", fact.type_url, fact.name), once)) {
                return Ok(());
            }
            let label = json::type_word(&fact.type_url);
            let kept = fact.kept_in_place_of_refused();
            let version = kept.or(fact.standing()).map_or("-", |version| version);
            let node = fact.node.as_deref().unwrap_or("-");
            let warming = if self.graphs.warming(&fact).is_some() { ", warming" } else { "" };
            let state = format!("{}{warming}", resource_state(&fact).0);
            let about =
                format!("{label}/{}  version {version}  {state}  {node} #{}", fact.name, fact.stream.0);
            writeln!(out, "---\n# {}", xdscope_wire::text::display_safe(&about))?;
            let broken = BrokenConstraints::of_resource(self.store, self.schema, &fact);
            for text in report::broken_constraint_sentences(&broken) {
                writeln!(out, "# {}", xdscope_wire::text::display_safe(&text))?;
            }
            match bodies::resource(self.store, self.schema, &fact, FieldNames::Original) {
                Some(body) => write_yaml(out, &body, "", terminal)?,
                None => writeln!(out, "# no content")?,
            }
            Ok(())
        })
    }

    fn names(&self, out: &mut dyn Write) -> Result<usize, CliError> {
        let mut seen = HashSet::new();
        self.each(&mut |fact| {
            let name = format!("{}/{}", json::type_word(&fact.type_url), fact.name);
            let name = xdscope_wire::text::display_safe(&name).into_owned();
            if seen.insert(name.clone()) {
                writeln!(out, "{name}")?;
            }
            Ok(())
        })
    }

    /// Writes one row per type: how many names, in which states.
    fn counts(&self, looks: TableLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        let mut types: BTreeMap<((usize, String), TypeUrl), Count> = BTreeMap::new();
        let key = |url: &TypeUrl| (report::type_order(url), url.clone());
        for state in self.states {
            types.entry(key(&state.summary.type_url)).or_default().streams.insert(state.summary.stream);
        }
        let printed = self.each(&mut |fact| {
            // A glob is not a resource.
            if fact.state == ResourceState::Empty {
                return Ok(());
            }
            let count = types.entry(key(&fact.type_url)).or_default();
            count.names.insert(fact.name.clone());
            if fact.refused {
                count.refused.insert(fact.name.clone());
            }
            let is_refused_update = fact.refusal.is_some();
            match fact.state {
                _ if is_refused_update && fact.in_force.is_some() => {
                    count.bytes += fact.size;
                    count.present.insert(fact.name.clone())
                }
                _ if fact.is_ignored() => false,
                _ if fact.is_missing() => count.missing.insert(fact.name.clone()),
                ResourceState::Waiting => count.waiting.insert(fact.name.clone()),
                ResourceState::Absent
                | ResourceState::Removed
                | ResourceState::Expired
                | ResourceState::Released => count.gone.insert(fact.name.clone()),
                // In a refused push, and nothing is in force.
                _ if is_refused_update => count.refused.insert(fact.name.clone()),
                _ => {
                    count.bytes += fact.size;
                    count.present.insert(fact.name.clone())
                }
            };
            Ok(())
        })?;
        let number = |role: Role, count_of: fn(&Count) -> usize| {
            move |(_, names): &(TypeUrl, Count)| match count_of(names) {
                0 => Cell::new("0"),
                n => Cell::role(count(n as u64), role),
            }
        };
        let columns = Columns::new()
            .text("TYPE", |(url, _): &(TypeUrl, Count)| type_label(url.as_str()))
            .number("NAMES", number(Role::Plain, |count| count.names.len()))
            .number("PRESENT", number(Role::Plain, |count| count.present.len()))
            .number("REFUSED", number(Role::Bad, |count| count.refused.len()))
            .number("WAITING", number(Role::Pending, |count| count.waiting.len()))
            .number("MISSING", number(Role::Warn, |count| count.missing.len()))
            .number("GONE", number(Role::Muted, |count| count.gone.len()))
            .number("STREAMS", number(Role::Plain, |count| count.streams.len()))
            .number("SIZE", |(_, count)| size(count.bytes));
        let types: Vec<(TypeUrl, Count)> = types.into_iter().map(|((_, url), count)| (url, count)).collect();
        columns.write(&types, looks, out)?;
        Ok(printed)
    }

    /// Formats the time to live of a resource: `9.0s left of 10s; 10s (#2)`.
    fn ttl(&self, fact: &ResourceFact) -> String {
        let left = if self.store.clock().untimed { None } else { report::ttl_left(fact) };
        [left, report::ttl_history(fact)].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The names of a type by their state.
#[derive(Default)]
struct Count {
    streams: BTreeSet<StreamId>,
    names: HashSet<Arc<str>>,
    present: HashSet<Arc<str>>,
    refused: HashSet<Arc<str>>,
    waiting: HashSet<Arc<str>>,
    missing: HashSet<Arc<str>>,
    gone: HashSet<Arc<str>>,
    bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_target_at_the_first_slash() {
        let parts = |text: &str| {
            let what = GetTarget::parse(text);
            (what.kind, what.type_text, what.name)
        };
        let cds = "envoy.config.cluster.v3.Cluster";
        assert_eq!(parts("cds"), (Some(Kind::Cds), "cds".into(), None));
        assert_eq!(parts("clusters/a/b"), (Some(Kind::Cds), "clusters".into(), Some("a/b".into())));
        assert_eq!(parts("cds/xdstp://a/t/n"), (Some(Kind::Cds), "cds".into(), Some("xdstp://a/t/n".into())));
        let url = format!("type.googleapis.com/{cds}");
        assert_eq!(parts(&url), (Some(Kind::Cds), cds.into(), None));
        assert_eq!(parts(&format!("{url}/a")), (Some(Kind::Cds), cds.into(), Some("a".into())));
        assert_eq!(parts("acme.v1.Widget/w"), (None, "acme.v1.Widget".into(), Some("w".into())));
    }
}
