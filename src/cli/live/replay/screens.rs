//! The screens of `replay`. A large file is read in the background; the screens show it meanwhile.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use crate::app::applied::AppliedFile;
use crate::app::live_copy::LiveCopy;
use crate::app::process::signals;
use crate::app::replay::{Cursor, Opened, Opening, OpeningFeed, Options, Reading, Reload, ReplayFeed};
use crate::app::tap::DRAIN_TIME;
use crate::cli::args::{Global, ReplayArgs, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::live::screens;
use crate::cli::source::{applied, offline, schema_flags};
use crate::cli::terminal::io::Io;
use xdscope_engine::analysis::bounded;
use xdscope_engine::filter::FilterTime;
use xdscope_schema::Schema;
use xdscope_sources::{PositionError, ReplayPosition, SchemaCodec};
use xdscope_tui::Decoded;
use xdscope_tui::{Feed, Seek, Speed};
use xdscope_wire::event::Seq;

use super::Growth;

/// Delay before the progress screen; most files are read by then.
const PROGRESS_SCREEN_AFTER: Duration = Duration::from_millis(80);

/// A source that was read, with its notices.
pub(crate) type ReadSource = (Opened, Vec<String>);

pub(super) fn run(args: &ReplayArgs, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let screen = screens::wanted("--view", args.view.as_deref())?;
    let failed = |error| CliError::new(Exit::Defect, "cannot handle signals").because(error);
    let signals = signals::watch(true, DRAIN_TIME).map_err(failed)?;
    let show = |feed: &dyn Feed, io: &Io<'_>| {
        screens::run(feed, screen, &args.screens, args.time, global, io, signals)
    };
    if args.source.source == "-" {
        // Notices are shown on the screens instead.
        let quiet = Global { quiet: true, ..global.clone() };
        let opened = offline::open(&args.source, seed, &quiet, io)?;
        let setup = ScreenSetup::new(args, &opened.schema, None, io)?;
        let notices = opened.loaded.notices.clone();
        let read = (setup.options.open(opened.loaded), notices);
        show(&setup.feed(read)?, io)?;
        return Ok(Exit::Yes);
    }
    let path = offline::find(&args.source.source, io)?;
    let schema = schema_flags::schema(&args.source.descriptors, global)?;
    let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
    let bytes = file.map_or(0, |file| file.len());
    let mut setup = ScreenSetup::new(args, &schema, Some(path.clone()), io)?;
    let options = setup.options.clone();
    let reading = Arc::new(options.reading());
    let file = SourceFile { args: args.source.clone(), follow: args.follow, seed, path: path.clone() };
    setup.reload = args.follow.then(|| file.clone().read_again(&schema, &options)).transpose()?;
    let result = read_in_background(file, &schema, options, reading.clone())?;
    if let Ok(read) = result.recv_timeout(PROGRESS_SCREEN_AFTER) {
        show(&setup.feed(read?)?, io)?;
        return Ok(Exit::Yes);
    }
    let (source, bodies) = (setup.options.source.clone(), Decoded(schema));
    let opening = Opening { source, file: Some(path), bytes, reading, coming: result, say: CliError::render };
    let feed = OpeningFeed::new(opening, bodies, |read| setup.feed(read));
    show(&feed, io)?;
    feed.failure().map_or(Ok(Exit::Yes), Err)
}

/// Reads a file into a cursor, as the screens do: within `--memory`.
pub(super) fn read_file(
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
    options: &Options,
    io: &Io<'_>,
) -> Result<ReadSource, CliError> {
    let path = offline::find(&args.source, io)?;
    let reading = options.reading();
    SourceFile { args: args.clone(), follow: false, seed, path }.read(schema, options, &reading)
}

/// A file to read.
#[derive(Clone)]
struct SourceFile {
    args: SourceArgs,
    /// The file grows, so it may be empty at first.
    follow: bool,
    seed: u64,
    path: PathBuf,
}

impl SourceFile {
    /// Reads the file. `reading` shows how far.
    fn read(
        &self,
        schema: &Arc<Schema>,
        options: &Options,
        reading: &Reading,
    ) -> Result<ReadSource, CliError> {
        let SourceFile { args, follow, seed, path } = self;
        let (spec, codec) = (offline::spec(args, *seed, path), SchemaCodec(schema.clone()));
        let Some(started) = xdscope_sources::start(&spec, &codec)? else {
            let source = xdscope_sources::open(&spec, schema)?;
            if !follow {
                offline::check_content(&source)?;
            }
            let notices = source.loaded.notices.clone();
            return Ok((options.open(source.loaded), notices));
        };
        let format = started.format;
        // Such a source is read into checkpoints, never as a whole.
        let (opened, notices) = Cursor::read(started, reading, None)?;
        reading.report(u64::MAX);
        if opened.0.messages() == 0 && !follow {
            xdscope_sources::check_frames(&args.source, format, opened.0.other_frames())
                .map_err(|error| offline::damaged(error, &notices))?;
        }
        Ok((Opened::new(opened), notices))
    }
}

