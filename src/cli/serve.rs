//! `serve`: acts as a control plane, from a recording or files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;

use crate::app::tap::Front;
use crate::engine::store::{Store, StreamFact};
use crate::net::serve::{Control, Say};
use crate::net::tap::Address;
use crate::peers::client;
use crate::peers::server::{Plan, PlaybackSpeed, Script, Scripts, Snapshot};
use crate::present::report;
use crate::schema::Schema;
use crate::sources::{self, Limit, Source, SourceFormat};
use crate::wire::FramePayload;
use crate::wire::event::TypeUrl;
use crate::wire::text::{count, display_safe, plural, type_label};

use super::args::{ClientFlags, Global, LiveFlags, ServeArgs, ServeMode, SourceArgs};
use super::error::{CliError, Exit};
use super::io::Io;
use super::live::{Run, for_clients};
use super::select::{self, Picked};

use super::{connect, diagnostics, offline, schema_flags};

/// Interval at which --reload checks SOURCE. A change counts once it has lasted this long.
const RELOAD_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Number of items that a message names.
const MAX_NAMED: usize = 5;

/// Number of resources of all nodes beyond which nodes are not served separately.
const MAX_RESOURCES_SERVED_BY_NODE: u64 = 5_000_000;

pub(super) fn run(args: &ServeArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let listen = args.listen.parse::<Address>().map_err(|error| {
        CliError::usage(error.to_string()).next("xdscope serve SOURCE --listen 127.0.0.1:18000")
    })?;
    check_flags(args)?;
    let tls = connect::listen(&args.secure)?;
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
    let seed = schema_flags::seed()?;
    let opened = offline::open(&from, seed, global, io)?;
    let schema = opened.schema.clone();
    let made = make(opened, args, &io.zone)?;
    let talks = |io: &mut Io<'_>, text: &str| io.say(&display_safe(text));
    for line in made.about.iter().filter(|_| !global.quiet) {
        talks(io, line);
    }
    if let Some(warning) = incomplete(&made.incomplete) {
        talks(io, &warning);
    }
    if !listen.is_local() && args.secure.listen_client_ca.is_none() {
        let how = if tls.is_none() { ", in plaintext" } else { "" };
        talks(io, &format!("warning: everyone who can reach {listen} receives this configuration{how}"));
    }
    let live = LiveFlags { no_tui: args.live.no_tui || args.step, ..args.live.clone() };
    let screens = live.format.is_none() && !live.no_tui && io.has_screen();
    let silent = screens || global.quiet;
    let say: Say = Arc::new(move |text| {
        if !silent {
            diagnostics::say(&display_safe(text));
        }
    });
    let control = Control::new(made.plan);
    if args.step {
        steps(control.clone())?;
    }
    if args.reload {
        let path = offline::find(&args.source, io)?;
        let again = Reload { from, seed, path, schema, args: args.clone(), zone: io.zone.clone() };
        again.start(control.clone(), say.clone())?;
    }
    let name = Path::new(&args.source).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| args.source.clone());
    let (flags, copies) = (&live, args.copies.clone());
    let run = Run { flags, global, decode: true, copies, verb: "serve", empty: Vec::new(), notice: None };
    let (from, has_tls) = (name.clone(), tls.is_some());
    run.start(Front::Serve { listen, from, tls, control, say }, io, |running| {
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
        return Err(error.next(format!("xdscope serve {} --mode script {word}", args.source)));
    }
    if args.source == "-" && (args.step || args.reload) {
        let word = if args.step { "--step" } else { "--reload" };
        return Err(
            CliError::usage(format!("{word} needs a file, and SOURCE is stdin")).next("name the file")
        );
    }
    Ok(())
}

/// A plan, and what to say about it.
struct ServePlan {
    plan: Plan,
    about: Vec<String>,
    /// Resources that redaction left incomplete.
    incomplete: Vec<String>,
}

fn make(source: Source, args: &ServeArgs, zone: &TimeZone) -> Result<ServePlan, CliError> {
    let limit = Limit::of(&args.at, &source.loaded, zone)?;
    check_files(&source)?;
    match args.mode {
        ServeMode::Snapshot => snapshots(source, args, &limit),
        ServeMode::Script => scripts(source.with_messages()?, args, &limit),
    }
}

/// Refuses files with a response that every client must refuse: one with resources of another type,
/// or with a name that occurs twice. Recordings and scripts may have such responses.
fn check_files(source: &Source) -> Result<(), CliError> {
    if !matches!(source.format, SourceFormat::Response | SourceFormat::Folder) {
        return Ok(());
    }
    for frame in source.loaded.frames.iter() {
        let FramePayload::Message(message) = &frame.what else { continue };
        if let Some(why) = client::check(message, &source.loaded.catalog) {
            let error = CliError::unreadable(format!("cannot serve {}: {why}", source.name));
            return Err(error.next("one type and distinct names in each response"));
        }
    }
    Ok(())
}

fn nothing(args: &ServeArgs) -> CliError {
    CliError::unreadable(format!("no response in {} to serve", args.source))
        .next(format!("xdscope info {}", args.source))
}

