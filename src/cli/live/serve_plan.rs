//! The plan of `serve`: snapshots or scripts, read from a source within `--memory`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::tz::TimeZone;

use xdscope_engine::store::{Store, StreamFact};
use xdscope_present::report;
use xdscope_present::text::shell_word;
use xdscope_sources::peers::client;
use xdscope_sources::peers::server::{
    Plan, PlaybackSpeed, Script, Scripts, ScriptsReader, Snapshot, TooLarge,
};
use xdscope_sources::{
    self, BoundedCatalog, Folded, FrameSink, Limit, Passes, ReadProgress, SourceFormat, StoreUntil,
};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};
use xdscope_wire::text::{count, plural, size, type_label};
use xdscope_wire::{Frame, FramePayload};

use crate::cli::args::{ServeArgs, ServeMode};
use crate::cli::error::CliError;
use crate::cli::source::offline;
use crate::cli::source::select;
use crate::cli::source::select::Picked;

/// Number of items that a message names.
pub(crate) const MAX_NAMED: usize = 5;

/// Number of resources of all nodes beyond which nodes are not served separately.
const MAX_RESOURCES_SERVED_BY_NODE: u64 = 5_000_000;

/// A plan, and what to say about it.
pub(crate) struct ServePlan {
    pub(crate) plan: Plan,
    pub(crate) about: Vec<String>,
    /// Resources that redaction left incomplete.
    pub(crate) incomplete: Vec<String>,
    /// Damage of the source.
    pub(crate) notices: Vec<String>,
}

/// A source to serve, and how to read it.
pub(crate) struct PlanSource<'a> {
    pub(crate) passes: Passes,
    pub(crate) format: SourceFormat,
    pub(crate) args: &'a ServeArgs,
    pub(crate) zone: &'a TimeZone,
    pub(crate) progress: &'a mut dyn ReadProgress,
}

impl PlanSource<'_> {
    /// Reads the source.
    pub(crate) fn plan(mut self) -> Result<ServePlan, CliError> {
        let limit = match Limit::known(&self.args.at) {
            Some(limit) => limit,
            None => Limit::within(&self.args.at, &self.passes.span(self.progress)?, self.zone)?,
        };
        self.check_files()?;
        match self.args.mode {
            ServeMode::Snapshot => self.snapshots(limit),
            ServeMode::Script => self.scripts(limit),
        }
    }

    /// Returns the state at `limit`, and what the reader says about the source.
    fn store(&mut self, limit: Limit) -> Result<(Store, Folded<()>), CliError> {
        let (options, schema) = (offline::options(&self.args.live.timers), self.passes.schema().clone());
        let folded = self.passes.fold(self.progress, |catalog, clock| {
            StoreUntil::new(xdscope_sources::store(options, catalog, clock, &schema), limit)
        })?;
        let mut store = None;
        let folded = folded.map(|until| store = Some(until.into_facts()));
        Ok((store.expect("the fold has a store"), folded))
    }

    /// Refuses files with a response that every client must refuse: one with resources of another
    /// type, or with a name that occurs twice. Recordings and scripts may have such responses.
    fn check_files(&mut self) -> Result<(), CliError> {
        if !matches!(self.format, SourceFormat::Response | SourceFormat::Folder) {
            return Ok(());
        }
        let folded = self.passes.fold(self.progress, |catalog, _| FileCheck { catalog, why: None })?;
        let FileCheck { catalog, why } = folded.facts;
        self.passes.give_back(catalog);
        let Some(why) = why else { return Ok(()) };
        let error = CliError::unreadable(format!("cannot serve {}: {why}", self.passes.name()));
        Err(error.next("one type and distinct names in each response"))
    }

    fn snapshots(mut self, limit: Limit) -> Result<ServePlan, CliError> {
        let args = self.args;
        let (store, folded) = self.store(limit)?;
        let streams = Picked::of(args.streams.pick().as_ref(), &store)?.streams;
        let all = Snapshot::from_store(&store, &streams);
        if all.is_empty() {
            return Err(nothing(args));
        }
        let mut about = vec![format!("serving {}", of_types(&all))];
        let mut by_node = BTreeMap::new();
        let nodes: BTreeSet<&str> = streams.iter().filter_map(select::node).collect();
        if args.streams.pick().is_none() && nodes.len() > 1 {
            let others = "--node NAME or --stream '#N' serves one of them to all";
            if store.summaries().iter().map(|cell| cell.resources).sum::<u64>() > MAX_RESOURCES_SERVED_BY_NODE
            {
                about.push(format!(
                    "{}: too many resources to serve each node its own, so all are served to each; {others}",
                    nodes_of(&nodes)
                ));
            } else {
                by_node =
                    nodes.iter().map(|node| (String::from(*node), own(&store, &streams, node))).collect();
                about.push(format!(
                    "{}: each receives its own resources, other clients all; {others}",
                    nodes_of(&nodes)
                ));
            }
        }
        let incomplete = all.incomplete().iter().map(|(url, name)| named(url, name)).collect();
        about.extend(dropped(&store, args));
        let (plan, notices) = (Plan::Snapshots { by_node, all: Arc::new(all) }, folded.notices);
        Ok(ServePlan { plan, about, incomplete, notices })
    }

    fn scripts(mut self, limit: Limit) -> Result<ServePlan, CliError> {
        let (args, most) = (self.args, self.args.live.timers.memory);
        let (store, folded) = self.store(limit)?;
        let name = folded.with_messages()?.name;
        let streams = Picked::of(args.streams.pick().as_ref(), &store)?.streams;
        let wanted: BTreeSet<_> = streams.iter().map(|stream| stream.stream).collect();
        self.passes.give_back(store.into_catalog());
        let budget = offline::options(&args.live.timers).history;
        let folded = self.passes.fold(self.progress, |catalog, _| ScriptSink {
            contents: BoundedCatalog::new(catalog, budget / 2),
            scripts: ScriptsReader::new(most),
            wanted,
            limit,
            n: Seq(0),
            result: Ok(()),
        })?;
        let (mut scripts, mut result) = (Vec::new(), Ok(()));
        let folded = folded.map(|sink| (scripts, result) = (sink.scripts.finish(), sink.result));
        result.map_err(|error| {
            CliError::unreadable(format!("cannot replay {name}: {error}"))
                .next("--node NAME, or --stream '#N'")
                .next("--memory SIZE")
        })?;
        if scripts.is_empty() {
            let error = nothing(args);
            return Err(match streams.is_empty() {
                true => error,
                false => error.next(format!("xdscope serve {} --mode snapshot", shell_word(&args.source))),
            });
        }
        let incomplete: BTreeSet<String> = scripts
            .iter()
            .flat_map(|script| &script.incomplete)
            .map(|(url, name)| named(url, name))
            .collect();
        let mut about: Vec<String> = scripts.iter().take(MAX_NAMED).map(of_script).collect();
        if let Some(more) = scripts.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            about.push(format!("and {more} more"));
        }
        let pace =
            if args.step { PlaybackSpeed::Step } else { args.speed.unwrap_or(PlaybackSpeed::Times(1.0)) };
        let plan = Plan::Scripts(Scripts::new(scripts, pace));
        let incomplete = incomplete.into_iter().collect();
        Ok(ServePlan { plan, about, incomplete, notices: folded.notices })
    }
}