impl SourceFile {
    /// Reads the file again on a thread, each time it has grown, and every moment while a process
    /// writes it.
    fn read_again(self, schema: &Arc<Schema>, options: &Options) -> Result<Reload, CliError> {
        let (schema, options) = (schema.clone(), options.clone());
        let mut growth = Growth::new(self.path.clone());
        let (send, receive) = channel();
        let work = move || {
            let (mut spent, mut was_written) = (Duration::ZERO, growth.is_written());
            loop {
                growth.wait_for_change(spent, was_written);
                was_written = growth.is_written();
                let begun = Instant::now();
                let reading = options.reading();
                // A file that cannot be read may be half written: try again later.
                if let Ok((opened, _)) = self.read(&schema, &options, &reading)
                    && send.send(opened).is_err()
                {
                    return;
                }
                spent = begun.elapsed();
            }
        };
        let thread = thread::Builder::new().name("follow".into()).spawn(work);
        thread.map_err(|error| CliError::new(Exit::Defect, "cannot follow the file").because(error))?;
        Ok(receive)
    }
}

/// Reads a file on a thread. `reading` shows how far.
fn read_in_background(
    file: SourceFile,
    schema: &Arc<Schema>,
    options: Options,
    reading: Arc<Reading>,
) -> Result<Receiver<Result<ReadSource, CliError>>, CliError> {
    let schema = schema.clone();
    let work = move || file.read(&schema, &options, &reading);
    let (send, receive) = channel();
    // The receiver is gone once the user has left.
    let thread = thread::Builder::new().name("reader".into()).spawn(move || drop(send.send(work())));
    thread.map_err(|error| CliError::new(Exit::Defect, "cannot start the reader").because(error))?;
    Ok(receive)
}

/// The data that the screens need once the file is read.
struct ScreenSetup {
    at: ReplayPosition,
    play: bool,
    zone: TimeZone,
    options: Options,
    bodies: Decoded,
    reload: Option<Reload>,
    applied: Option<Rc<AppliedFile>>,
}

impl ScreenSetup {
    fn new(
        args: &ReplayArgs,
        schema: &Arc<Schema>,
        file: Option<PathBuf>,
        io: &Io<'_>,
    ) -> Result<ScreenSetup, CliError> {
        Ok(ScreenSetup {
            at: args.at.clone(),
            play: args.play,
            zone: io.zone(args.time),
            options: options(schema, file, args, io),
            bodies: Decoded(schema.clone()),
            reload: None,
            applied: applied::file(
                args.applied.as_deref(),
                offline::options(&args.source.timers).history,
                schema,
                io,
            )?,
        })
    }

    fn feed(self, (opened, notices): ReadSource) -> Result<ReplayFeed, CliError> {
        let at = place(&self.at, &opened.cursor, &self.zone)?;
        let mut options = Options { notices, ..self.options };
        if options.trouble.is_some() {
            // The run goes on.
            options.notices.retain(|notice| !offline::is_unfinished(notice));
        }
        let feed = ReplayFeed::new(opened, options, self.bodies, self.reload).beside(self.applied);
        let setup = [Some(at).filter(|at| *at != Seek::End), self.play.then_some(Seek::Toggle)];
        for seek in setup.into_iter().flatten() {
            feed.replay(None, seek).map_err(|why| {
                CliError::usage(format!("--at or --play: {why}")).next("--at start, --at end")
            })?;
        }
        Ok(feed)
    }
}

/// Finds the first position of the cursor.
pub(super) fn place(at: &ReplayPosition, cursor: &Cursor, zone: &TimeZone) -> Result<Seek, CliError> {
    match at {
        ReplayPosition::End => Ok(Seek::End),
        ReplayPosition::Start => Ok(Seek::Start),
        ReplayPosition::Nack => Ok(Seek::FirstNack),
        ReplayPosition::Moment(FilterTime::Message(n)) if n.0 == 0 || n.0 > cursor.messages() => {
            Err(PositionError::NoMessage { wanted: n.0, last: cursor.messages() }.into())
        }
        ReplayPosition::Moment(FilterTime::Message(n)) => Ok(Seek::Message(Seq(n.0))),
        ReplayPosition::Moment(moment) => {
            let time = moment.time(cursor.store().clock(), cursor.end().now, zone).map(Seek::Time);
            Ok(time.ok_or(PositionError::NoDates)?)
        }
    }
}

fn options(schema: &Arc<Schema>, file: Option<PathBuf>, args: &ReplayArgs, io: &Io<'_>) -> Options {
    let typed = &args.source.source;
    let name = Path::new(typed).file_name().map(|name| name.to_string_lossy().into_owned());
    let copy = io.copy_of(typed);
    let source = match copy {
        Some(_) => typed.clone(),
        None => format!("replay {}", name.unwrap_or_else(|| typed.clone())),
    };
    Options {
        store: offline::options(&args.source.timers),
        meaning: crate::app::tap::meaning(schema.clone()),
        rules: bounded(schema),
        idle: args.idle_limit,
        speed: Speed::new(args.speed),
        source,
        rerun: typed.clone(),
        notices: Vec::new(),
        copies: io.state_dir().unwrap_or_else(std::env::temp_dir),
        file,
        rewound: false,
        trouble: copy.map(LiveCopy::trouble),
    }
}
