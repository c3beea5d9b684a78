//! `replay`: a recording with a time cursor, on screens, or with the rows of `log`.

mod screens;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use crate::app::recording::recording_file;
use crate::app::replay::{Cursor, Options};
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_sources::{
    self, Limit, Passes, ReadProgress, ReplayPosition, RowSink, SourceFormat, StoreUntil, Timeline as _,
};
use xdscope_tui::Seek;

use crate::cli::args::{Format, Global, LogArgs, ReplayArgs, RowArgs, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::read::{log, wait};
use crate::cli::source;
use crate::cli::source::select::Picked;
use crate::cli::source::{offline, schema_flags, select};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;

/// Interval at which a followed file is checked.
const FILE_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Interval at which facts of a recording without new events are found again while a process writes
/// it, because timers go on.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// Reading again takes at most one part in this many of the time.
const IDLE_SHARE: u32 = 10;

pub(crate) fn run(args: &ReplayArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow {
        check_is_file(&args.source, "--follow")?;
    }
    if opens_screens(args, io) {
        return screens::run(args, schema_flags::seed()?, global, io);
    }
    if offline::is_server(&args.source.source) {
        offline::find(&args.source.source, io)?;
    }
    let log = as_log(args);
    if args.follow { follow_log(&log, &args.at, global, io) } else { log::print(&log, &args.at, global, io) }
}

/// Whether a replay opens screens, and does not print lines.
pub(crate) fn opens_screens(args: &ReplayArgs, io: &Io<'_>) -> bool {
    args.format.is_none() && !args.no_tui && args.tail.is_none() && io.has_screen()
}

/// Reads a file into a cursor, as the screens do: within `--memory`. Returns its notices, too.
pub(crate) fn read_file(
    args: &SourceArgs,
    schema: &Arc<Schema>,
    options: &Options,
    io: &Io<'_>,
) -> Result<screens::ReadSource, CliError> {
    screens::read_file(args, schema_flags::seed()?, schema, options, io)
}

/// Finds a position of the time cursor.
pub(crate) fn position(at: &ReplayPosition, cursor: &Cursor, zone: &TimeZone) -> Result<Seek, CliError> {
    screens::place(at, cursor, zone)
}

/// Returns the `log` that prints the rows of a replay without screens.
fn as_log(args: &ReplayArgs) -> LogArgs {
    let rows = RowArgs { streams: Default::default(), filter: args.filter.clone(), no_headers: false };
    LogArgs {
        format: args.format.unwrap_or(Format::Text),
        tail: args.tail,
        since: None,
        follow: args.follow,
        ladder: false,
        body: false,
        time: args.time,
        source: args.source.clone(),
        rows,
    }
}

/// Refuses to follow stdin.
pub(crate) fn check_is_file(args: &SourceArgs, flag: &str) -> Result<(), CliError> {
    match args.source.as_str() {
        "-" => {
            Err(CliError::usage(format!("{flag} needs a file, and SOURCE is stdin")).next("name the file"))
        }
        _ => Ok(()),
    }
}

/// Prints the rows of a file up to a position, then those that come.
pub(crate) fn follow_log(
    args: &LogArgs,
    at: &ReplayPosition,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    check_is_file(&args.source, "--follow")?;
    let schema = schema_flags::schema(&args.source.descriptors, global)?;
    let path = offline::find(&args.source.source, io)?;
    let spec = offline::spec(&args.source, schema_flags::seed()?, &path);
    let options = offline::options(&args.source.timers);
    let mut growth = Growth::new(path);
    let passes = || Passes::open(&spec, &schema, options.history);
    let mut limit = match Limit::known(at) {
        Some(limit) => limit,
        None => source::limit(&mut passes()?, at, global, io)?,
    };
    let since = match args.since {
        None => None,
        Some(since) => {
            let span = passes()?.span(&mut Progress::new(&args.source.source, global, io))?;
            Some(log::since_of(since, span.clock, span.end)?)
        }
    };
    let mut out = std::mem::replace(&mut io.stdout, Box::new(std::io::sink()));
    let mut log = log::Log::new(args, global, io, &mut *out)?;
    select::say_unknown_types(&log.filter, global.quiet, io);
    log.since = since.unwrap_or_default();
    let mut is_first = true;
    loop {
        let (begun, is_written) = (Instant::now(), growth.is_written());
        log.begin_reading();
        let folded = xdscope_sources::fold(&spec, &schema, &mut Unseen, |catalog, clock| {
            let store = xdscope_sources::store(options, catalog, clock, &schema);
            let (log, schema) = (&mut log, schema.clone());
            RowSink::new(StoreUntil::new(store, limit), move |facts: &StoreUntil, rows| {
                if let Ok(picked) = Picked::of(args.rows.streams.pick().as_ref(), facts.store()) {
                    log.take(facts.store(), &schema, &picked, rows);
                }
            })
        });
        let mut parts = None;
        let folded = folded.map(|folded| folded.map(|sink| parts = Some(sink.into_parts())));
        let (mut is_ended, mut is_growing) = (false, false);
        match folded {
            Ok(folded) => {
                is_ended = growth.has_ended(folded.format, &folded.notices, is_written);
                if is_first {
                    offline::say(&folded.with_messages()?.notices, global, io);
                }
            }
            Err(error) if is_first => return Err(error.into()),
            // A file that cannot be read may be half written: try again later.
            Err(_) => {}
        }
        if let Some((facts, shown)) = &parts {
            let growth = (!is_ended).then_some(&mut growth);
            match Picked::of(args.rows.streams.pick().as_ref(), facts.store()) {
                Ok(picked) => {
                    is_growing = take_rest(&mut log, (facts.store(), *shown), &schema, &picked, growth)?;
                }
                Err(error) if is_first => return Err(error),
                Err(_) => {}
            }
        }
        if is_ended {
            io.check_copy(&args.source.source)?;
            wait::say_ended(&args.source.source, global, io);
            return Ok(Exit::Yes);
        }
        (is_first, limit) = (false, Limit::All);
        if !is_growing {
            growth.wait(begun.elapsed(), is_written);
        }
    }
}

/// Takes the rows of a store after the first `shown`. Rows of a growing source may wait for their
/// nodes. Returns whether the source has grown meanwhile, with rows left.
fn take_rest(
    log: &mut log::Log<'_>,
    (store, shown): (&Store, usize),
    schema: &Arc<Schema>,
    picked: &Picked,
    growth: Option<&mut Growth>,
) -> Result<bool, CliError> {
    let settled = if growth.is_some() { store.settled_rows(shown) } else { store.rows() };
    log.take(store, schema, picked, shown..settled);
    log.go_live(store, schema)?;
    if let Some(growth) = growth
        && settled < store.rows()
        && growth.grows_within(Store::FIRST_REQUEST_TIME)
    {
        return Ok(true);
    }
    log.take(store, schema, picked, settled..store.rows());
    log.flush()?;
    Ok(false)
}

/// A source that grows: a file, or the recordings of a folder.
pub(crate) struct Growth {
    path: PathBuf,
    /// Size in bytes when the source was last read.
    known: u64,
}

impl Growth {
    pub(crate) fn new(path: PathBuf) -> Growth {
        Growth { known: xdscope_sources::size_of(&path), path }
    }

    /// Whether nothing more comes to the source. `notices` are those of its reading, and
    /// `was_written` says whether it had a writer before it was read.
    pub(crate) fn has_ended(&self, format: SourceFormat, notices: &[String], was_written: bool) -> bool {
        // The files of a session are closed one by one: while there is a writer, one may follow.
        let is_session = xdscope_sources::first_of_session(&self.path).is_some();
        let may_end = if is_session { !was_written } else { self.path.is_file() };
        may_end && wait::is_ended_recording(format, notices, was_written)
    }

    /// Whether a process writes the source.
    pub(crate) fn is_written(&self) -> bool {
        recording_file::written_at(&self.path).is_some()
    }

    /// Waits until the source has grown, or until the process has ended that wrote it when it was
    /// last read. `spent` is how long that reading took.
    pub(crate) fn wait(&mut self, spent: Duration, was_written: bool) {
        let mut pause = FILE_CHECK_INTERVAL.max(spent * IDLE_SHARE);
        while !self.has_grown_after(pause) {
            if was_written && !self.is_written() {
                return;
            }
            pause = FILE_CHECK_INTERVAL;
        }
    }

    /// Waits until the source has grown, for `time` at most. Returns whether it has.
    pub(crate) fn grows_within(&mut self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.has_grown_after(FILE_CHECK_INTERVAL) {
                return true;
            }
        }
        false
    }

    /// Waits like [`wait`](Growth::wait), but only for a moment while a process writes the source,
    /// and until that process ends.
    pub(crate) fn wait_for_change(&mut self, spent: Duration, was_written: bool) {
        let begun = Instant::now();
        let mut pause = FILE_CHECK_INTERVAL.max(spent * IDLE_SHARE);
        while !self.has_grown_after(pause) {
            if was_written && (begun.elapsed() >= TICK || !self.is_written()) {
                return;
            }
            pause = FILE_CHECK_INTERVAL;
        }
    }

    /// Sleeps, and returns whether the source has grown.
    fn has_grown_after(&mut self, pause: Duration) -> bool {
        std::thread::sleep(pause);
        let size = xdscope_sources::size_of(&self.path);
        std::mem::replace(&mut self.known, size) != size
    }
}

/// The progress of a reading that nobody watches.
struct Unseen;

impl ReadProgress for Unseen {
    fn start(&mut self, _size: u64) {}
    fn update(&mut self, _position: &dyn Fn() -> u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_sources::record::{Header, Writer};
    use xdscope_wire::event::Clock;

    #[test]
    fn session_has_ended_when_no_file_can_follow() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("00001.xdsrec");
        let writer = recording_file::create(&file).unwrap();
        let header = Header {
            created: 0,
            seed: 42,
            keep_secrets: false,
            tool: "xdscope test".into(),
            source: "a test".into(),
            clock: Clock::default(),
        };
        Writer::in_file(writer.try_clone().unwrap(), header).unwrap().finish().unwrap();
        let (session, alone) = (Growth::new(folder.path().join("00001.xdsrec+")), Growth::new(file));
        let has_ended = |growth: &Growth| growth.has_ended(SourceFormat::Recording, &[], growth.is_written());
        assert!(has_ended(&alone) && !has_ended(&session), "the closed file is one of several");
        drop(writer);
        assert!(has_ended(&session));
    }
}
