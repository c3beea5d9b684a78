//! `serve`: acts as a control plane, from a recording or files.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;

use crate::app::tap::Front;
use crate::net::serve::{Control, Say};
use crate::net::tap::SharedFaults;
use crate::net::transport::Address;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::FaultSet;
use xdscope_sources::{Passes, ReadProgress, SourceFormat};
use xdscope_wire::text::{display_safe, plural};

use super::ending::Ending;
use super::serve_plan::{MAX_NAMED, PlanSource, ServePlan};
use crate::cli::args::{ClientFlags, Global, LiveFlags, ServeArgs, ServeMode, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::live::{Run, for_clients};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;

use super::faults;
use crate::cli::peer::connect;
use crate::cli::source;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::diagnostics;

/// Interval at which --reload checks SOURCE. A change counts once it has lasted this long.
const RELOAD_CHECK_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &ServeArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let listen = Address::listen(&args.listen).map_err(|error| {
        CliError::usage(error.to_string()).next("xdscope serve SOURCE --listen 127.0.0.1:18000")
    })?;
    check_flags(args)?;
    let tls = connect::listen(&args.secure)?;
    let faults = faults::of_serve(args, &listen, global, io)?.map(SharedFaults::from);
    let ending = Ending::read(&args.end, faults.as_ref(), global, io)?;
    let from = SourceArgs {
        source: args.source.clone(),
        ask: Vec::new(),
        accept_broken: false,
        timeout: None,
        client: ClientFlags::default(),
        // Serve resources with their secrets; recording has its own setting.
        keep_secrets: true,
        timers: args.live.timers,
        descriptors: args.live.descriptors.clone(),
    };
    diagnostics::detach_stderr();
    let (passes, seen) = source::offline_passes(&from, global, io)?;
    let (schema, zone) = (passes.schema().clone(), io.zone.clone());
    if let Some(faults) = &faults {
        faults::check_values(&faults.lock(), &schema)?;
    }
    let mut progress = Progress::new(&args.source, global, io);
    let source = PlanSource { passes, format: seen.format, args, zone: &zone, progress: &mut progress };
    let made = source.plan()?;
    drop(progress);
    offline::say(&made.notices, global, io);
    let talks = |io: &mut Io<'_>, text: &str| io.say(&display_safe(text));
    if !global.quiet {
        made.about.iter().for_each(|line| talks(io, line));
    }
    if let Some(warning) = incomplete(&made.incomplete) {
        talks(io, &warning);
    }
    if !listen.is_local() && args.secure.listen_client_ca.is_none() {
        let how = if tls.is_none() { ", in plaintext" } else { "" };
        talks(io, &format!("warning: everyone who can reach {listen} receives this configuration{how}"));
    }
    let live = LiveFlags { no_tui: args.live.no_tui || args.step, ..args.live.clone() };
    let screens = live.format.is_none() && !live.no_tui && ending.is_none() && io.has_screen();
    let silent = screens || global.quiet;
    let say: Say = Arc::new(move |text| {
        if !silent {
            diagnostics::say(&display_safe(text));
        }
    });
    let control = Control::new(made.plan);
    steps(args.step.then(|| control.clone()))?;
    if args.reload {
        let path = offline::find(&args.source, io)?;
        let seed = schema_flags::seed()?;
        let again = Reload { from, seed, path, schema, args: args.clone(), zone, faults: faults.clone() };
        again.start(control.clone(), say.clone())?;
    }
    let name = Path::new(&args.source).file_name().map(|name| name.to_string_lossy());
    let name = name.map_or_else(|| args.source.clone(), |name| name.into_owned());
    let copies = args.copies.clone();
    let run = Run {
        flags: &live,
        global,
        decode: true,
        copies,
        verb: "serve",
        empty: Vec::new(),
        notice: None,
        has_tour: false,
        ending,
        no_hold: None,
    };
    let (from, has_tls) = (name.clone(), tls.is_some());
    run.start(Front::Serve { listen, from, tls, control, say, faults }, io, |running| {
        let listen = &running.tap.listening[0];
        let mut lines = vec![format!("Serving {name} on {listen}: no client has connected yet.")];
        lines.extend(for_clients(listen, has_tls));
        Some(lines)
    })
}

/// Refuses flags that contradict each other.
fn check_flags(args: &ServeArgs) -> Result<(), CliError> {
    let script = args.mode == ServeMode::Script;
    let word = if args.step { "--step" } else { "--speed" };
    if !script && (args.step || args.speed.is_some()) {
        let error = CliError::usage(format!("{word} needs --mode script"));
        return Err(error.next(format!("xdscope serve {} --mode script {word}", shell_word(&args.source))));
    }
    if args.source == "-" && (args.step || args.reload) {
        let word = if args.step { "--step" } else { "--reload" };
        return Err(
            CliError::usage(format!("{word} needs a file, and SOURCE is stdin")).next("name the file")
        );
    }
    Ok(())
}

