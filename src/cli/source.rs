//! SOURCE to facts: a recorded source, or a server that is asked now.

pub(super) mod applied;
mod attached;
pub(super) mod changes;
pub(super) mod folders;
pub(super) mod kubernetes;
pub(super) mod live_copies;
pub(super) mod offline;
mod ports;
pub(super) mod prefixes;
pub(super) mod schema_flags;
pub(super) mod select;
pub(super) mod stdin_file;
pub(super) mod target;
mod wanted_copy;
use std::sync::Arc;

use xdscope_engine::analysis;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint;
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_sources::{Folded, FrameSink, Limit, Passes, ReplayPosition, Source, StoreUntil, Until};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{latency, plural, size};

use super::args::{Global, SourceArgs};
use super::error::CliError;
use crate::cli::peer::client;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::{Busy, Progress};
use offline::Location;

/// Opens SOURCE, and prints its notices to stderr.
pub(super) fn open(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Source, CliError> {
    open_with_seed(args, schema_flags::seed()?, global, io)
}

/// Opens SOURCE, with `seed` as the key of the ids of secrets, except in recordings.
pub(super) fn open_with_seed(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    if offline::is_server(&args.source) {
        return client::fetch(args, seed, global, io);
    }
    let busy = Busy::start(&format!("reading {}", args.source), global, io);
    let opened = offline::open(args, seed, global, io);
    drop(busy);
    opened
}

/// Folds SOURCE into what `begin` makes, and prints its notices to stderr.
pub(super) fn fold<T: FrameSink>(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T,
) -> Result<Folded<T>, CliError> {
    let folded = fold_any(args, global, io, begin)?;
    // An empty or damaged file must not pass for one that is in sync.
    folded.check_content().map_err(|error| offline::damaged(error, &folded.notices))?;
    offline::say(&folded.notices, global, io);
    Ok(folded)
}

/// Folds SOURCE up to a position into a store, and checks it against the rules that `rules`
/// chooses.
pub(super) fn analyse_at(
    args: &SourceArgs,
    position: &ReplayPosition,
    rules: impl Fn(&Arc<Schema>) -> lint::Options,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Folded<Analysis>, CliError> {
    let facts =
        |catalog, clock, schema: &Arc<Schema>| analysis_of(args, rules(schema), (catalog, clock), schema);
    let folded = if *position == ReplayPosition::End {
        fold(args, global, io, facts)?
    } else {
        let (mut passes, _) = passes(args, global, io)?;
        let limit = limit(&mut passes, position, global, io)?;
        let schema = passes.schema().clone();
        let mut progress = Progress::new(&args.source, global, io);
        let folded =
            passes.fold(&mut progress, |catalog, clock| Until::new(facts(catalog, clock, &schema), limit))?;
        drop(progress);
        offline::say(&folded.notices, global, io);
        folded.map(Until::into_facts)
    };
    say_dropped(&folded.facts, args, global, io);
    Ok(folded)
}

/// Folds a source that was opened for SOURCE, and checks it against the rules.
pub(super) fn analyse(args: &SourceArgs, source: Source) -> Analysis {
    let schema = source.schema.clone();
    let rules = analysis::rules(&schema);
    source.fold(|catalog, clock| analysis_of(args, rules, (catalog, clock), &schema)).facts
}

/// Returns the facts of SOURCE before its first frame.
pub(super) fn analysis_of(
    args: &SourceArgs,
    rules: lint::Options,
    (catalog, clock): (Catalog, Clock),
    schema: &Arc<Schema>,
) -> Analysis {
    Analysis::new(xdscope_sources::store(offline::options(&args.timers), catalog, clock, schema), rules)
}

/// Opens SOURCE for reading it in passes, and refuses one that holds nothing of xDS. Returns what
/// the first look says about it, too.
pub(super) fn passes(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Passes, Folded<()>), CliError> {
    passes_with_seed(args, schema_flags::seed()?, global, io)
}

/// Opens SOURCE like [`passes`], and refuses a server.
pub(super) fn offline_passes(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Passes, Folded<()>), CliError> {
    if offline::is_server(&args.source) {
        offline::find(&args.source, io)?;
    }
    passes(args, global, io)
}

fn passes_with_seed(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Passes, Folded<()>), CliError> {
    let budget = offline::options(&args.timers).history;
    let mut passes = if offline::is_server(&args.source) {
        Passes::new(client::fetch(args, seed, global, io)?, budget)
    } else {
        let schema = schema_flags::schema(&args.descriptors, global)?;
        match offline::locate(args, global, io)? {
            Location::Path(path) => Passes::open(&offline::spec(args, seed, &path), &schema, budget)?,
            location => Passes::new(offline::read(args, seed, &location, &schema, io)?, budget),
        }
    };
    let seen = passes.look(&mut Progress::new(&args.source, global, io))?;
    seen.check_content().map_err(|error| offline::damaged(error, &seen.notices))?;
    Ok((passes, seen))
}

/// Finds a position in a source.
pub(super) fn limit(
    passes: &mut Passes,
    position: &ReplayPosition,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Limit, CliError> {
    if let Some(limit) = Limit::known(position) {
        return Ok(limit);
    }
    let name = passes.name().to_owned();
    let span = passes.span(&mut Progress::new(&name, global, io))?;
    let limit = Limit::within(position, &span, &io.zone)?;
    if let Limit::Time(at) = limit
        && at > span.end
        && !global.quiet
    {
        let [at, end] = [at, span.end].map(|time| latency(time.since(Time::ZERO)));
        io.say(&format!("the source ends at +{end}: the state at +{at} supposes that no message came since"));
    }
    Ok(limit)
}

/// Folds SOURCE up to a position into a store, and prints its notices to stderr.
pub(super) fn store_at(
    args: &SourceArgs,
    position: &ReplayPosition,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Store, Folded<()>), CliError> {
    store_with_seed(args, position, schema_flags::seed()?, global, io)
}

/// Folds SOURCE like [`store_at`], with `seed` as the key of the ids of secrets, except in
/// recordings.
pub(super) fn store_with_seed(
    args: &SourceArgs,
    position: &ReplayPosition,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Store, Folded<()>), CliError> {
    let (mut passes, _) = passes_with_seed(args, seed, global, io)?;
    let limit = limit(&mut passes, position, global, io)?;
    let schema = passes.schema().clone();
    let mut progress = Progress::new(&args.source, global, io);
    let folded = passes.fold(&mut progress, |catalog, clock| {
        let store = xdscope_sources::store(offline::options(&args.timers), catalog, clock, &schema);
        StoreUntil::new(store, limit)
    })?;
    drop(progress);
    offline::say(&folded.notices, global, io);
    let mut store = None;
    let folded = folded.map(|until| store = Some(until.into_facts()));
    let mut store = store.expect("the fold has a store");
    store.find_unreadable(&folded.schema);
    say_dropped(&store, args, global, io);
    Ok((store, folded))
}

/// Says how many ended streams a store has dropped.
pub(super) fn say_dropped(store: &Store, args: &SourceArgs, global: &Global, io: &mut Io<'_>) {
    let streams = store.dropped_streams() as u64;
    if streams > 0 && !global.quiet {
        let memory = args.timers.memory;
        let size = |bytes: u64| size(bytes).replace(' ', "");
        io.say(&format!(
            "{} did not fit into --memory {} and are left out; --memory {} holds twice as many",
            plural(streams, "ended stream"),
            size(memory),
            size(memory.saturating_mul(2)),
        ));
    }
}

/// Folds SOURCE, also one that holds nothing of xDS, and prints nothing.
pub(super) fn fold_any<T: FrameSink>(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T,
) -> Result<Folded<T>, CliError> {
    let seed = schema_flags::seed()?;
    if offline::is_server(&args.source) {
        let source = client::fetch(args, seed, global, io)?;
        let schema = source.schema.clone();
        return Ok(source.fold(|catalog, clock| begin(catalog, clock, &schema)));
    }
    let schema = schema_flags::schema(&args.descriptors, global)?;
    let begin = |catalog, clock| begin(catalog, clock, &schema);
    let folded = match offline::locate(args, global, io)? {
        Location::Path(path) => {
            let spec = offline::spec(args, seed, &path);
            xdscope_sources::fold(&spec, &schema, &mut Progress::new(&args.source, global, io), begin)?
        }
        location => offline::read(args, seed, &location, &schema, io)?.fold(begin),
    };
    Ok(folded)
}
