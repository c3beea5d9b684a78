//! `--watch`: facts of a server or of a growing file, printed again as they change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::client::Running;
use crate::app::live_copy::LiveCopy;
use xdscope_engine::analysis;
use xdscope_engine::analysis::Analysis;
use xdscope_schema::Schema;
use xdscope_sources::record::Loaded;

use super::{offline, prefixes, schema_flags};
use crate::cli::args::{Global, SourceArgs, TimerFlags};
use crate::cli::error::{CliError, Exit};
use crate::cli::live::replay;
use crate::cli::live::replay::Growth;
use crate::cli::live::watch::say_trouble;
use crate::cli::peer::client;
use crate::cli::read::wait;
use crate::cli::terminal::io::Io;

/// Interval at which the facts of a server are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The time after which facts are shown although not everything requested has come.
const FIRST_SHOWN_AFTER: Duration = Duration::from_secs(1);

/// The facts that were printed.
#[derive(Default)]
pub(crate) struct PrintedFacts {
    seen: HashMap<String, String>,
}

impl PrintedFacts {
    /// Whether a fact is new, or has another value than before.
    pub(crate) fn is_new(&mut self, fact: String, value: String) -> bool {
        self.seen.insert(fact, value.clone()) != Some(value)
    }
}

/// Called with the facts, first and each time they may have changed. Returns the exit code of one
/// look at them.
type Show<'a> = &'a mut dyn FnMut(&Analysis, &Arc<Schema>, &mut Io<'_>) -> Result<Exit, CliError>;

/// Shows the facts of a source until the process is stopped, stdout is closed, or a recording ends.
/// Returns the exit code of the facts that were shown last.
pub(crate) fn watch(
    source: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    show: Show<'_>,
) -> Result<Exit, CliError> {
    if offline::is_server(&source.source) {
        return watch_server(source, global, io, show);
    }
    replay::check_is_file(source, "--watch")?;
    let seed = schema_flags::seed()?;
    let mut growth = Growth::new(offline::find(&source.source, io)?);
    let (mut is_first, mut exit) = (true, Exit::Yes);
    let trouble = match prefixes::is_port(&source.source) {
        true => io.copy_of(&source.source).map(LiveCopy::trouble),
        false => None,
    };
    let mut reported = None;
    loop {
        let (begun, mut is_ended, is_written) = (Instant::now(), false, growth.is_written());
        match offline::read_quietly(source, seed, global, io) {
            Ok(opened) => {
                if std::mem::take(&mut is_first) {
                    offline::say(&opened.loaded.notices, global, io);
                }
                is_ended = growth.has_ended(opened.format, &opened.loaded.notices, is_written);
                let schema = opened.schema.clone();
                exit = show(&analysis_of(opened.loaded, &source.timers, &schema), &schema, io)?;
            }
            Err(error) if is_first => return Err(error),
            // A file that cannot be read may be half written: try again later.
            Err(_) => {}
        }
        if is_ended {
            wait::say_ended(&source.source, global, io);
            return Ok(exit);
        }
        match &trouble {
            None => growth.wait_for_change(begun.elapsed(), is_written),
            Some(trouble) => {
                while !growth.grows_within(LOOK_INTERVAL) {
                    say_trouble(trouble(), &mut reported, global, io);
                }
            }
        }
    }
}

fn analysis_of(loaded: Loaded, timers: &TimerFlags, schema: &Arc<Schema>) -> Analysis {
    let store = xdscope_sources::store(offline::options(timers), loaded.catalog, loaded.clock, schema);
    let mut facts = Analysis::new(store, analysis::rules(schema));
    loaded.frames.into_iter().for_each(|frame| facts.handle(frame));
    facts.advance(loaded.end);
    facts
}

fn watch_server(
    source: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
    show: Show<'_>,
) -> Result<Exit, CliError> {
    let schema = client::schema_of_source(source, global, io)?;
    let options = client::options_of_source(source, &source.ask, schema.clone(), global, io)?;
    let running = Running::start(options, None)?;
    let started = Instant::now();
    let (mut shown, mut reported) = (None, None);
    let name = xdscope_wire::text::display_safe(&source.source).into_owned();
    if !global.quiet {
        io.say(&format!("connecting to {name}; changes are printed as they come, until Ctrl-C"));
    }
    let mut is_waiting_told = global.quiet;
    loop {
        let progress = running.progress();
        if let Some(refused) = &progress.refused {
            return Err(client::refused(refused));
        }
        let is_first = shown.is_none();
        if is_first && (progress.failed.is_some() || progress.ended.is_some()) {
            return Err(client::broken(&progress, source));
        }
        let is_answered = progress.begun && progress.unanswered.is_empty();
        let revision = running.shared.revision();
        let is_begun = progress.begun && started.elapsed() >= FIRST_SHOWN_AFTER;
        if progress.begun && !is_answered && is_first && !std::mem::replace(&mut is_waiting_told, true) {
            let unanswered = client::listed(&progress.unanswered);
            io.say(&format!("waiting for {unanswered}"));
        }
        let is_due = is_answered || is_begun || !is_first;
        if is_due && shown != Some(revision) {
            shown = Some(revision);
            show(&running.shared.store(), &schema, io)?;
        }
        let trouble = running.shared.trouble();
        if let Some(text) = trouble.as_ref()
            && trouble != reported
            && !global.quiet
        {
            io.say(text);
        }
        reported = trouble;
        std::thread::sleep(LOOK_INTERVAL);
    }
}