/// Streams as scripts, up to a position.
struct ScriptSink {
    contents: BoundedCatalog,
    scripts: ScriptsReader,
    wanted: BTreeSet<StreamId>,
    limit: Limit,
    /// Number of the last message of the source.
    n: Seq,
    result: Result<(), TooLarge>,
}

impl FrameSink for ScriptSink {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.n.0 += u64::from(xdscope_sources::is_message(&frame));
        let is_wanted = self.wanted.contains(&frame.stream) && self.limit.includes(&frame, self.n);
        if is_wanted && self.result.is_ok() {
            self.result = self.scripts.read(&frame, self.contents.catalog());
        }
    }

    fn advance(&mut self, _now: Time) {}

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        let scripts = &self.scripts;
        let used = self.contents.drop_old(|used| {
            mark(used);
            scripts.mark(used);
        })?;
        self.scripts.forget_lists();
        Some(used)
    }

    fn is_done(&self) -> bool {
        self.result.is_err()
    }
}

/// A check of files with responses.
struct FileCheck {
    catalog: Catalog,
    /// Why a client must refuse a response.
    why: Option<String>,
}

impl FrameSink for FileCheck {
    fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }

    fn handle(&mut self, frame: Frame) {
        if let (FramePayload::Message(message), None) = (&frame.what, &self.why) {
            self.why = client::check(message, &self.catalog).map(|why| why.to_string());
        }
    }

    fn advance(&mut self, _now: Time) {}
}

fn nothing(args: &ServeArgs) -> CliError {
    CliError::unreadable(format!("no response in {} to serve", args.source))
        .next(format!("xdscope info {}", shell_word(&args.source)))
}

fn own(store: &Store, streams: &[StreamFact], node: &str) -> Arc<Snapshot> {
    let own: Vec<StreamFact> =
        streams.iter().filter(|stream| select::node(stream) == Some(node)).cloned().collect();
    Arc::new(Snapshot::from_store(store, &own))
}

fn nodes_of(nodes: &BTreeSet<&str>) -> String {
    let named: Vec<&str> = nodes.iter().take(MAX_NAMED).copied().collect();
    let more = if nodes.len() > MAX_NAMED { ", …" } else { "" };
    format!("{} ({}{more})", plural(nodes.len() as u64, "node"), named.join(", "))
}

/// Lists types in the order of the screens, with the number of resources of each.
fn of_types(snapshot: &Snapshot) -> String {
    let mut types: Vec<_> = snapshot.types().collect();
    types.sort_by_key(|(url, _)| report::type_order(url));
    let words = types.iter().map(|(url, known)| {
        format!("{} {} (version {})", type_label(url.as_str()), count(known.len() as u64), known.version)
    });
    words.collect::<Vec<_>>().join(", ")
}

fn named(url: &TypeUrl, name: &str) -> String {
    format!("{}/{name}", xdscope_present::json::type_word(url))
}

fn of_script(script: &Script) -> String {
    let node = script.node.as_deref().unwrap_or("a client without a node");
    let responses = plural(script.responses() as u64, "response");
    let seconds = script.lasts().as_secs_f64();
    let kind = script.kind();
    format!("stream #{} as a script: {kind} of {node}, {responses} in {seconds:.1}s", script.stream.0)
}

/// Says how many ended streams did not fit into memory.
fn dropped(store: &Store, args: &ServeArgs) -> Option<String> {
    let streams = store.dropped_streams() as u64;
    let memory = size(args.live.timers.memory).replace(' ', "");
    (streams > 0).then(|| {
        format!("{} did not fit into --memory {memory} and are left out", plural(streams, "ended stream"))
    })
}