fn snapshots(source: Source, args: &ServeArgs, limit: &Limit) -> Result<ServePlan, CliError> {
    let (store, _) = sources::replay(source, offline::options(&args.live.timers), limit);
    let streams = Picked::of(args.streams.pick().as_ref(), &store)?.streams;
    let all = Snapshot::of(&store, &streams);
    if all.is_empty() {
        return Err(nothing(args));
    }
    let mut about = vec![format!("serving {}", of_types(&all))];
    let mut by_node = BTreeMap::new();
    let nodes: BTreeSet<&str> = streams.iter().filter_map(select::node).collect();
    if args.streams.pick().is_none() && nodes.len() > 1 {
        let others = "--node NAME or --stream '#N' serves one of them to all";
        if store.summaries().iter().map(|cell| cell.resources).sum::<u64>() > MAX_RESOURCES_SERVED_BY_NODE {
            about.push(format!(
                "{}: too many resources to serve each node its own, so all are served to each; {others}",
                nodes_of(&nodes)
            ));
        } else {
            by_node = nodes.iter().map(|node| (String::from(*node), own(&store, &streams, node))).collect();
            about.push(format!(
                "{}: each receives its own resources, other clients all; {others}",
                nodes_of(&nodes)
            ));
        }
    }
    let incomplete = all.incomplete().iter().map(|(url, name)| named(url, name)).collect();
    Ok(ServePlan { plan: Plan::Snapshots { by_node, all: Arc::new(all) }, about, incomplete })
}

fn own(store: &Store, streams: &[StreamFact], node: &str) -> Arc<Snapshot> {
    let own: Vec<StreamFact> =
        streams.iter().filter(|stream| select::node(stream) == Some(node)).cloned().collect();
    Arc::new(Snapshot::of(store, &own))
}

fn nodes_of(nodes: &BTreeSet<&str>) -> String {
    let named: Vec<&str> = nodes.iter().take(MAX_NAMED).copied().collect();
    let more = if nodes.len() > MAX_NAMED { ", …" } else { "" };
    format!("{} ({}{more})", plural(nodes.len() as u64, "node"), named.join(", "))
}

/// Lists types in the order of the screens, with the number of resources of each.
fn of_types(snapshot: &Snapshot) -> String {
    let mut types: Vec<_> = snapshot.types().collect();
    types.sort_by_key(|(url, _)| report::type_order(url));
    let words = types.iter().map(|(url, known)| {
        format!("{} {} (version {})", type_label(url.as_str()), count(known.len() as u64), known.version)
    });
    words.collect::<Vec<_>>().join(", ")
}

fn named(url: &TypeUrl, name: &str) -> String {
    format!("{}/{name}", crate::present::json::type_word(url))
}

fn scripts(source: Source, args: &ServeArgs, limit: &Limit) -> Result<ServePlan, CliError> {
    let frames = source.loaded.frames.get(..limit.count(&source.loaded.frames)).unwrap_or_default().to_vec();
    let most = args.live.timers.memory;
    let name = source.name.clone();
    let (store, _) = sources::replay(source, offline::options(&args.live.timers), limit);
    let streams = Picked::of(args.streams.pick().as_ref(), &store)?.streams;
    let ids: BTreeSet<_> = streams.iter().map(|stream| stream.stream).collect();
    let scripts =
        Script::read(&frames, store.catalog(), |stream| ids.contains(&stream), most).map_err(|error| {
            CliError::unreadable(format!("cannot replay {name}: {error}"))
                .next("--node NAME, or --stream '#N'")
                .next("--memory SIZE")
        })?;
    if scripts.is_empty() {
        let error = nothing(args);
        return Err(match streams.is_empty() {
            true => error,
            false => error.next(format!("xdscope serve {} --mode snapshot", args.source)),
        });
    }
    let incomplete: BTreeSet<String> =
        scripts.iter().flat_map(|script| &script.incomplete).map(|(url, name)| named(url, name)).collect();
    let mut about: Vec<String> = scripts.iter().take(MAX_NAMED).map(of_script).collect();
    if let Some(more) = scripts.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        about.push(format!("and {more} more"));
    }
    let pace = if args.step { PlaybackSpeed::Step } else { args.speed.unwrap_or(PlaybackSpeed::Times(1.0)) };
    let plan = Plan::Scripts(Scripts::new(scripts, pace));
    Ok(ServePlan { plan, about, incomplete: incomplete.into_iter().collect() })
}

fn of_script(script: &Script) -> String {
    let node = script.node.as_deref().unwrap_or("a client without a node");
    let responses = plural(script.responses() as u64, "response");
    let seconds = script.lasts().as_secs_f64();
    let kind = script.kind();
    format!("stream #{} as a script: {kind} of {node}, {responses} in {seconds:.1}s", script.stream.0)
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

/// Sends the next response for each line on stdin.
fn steps(control: Control) -> Result<(), CliError> {
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
                match self.read() {
                    Ok(made) => {
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
            files.extend(sources::list_files(&self.path, &|_| true).unwrap_or_default());
        }
        let of = |path: PathBuf| {
            let about = std::fs::metadata(&path).ok();
            let size = about.as_ref().map_or(0, std::fs::Metadata::len);
            (path, size, about.and_then(|about| about.modified().ok()))
        };
        files.into_iter().map(of).collect()
    }

    /// Refuses a source that can be read in part only: resources with a typing error would be
    /// removed from clients.
    fn read(&self) -> Result<ServePlan, CliError> {
        let source = sources::open(&offline::spec(&self.from, self.seed, &self.path), &self.schema.clone())?;
        if let Some(notice) = source.loaded.notices.first() {
            return Err(CliError::unreadable(notice.clone()));
        }
        make(source, &self.args, &self.zone)
    }
}
