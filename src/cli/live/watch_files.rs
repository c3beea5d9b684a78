//! `watch FILE|DIR`: files with a DiscoveryResponse each, read again as they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::files::{Options, Running};
use crate::app::process::signals;
use crate::app::tap::DRAIN_TIME;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_sources::SourceFormat;

use crate::cli::args::{Global, WatchArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::live;
use crate::cli::live::kept;
use crate::cli::live::service::Service;
use crate::cli::live::{Run, Shown};
use crate::cli::terminal::io::Io;

use crate::cli::read::wait::Condition;
use crate::cli::source::offline;

/// Returns the file or folder that `watch` has in place of a server.
pub(crate) fn path(server: Option<&str>) -> Result<Option<PathBuf>, CliError> {
    let Some(server) = server else { return Ok(None) };
    if let Some(path) = server.strip_prefix("file:") {
        return Ok(Some(PathBuf::from(path)));
    }
    let path = Path::new(server);
    if offline::is_server(server) || !path.exists() {
        return Ok(None);
    }
    match xdscope_sources::format_of(path) {
        None | Some(SourceFormat::Response | SourceFormat::Folder) => Ok(Some(path.to_owned())),
        Some(form) => {
            let error = CliError::usage(format!("{server} is a {}, which does not change", form.word()));
            Err(error.next(format!("xdscope replay {}", shell_word(server))))
        }
    }
}

pub(crate) fn run(
    path: PathBuf,
    args: &WatchArgs,
    until: Option<&Condition>,
    schema: Arc<Schema>,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    if let Some(what) = args.what.first() {
        let error = CliError::usage(format!("`{what}`: WHAT needs a server, and SOURCE is a file"));
        return Err(error.next("--filter 'type:cds name:reviews'"));
    }
    let (flags, shown) = (&args.live, path.display().to_string());
    let source = format!("watch {shown}");
    let run = Run {
        flags,
        global,
        decode: true,
        copies: Default::default(),
        verb: "watch",
        empty: vec![
            format!("{shown} is empty."),
            String::new(),
            "Expected one DiscoveryResponse per file: .json, .yaml, .pb_text or .pb.".into(),
        ],
        notice: Some(format!("reading {shown} as it changes")),
        has_tour: false,
        ending: None,
        no_hold: None,
    };
    let screens = flags.format.is_none() && !flags.no_tui && io.has_screen();
    let mut service = Service::start(flags, io)?;
    let options = Options {
        path,
        record: run.recording(io)?,
        keep_secrets: flags.keep_secrets,
        store: offline::options(&flags.timers),
        schema: schema.clone(),
        source: source.clone(),
    };
    let sink = if screens { None } else { Some(run.sink(io)?) };
    let (sink, unprinted) = sink.unzip();
    let signals = signals::watch(screens, DRAIN_TIME)
        .map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
    let running = Running::start(options, sink)?;
    service.begin_reader(&running.shared, running.recording.as_ref(), &source, global.quiet, io);
    let result = if screens {
        let (shared, recording) = (running.shared.clone(), running.recording.clone());
        let shown = Shown {
            shared,
            recording,
            source,
            notice: run.notice.clone(),
            client: None,
            tap: None,
            desk: None,
        };
        run.screens(io, shown, schema, signals)
    } else {
        let mut reported = Vec::new();
        live::until_stopped(&signals, || {
            service.ping();
            kept::say_news(&running.shared, io);
            let trouble = running.shared.trouble().unwrap_or_default();
            let lines: Vec<String> = trouble.lines().map(str::to_owned).collect();
            for line in lines.iter().filter(|line| !global.quiet && !reported.contains(*line)) {
                io.say(&xdscope_wire::text::display_safe(line));
            }
            reported = lines;
            let met = until.is_some_and(|until| until.is_met(&running.shared.store(), None));
            met || running.shared.unread()
        });
        Ok(())
    };
    let shared = running.shared.clone();
    let kept = running.stop();
    kept::say_unprinted(&shared, unprinted.as_ref(), io);
    kept::say_kept(&shared, kept, global, io);
    result.map(|()| Exit::Yes)
}
