//! A source into facts while it is read: a recording or a capture is never held as a whole.

use std::io::Seek;
use std::sync::Arc;

use crate::app::analysis::Analysis;
use crate::cli::args::{Global, SourceArgs, TimerFlags};
use crate::cli::error::CliError;
use crate::cli::io::Io;
use crate::cli::progress::Progress;
use crate::engine::store::Store;
use crate::schema::Schema;
use crate::sources::pcap::{self, CaptureError};
use crate::sources::record::{self, Loaded};
use crate::wire::Frame;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Time, TypeUrl};

use super::{
    Form, Source, capture, capture_options, locate, meaning, no_session, options, read, say, unreadable,
};

/// What frames are folded into.
pub(in crate::cli) trait Fold {
    fn catalog_mut(&mut self) -> &mut Catalog;
    fn handle(&mut self, frame: Frame);
    fn advance(&mut self, now: Time);
}

impl Fold for Store {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.catalog_mut()
    }
    fn handle(&mut self, frame: Frame) {
        self.handle(frame);
    }
    fn advance(&mut self, now: Time) {
        self.advance(now);
    }
}

impl Fold for Analysis {
    fn catalog_mut(&mut self) -> &mut Catalog {
        Store::catalog_mut(self)
    }
    fn handle(&mut self, frame: Frame) {
        self.handle(frame);
    }
    fn advance(&mut self, now: Time) {
        self.advance(now);
    }
}

/// A source at its end.
pub(in crate::cli) struct Folded<T> {
    pub facts: T,
    pub schema: Arc<Schema>,
    /// What a server was asked for and did not answer: a type, or one name of it.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
    /// What a person must know of it.
    notices: Vec<String>,
    name: String,
    form: Form,
}

impl<T> Folded<T> {
    /// For verbs about messages.
    ///
    /// # Errors
    /// The source is what a client has applied: there are none in it.
    pub(in crate::cli) fn with_messages(self) -> Result<Folded<T>, CliError> {
        match self.form {
            Form::Dump(_) => Err(no_session(&self.name, self.form)),
            _ => Ok(self),
        }
    }
}

/// Folds the source that `args` name into what `begin` makes, and says on stderr what a person must know of it.
pub(in crate::cli) fn fold<T: Fold>(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T,
) -> Result<Folded<T>, CliError> {
    let folded = quietly(args, global, io, begin)?;
    say(&folded.notices, global, io);
    Ok(folded)
}

/// A store that knows what contents mean.
pub(in crate::cli) fn store(
    timers: &TimerFlags,
    catalog: Catalog,
    clock: Clock,
    schema: &Arc<Schema>,
) -> Store {
    let mut store = Store::new(catalog, clock, options(timers));
    store.set_meaning(meaning(schema.clone()));
    store
}

/// The streams and states that the source which `args` name ends with.
pub(in crate::cli) fn states(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(Store, Arc<Schema>), CliError> {
    let folded = quietly(args, global, io, |catalog, clock, schema| {
        let mut store = store(&args.timers, catalog, clock, schema);
        store.keep_states_only();
        store
    })?;
    let Folded { facts: store, schema, notices, .. } = folded;
    // Nothing is in sync in a file of which nothing is left.
    if store.streams().is_empty() && !notices.is_empty() {
        let error = CliError::unreadable(format!("nothing of {} can be read", args.source));
        return Err(error.because(crate::wire::text::display_safe(&notices.join("; "))));
    }
    say(&notices, global, io);
    Ok((store, schema))
}

fn quietly<T: Fold>(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T,
) -> Result<Folded<T>, CliError> {
    let seed = crate::cli::descriptors::seed()?;
    if super::is_server(&args.source) {
        return Ok(whole(crate::cli::client::fetch(args, seed, global, io)?, begin));
    }
    let schema = crate::cli::descriptors::schema(&args.descriptors)?;
    let path = locate(args, global, io)?;
    let bytes = path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
    let mut progress = Progress::new(&args.source, bytes, global, io);
    let done = |facts, form, notices| {
        let (name, unanswered) = (args.source.clone(), Vec::new());
        Folded { facts, schema: schema.clone(), unanswered, notices, name, form }
    };
    let failed = |error| unreadable(args, error);
    let recording = match &path {
        Some(path) if path.is_file() => record::start(path).map_err(failed)?,
        _ => None,
    };
    let mut frames = Vec::new();
    if let Some((catalog, mut recording)) = recording {
        let mut facts = begin(catalog, recording.clock(), &schema);
        while recording.next(facts.catalog_mut(), &mut frames).map_err(failed)? {
            frames.drain(..).for_each(|frame| facts.handle(frame));
            progress.at(|| recording.position());
        }
        let (end, notices) = recording.finish();
        facts.advance(end);
        return Ok(done(facts, Form::Recording, notices));
    }
    if let Some(file) = path.as_deref().and_then(capture) {
        let failed = |error: CaptureError| unreadable(args, error);
        let options = capture_options(args, seed, &schema);
        // It shares the place up to which the file is read.
        let mut place = file.try_clone();
        let (catalog, mut capture) = pcap::start(file, &options).map_err(failed)?;
        let mut facts = begin(catalog, capture.clock(), &schema);
        while capture.next(facts.catalog_mut(), &mut frames).map_err(|error| failed(error.into()))? {
            frames.drain(..).for_each(|frame| facts.handle(frame));
            progress.at(|| place.as_mut().ok().and_then(|place| place.stream_position().ok()).unwrap_or(0));
        }
        let (end, notices) = capture.finish();
        facts.advance(end);
        return Ok(done(facts, Form::Capture, notices));
    }
    drop(progress);
    Ok(whole(read(args, seed, path.as_deref(), schema, io)?, begin))
}

/// What is in memory already.
fn whole<T: Fold>(source: Source, begin: impl FnOnce(Catalog, Clock, &Arc<Schema>) -> T) -> Folded<T> {
    let Source { name, form, loaded, schema, unanswered, .. } = source;
    let Loaded { catalog, clock, frames, end, notices, .. } = loaded;
    let mut facts = begin(catalog, clock, &schema);
    frames.into_iter().for_each(|frame| facts.handle(frame));
    facts.advance(end);
    Folded { facts, schema, unanswered, notices, name, form }
}
