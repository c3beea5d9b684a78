//! `watch`: a client of a control plane, or files that are read as they change; and `log --follow`,
//! without screens.

use crate::app::client::{Options, Running};
use crate::app::process::signals;
use crate::app::tap::DRAIN_TIME;

use super::service::Service;
use super::{replay, watch_files};
use crate::cli::args::{
    Format, Global, LiveFlags, LogArgs, NotifyWord, ScreenFlags, ServiceFlags, WatchArgs,
};
use crate::cli::error::{CliError, Exit};
use crate::cli::live;
use crate::cli::live::kept;
use crate::cli::live::{Run, Shown};
use crate::cli::peer::client::ClientSetup;
use crate::cli::read::wait::Condition;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::io::Io;
use xdscope_present::text::shell_word;
use xdscope_sources::ReplayPosition;

pub(crate) fn run(args: &WatchArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let flags = &args.live;
    let until = args.until.as_deref().map(|text| Condition::read(text, global, io)).transpose()?;
    let schema = match &args.server {
        Some(server) => schema_flags::schema_of_server(&flags.descriptors, server, global, io)?,
        None => schema_flags::schema(&flags.descriptors, global)?,
    };
    // Load descriptors in the background, ready for the first message.
    let warm = schema.clone();
    let warming = std::thread::spawn(move || warm.warm());
    if let Some(path) = watch_files::path(args.server.as_deref())? {
        let exit = watch_files::run(path, args, until.as_ref(), schema, global, io);
        let _ = warming.join();
        return exit;
    }
    let what = crate::cli::source::target::join_names(&args.what);
    let setup = ClientSetup {
        server: args.server.as_deref(),
        targets: &what,
        flags: &args.client,
        connect: &flags.descriptors.connect,
        schema: schema.clone(),
        quiet: global.quiet,
    };
    let options = setup.options(offline::options(&flags.timers), io)?;
    let server = options.server.address.to_string();
    let run = Run {
        flags,
        global,
        decode: true,
        copies: Default::default(),
        verb: "watch",
        empty: no_response(&server),
        notice: Some(format!("subscribed as a client of {server}")),
        has_tour: false,
        ending: None,
        no_hold: None,
    };
    let screens = flags.format.is_none() && !flags.no_tui && io.has_screen();
    let mut service = Service::start(flags, io)?;
    let options = Options { record: run.recording(io)?, keep_secrets: flags.keep_secrets, ..options };
    let source = options.source.clone();
    let sink = if screens { None } else { Some(run.sink(io)?) };
    let (sink, unprinted) = sink.unzip();
    let signals = signals::watch(screens, DRAIN_TIME)
        .map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
    let running = Running::start(options, sink)?;
    service.begin_reader(&running.shared, running.recording.as_ref(), &source, global.quiet, io);
    let result = if screens {
        let (shared, recording) = (running.shared.clone(), running.recording.clone());
        let (notice, client) = (run.notice.clone(), (!flags.read_only).then_some(&running));
        let shown = Shown { shared, recording, source, notice, client, tap: None, desk: None };
        run.screens(io, shown, schema, signals)
    } else {
        let mut reported = None;
        live::until_stopped(&signals, || {
            service.ping();
            kept::say_news(&running.shared, io);
            say_trouble(running.shared.trouble(), &mut reported, global, io);
            let met = until.as_ref().is_some_and(|until| until.is_met_by(&running));
            met || running.shared.unread() || running.refused().is_some()
        });
        match running.refused() {
            Some(refused) => Err(crate::cli::peer::client::refused(&refused)),
            None => Ok(()),
        }
    };
    let shared = running.shared.clone();
    let kept = running.stop();
    kept::say_unprinted(&shared, unprinted.as_ref(), io);
    kept::say_kept(&shared, kept, global, io);
    // A failure to load was reported where the schema is used.
    let _ = warming.join();
    result.map(|()| match until.is_some() && signals::is_interrupted() {
        true => Exit::Interrupted,
        false => Exit::Yes,
    })
}

/// Says that the connection has failed or works again, once.
pub(crate) fn say_trouble(
    trouble: Option<String>,
    reported: &mut Option<String>,
    global: &Global,
    io: &mut Io<'_>,
) {
    if trouble != *reported && !global.quiet {
        let text = trouble.as_deref().unwrap_or("connected");
        io.say(&xdscope_wire::text::display_safe(text));
    }
    *reported = trouble;
}

/// The lines of an empty screen.
fn no_response(server: &str) -> Vec<String> {
    let doctor = format!("xdscope doctor {} checks it step by step.", shell_word(server));
    vec![format!("No response from {server} yet."), String::new(), doctor]
}

/// Runs `log SOURCE --follow` on a server, on files with responses, or on a growing recording.
pub(crate) fn follow(args: &LogArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let followed = &args.source.source;
    let output = match args.format {
        Format::Text | Format::Table => Format::Text,
        Format::Json | Format::Jsonl => Format::Jsonl,
        _ => return Err(CliError::usage("--follow prints text or jsonl").next("-o jsonl")),
    };
    if !offline::is_server(followed) && watch_files::path(Some(followed)).ok().flatten().is_none() {
        let args = LogArgs { format: output, ..args.clone() };
        return replay::follow_log(&args, &ReplayPosition::End, global, io);
    }
    for (flag, is_set) in [("--tail", args.tail.is_some()), ("--since", args.since.is_some())] {
        if is_set {
            let error = CliError::usage(format!("{flag} has no effect: nothing of {followed} has come yet"));
            return Err(error.next(format!("xdscope log {} --follow", shell_word(followed))));
        }
    }
    let watch = WatchArgs {
        server: Some(args.source.source.clone()),
        what: Vec::new(),
        until: None,
        client: args.source.client.clone(),
        live: LiveFlags {
            format: Some(output),
            no_tui: true,
            view: None,
            read_only: true,
            filter: args.rows.filter.clone(),
            time: args.time,
            record: None,
            force: false,
            record_max: Vec::new(),
            keep: None,
            no_record: true,
            keep_secrets: args.source.keep_secrets,
            applied: None,
            service: ServiceFlags::default(),
            screens: ScreenFlags {
                theme: "default".to_owned(),
                slow_link: false,
                mouse: false,
                notify: NotifyWord::Off,
            },
            timers: args.source.timers,
            descriptors: args.source.descriptors.clone(),
        },
    };
    run(&watch, global, io).map(|exit| match exit {
        // As for a file that is followed, which the signal ends at once.
        Exit::Yes if signals::is_interrupted() => Exit::Interrupted,
        exit => exit,
    })
}
