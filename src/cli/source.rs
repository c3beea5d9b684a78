//! SOURCE to facts: a recorded source, or a server that is asked now.

use std::sync::Arc;

use crate::app::analysis::{self, Analysis};
use crate::schema::Schema;
use crate::sources::{self, Folded, FrameSink, Source};
use crate::wire::content::Catalog;
use crate::wire::event::Clock;
use crate::wire::text::display_safe;

use super::args::{Global, SourceArgs};
use super::error::CliError;
use super::io::Io;
use super::offline::{self, Location};
use super::progress::Progress;
use super::{client, schema_flags};

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
    offline::open(args, seed, global, io)
}

/// Opens SOURCE, also one that holds nothing of xDS, and prints its notices to stderr.
pub(super) fn open_any(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Source, CliError> {
    if offline::is_server(&args.source) {
        return open(args, global, io);
    }
    let source = offline::read_quietly(args, schema_flags::seed()?, global, io)?;
    offline::say(&source.loaded.notices, global, io);
    if let Err(error) = source.check_content() {
        io.say(&display_safe(&error.to_string()));
    }
    Ok(source)
}

/// Folds SOURCE into what `begin` makes, and prints its notices to stderr.
pub(super) fn fold<T: FrameSink>(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T,
) -> Result<Folded<T>, CliError> {
    let folded = fold_quietly(args, global, io, begin)?;
    offline::say(&folded.notices, global, io);
    Ok(folded)
}

/// Folds SOURCE into a store, and checks it against all rules.
pub(super) fn analyse(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Folded<Analysis>, CliError> {
    fold(args, global, io, |catalog, clock, schema: &_| {
        let store = sources::store(offline::options(&args.timers), catalog, clock, schema);
        Analysis::new(store, analysis::rules(schema))
    })
}

fn fold_quietly<T: FrameSink>(
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
            sources::fold(&spec, &schema, &mut Progress::new(&args.source, global, io), begin)?
        }
        location => offline::read(args, seed, &location, &schema, io)?.fold(begin),
    };
    // An empty or damaged file must not pass for one that is in sync.
    folded.check_content().map_err(|error| offline::damaged(error, &folded.notices))?;
    Ok(folded)
}
