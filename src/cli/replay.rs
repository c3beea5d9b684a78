//! `replay`: a recording with a time cursor, as screens; without a terminal a line per event.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::filter::Rows;
use crate::record::Loaded;

use super::args::{Format, Global, ReplayArgs};
use super::error::{CliError, Exit};
use super::io::Io;
use super::source::{self, Limit, Source};
use super::{descriptors, log, select};

/// How often a file is looked at for more.
const LOOK: Duration = Duration::from_millis(250);
/// Of the time, reading again takes no more than one in so many parts.
const SHARE: u32 = 10;

pub(super) fn run(args: &ReplayArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.follow && args.source.source == "-" {
        return Err(CliError::usage("--follow follows a file, and SOURCE is stdin").next("name the file"));
    }
    let seed = descriptors::seed()?;
    #[cfg(all(feature = "net", feature = "tui"))]
    if args.output.is_none() && !args.no_tui && io.has_screen() {
        return screens(args, seed, global, io);
    }
    lines(args, seed, global, io)
}

/// Each row as `log` prints it, then those that come.
fn lines(args: &ReplayArgs, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let zone = io.zone(args.time);
    let filter = select::filter(args.filter.as_deref(), Rows::Messages, &zone)?;
    let style = io.style(global);
    let jsonl = args.output == Some(Format::Jsonl);
    let opened = source::open_keyed(&args.source, seed, global, io)?;
    let limit = Limit::of(&args.at, &opened.loaded, &zone)?;
    let reload = if args.follow { Some(follow(args, seed, &opened, io)?) } else { None };
    let timers = &args.source.timers;
    let (mut store, schema) = source::replay(opened, timers, &limit);
    let mut shown = 0;
    loop {
        for fact in (shown..store.rows()).filter_map(|row| store.row(row)) {
            if filter.message(&fact, &store) {
                let line = if jsonl {
                    log::json_line(&fact, &store)
                } else {
                    log::line(&fact, &store, &zone, style)
                };
                writeln!(io.stdout, "{}", line.trim_end())?;
            }
        }
        io.flush()?;
        shown = shown.max(store.rows());
        let Some(loaded) = reload.as_ref().and_then(|reload| reload.recv().ok()) else {
            return Ok(Exit::Yes);
        };
        store = source::replay_loaded(loaded, &schema, timers);
    }
}

/// Reads the source again each time it has grown, on a thread of its own.
fn follow(args: &ReplayArgs, seed: u64, opened: &Source, io: &Io<'_>) -> Result<Receiver<Loaded>, CliError> {
    let path = source::find(&args.source.source, io)?;
    let (args, schema) = (args.source.clone(), opened.schema.clone());
    let mut known = opened.size.unwrap_or(0);
    let (send, receive) = channel();
    let work = move || {
        let mut pause = LOOK;
        loop {
            std::thread::sleep(pause);
            pause = LOOK;
            let size = std::fs::metadata(&path).map_or(known, |file| file.len());
            if size == known {
                continue;
            }
            let begun = Instant::now();
            // What can't be read now may be half written: the next look sees more of it.
            if let Ok(source) = source::read_file(&args, seed, &path, Arc::clone(&schema)) {
                known = size;
                if send.send(source.loaded).is_err() {
                    return;
                }
            }
            pause = LOOK.max(begun.elapsed() * SHARE);
        }
    };
    let thread = std::thread::Builder::new().name("follow".into()).spawn(work);
    thread.map_err(|error| CliError::new(Exit::Defect, "cannot follow").because(error))?;
    Ok(receive)
}

#[cfg(all(feature = "net", feature = "tui"))]
fn screens(args: &ReplayArgs, seed: u64, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    use crate::app::replay::ReplayFeed;
    use crate::app::screen::Decoded;
    use crate::app::signals;
    use crate::tui::{Feed, Seek};

    use super::args::At;

    let screen = super::screens::wanted(args.view.as_deref())?;
    // What there is to say of the file is said on the screen.
    let quiet = Global { quiet: true, ..global.clone() };
    let opened = source::open_keyed(&args.source, seed, &quiet, io)?;
    let zone = io.zone(args.time);
    let at = match Limit::of(&args.at, &opened.loaded, &zone)? {
        Limit::All => Seek::End,
        Limit::Message(n) => Seek::Message(n),
        Limit::Time(_) if args.at == At::Start => Seek::Start,
        Limit::Time(at) => Seek::Time(at),
    };
    let signals =
        signals::watch(true).map_err(|error| CliError::new(Exit::Defect, "no signals").because(error))?;
    let reload = if args.follow { Some(follow(args, seed, &opened, io)?) } else { None };
    let notices: Vec<_> =
        opened.loaded.notices.iter().map(|notice| crate::text::display_safe(notice).into_owned()).collect();
    let mut options = options(&opened, args, io);
    options.notice = (!notices.is_empty()).then(|| notices.join("; "));
    let schema = opened.schema;
    let feed = ReplayFeed::new(opened.loaded, options, Decoded(schema), reload);
    let begin = [Some(at).filter(|at| *at != Seek::End), args.play.then_some(Seek::Toggle)];
    for seek in begin.into_iter().flatten() {
        feed.replay(None, seek)
            .map_err(|why| CliError::usage(format!("cannot play: {why}")).next("--at start --play"))?;
    }
    super::screens::run(&feed, screen, args.screens, args.time, global, io, signals)?;
    Ok(Exit::Yes)
}

#[cfg(all(feature = "net", feature = "tui"))]
fn options(opened: &Source, args: &ReplayArgs, io: &Io<'_>) -> crate::app::replay::Options {
    let name = std::path::Path::new(&opened.name).file_name().map(|name| name.to_string_lossy().into_owned());
    crate::app::replay::Options {
        store: source::options(&args.source.timers),
        meaning: crate::app::tap::meaning(opened.schema.clone()),
        rules: crate::app::watched::bounded(&opened.schema),
        idle: args.idle_limit,
        speed: crate::tui::Speed::new(args.speed),
        source: format!("replay {}", name.unwrap_or_else(|| opened.name.clone())),
        rerun: opened.name.clone(),
        notice: None,
        copies: io.state_dir().unwrap_or_else(std::env::temp_dir),
        rewound: false,
    }
}