/// Warns about resources that redaction left incomplete, since clients may NACK them.
fn incomplete(names: &[String]) -> Option<String> {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    let (are, they) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    (!names.is_empty()).then(|| {
        format!(
            "warning: {} {are} incomplete, secrets were taken out of {they}: {}{more}",
            plural(names.len() as u64, "resource"),
            first.join(", ")
        )
    })
}

/// Sends the next response for each line on stdin, with `--step`.
fn steps(control: Option<Control>) -> Result<(), CliError> {
    let Some(control) = control else { return Ok(()) };
    let work = move || std::io::stdin().lock().lines().map_while(Result::ok).for_each(|_| control.step());
    let thread = std::thread::Builder::new().name("steps".into()).spawn(work);
    thread.map(drop).map_err(|error| CliError::new(Exit::Defect, "cannot read steps").because(error))
}

/// A source that is read again when it changes.
struct Reload {
    from: SourceArgs,
    seed: u64,
    path: PathBuf,
    schema: Arc<Schema>,
    args: ServeArgs,
    zone: TimeZone,
    /// The faults of flags and source; `None`: there were none at the start.
    faults: Option<SharedFaults>,
}

/// Path, size and modification time of each file, to detect changes.
type FileStamps = Vec<(PathBuf, u64, Option<SystemTime>)>;

impl Reload {
    fn start(self, control: Control, say: Say) -> Result<(), CliError> {
        let mut known = self.stamp();
        let work = move || {
            let mut seen = known.clone();
            loop {
                std::thread::sleep(RELOAD_CHECK_INTERVAL);
                let now = self.stamp();
                // A file that is still being written changes again until the next check.
                let settled = now == std::mem::replace(&mut seen, now.clone());
                if !settled || now == known {
                    continue;
                }
                known = now;
                match self.read().and_then(|made| Ok((made, self.read_faults()?))) {
                    Ok((made, newer)) => {
                        match (&self.faults, newer) {
                            (Some(faults), newer) => faults.renew(newer.unwrap_or_default()),
                            (None, Some(_)) => {
                                say("the script states faults now: start again to serve with faults")
                            }
                            (None, None) => {}
                        }
                        control.serve(made.plan.after(&control.plan()));
                        made.about.iter().for_each(|line| say(&format!("reloaded: {line}")));
                    }
                    Err(error) => say(&format!(
                        "not reloaded, still serving the last version: {}",
                        error.render().trim_end()
                    )),
                }
            }
        };
        let thread = std::thread::Builder::new().name("reload".into()).spawn(work);
        thread.map(drop).map_err(|error| CliError::new(Exit::Defect, "cannot reload").because(error))
    }

    fn stamp(&self) -> FileStamps {
        let mut files = vec![self.path.clone()];
        // A folder that cannot be listed fails when it is read.
        if self.path.is_dir() {
            files.extend(xdscope_sources::list_files(&self.path, &|_| true).unwrap_or_default());
        }
        let of = |path: PathBuf| {
            let about = std::fs::metadata(&path).ok();
            let size = about.as_ref().map_or(0, std::fs::Metadata::len);
            (path, size, about.and_then(|about| about.modified().ok()))
        };
        files.into_iter().map(of).collect()
    }

    /// Reads the faults of flags and source again.
    fn read_faults(&self) -> Result<Option<FaultSet>, CliError> {
        let of_script = faults::of_script_file(&self.path, &self.args.source);
        let read_only = self.args.live.read_only;
        let faults = faults::read(&self.args.faults, of_script, read_only, std::iter::empty())?;
        faults.iter().try_for_each(|faults| faults::check_values(faults, &self.schema))?;
        Ok(faults)
    }

    /// Refuses a source that can be read in part only: resources with a typing error would be
    /// removed from clients.
    fn read(&self) -> Result<ServePlan, CliError> {
        let spec = offline::spec(&self.from, self.seed, &self.path);
        let format = xdscope_sources::format_of(&self.path).unwrap_or(SourceFormat::Folder);
        let passes = Passes::open(&spec, &self.schema, offline::options(&self.from.timers).history)?;
        let source = PlanSource { passes, format, args: &self.args, zone: &self.zone, progress: &mut Unseen };
        let made = source.plan()?;
        match made.notices.first() {
            Some(notice) => Err(CliError::unreadable(notice.clone())),
            None => Ok(made),
        }
    }
}

/// The progress of a reading that nobody watches.
struct Unseen;

impl ReadProgress for Unseen {
    fn start(&mut self, _size: u64) {}
    fn update(&mut self, _position: &dyn Fn() -> u64) {}
}
