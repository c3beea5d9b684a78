//! `wait`: blocks until a condition holds, for scripts and CI.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::app::client::{Progress, Running};
use crate::app::recording::recording_file;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::filter::{Filter, RowKind};
use xdscope_engine::problems::{ProblemFact, Urgency};
use xdscope_engine::store::{ResourceState, StateFact, TypeState};
use xdscope_present::text::shell_word;
use xdscope_sources::{Source, SourceFormat};
use xdscope_wire::event::StreamId;

use crate::cli::args::{Global, SourceArgs, WaitArgs};
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::live::replay;
use crate::cli::peer::client::{Waiting, broken, listed};
use crate::cli::source;
use crate::cli::source::{offline, select};
use crate::cli::terminal::io::Io;

/// Pause between two readings of a growing file, as a multiple of the time of the last reading.
const PAUSE_FACTOR: u32 = 4;
/// Time without a change after which a file is complete, unless a recording says so itself.
const COMPLETE_AFTER: Duration = Duration::from_secs(10);

/// A condition to wait for.
pub(crate) enum Condition {
    /// Everything subscribed was delivered, every response acknowledged, and no problem lasts.
    /// Nothing is held, and no client has other resources than its server sent, because of xdscope.
    Synced,
    /// A response was NACKed.
    Nack,
    /// A resource is in force.
    Resource(Filter),
    State(Filter),
}

impl Condition {
    pub(crate) fn read(text: &str, global: &Global, io: &mut Io<'_>) -> Result<Condition, CliError> {
        match text {
            "synced" => return Ok(Condition::Synced),
            "nack" => return Ok(Condition::Nack),
            _ => {}
        }
        // A word alone would be searched in names and versions.
        let near = suggest::near(&text.to_ascii_lowercase(), ["synced", "nack"]);
        if let Some(meant) = near.first() {
            let error = CliError::usage(format!("unknown condition `{text}`"));
            return Err(error
                .next((*meant).to_owned())
                .next(format!("name:{text}, for a resource of this name")));
        }
        let condition = match select::expression("condition", text, RowKind::Resources, &io.zone) {
            Ok(filter) => Condition::Resource(filter),
            Err(error) => match select::expression("condition", text, RowKind::States, &io.zone) {
                Ok(filter) => Condition::State(filter),
                Err(_) => return Err(error),
            },
        };
        if let Condition::Resource(filter) | Condition::State(filter) = &condition {
            select::say_unknown_types(filter, global.quiet, io);
        }
        Ok(condition)
    }

    /// Finds the nodes for which the condition holds, and all nodes with an open stream (in a
    /// recording, any stream).
    fn holds(&self, store: &Analysis) -> (BTreeSet<String>, BTreeSet<String>) {
        let mut nodes: BTreeMap<String, bool> = BTreeMap::new();
        let node_of = |stream: StreamId| store.stream(stream).and_then(|fact| Some(fact.node?.id.clone()));
        let is_lasting = |problem: &&ProblemFact| problem.lasts && problem.is_wrong();
        let problems = match self {
            Condition::Synced => store.problems(),
            _ => Vec::new(),
        };
        // A node with a problem that `status` reports is not in sync, on whatever stream.
        let streams = problems.iter().filter(is_lasting).flat_map(ProblemFact::all_streams);
        let troubled: BTreeSet<String> = streams.map(|stream| node_of(stream).unwrap_or_default()).collect();
        // A client whose requests are in error has nothing of a type that it has never accepted.
        let is_in_error = |state: &StateFact| {
            let errors = problems.iter().filter(|problem| problem.is_wrong());
            let mut errors = errors.filter(|problem| problem.urgency == Urgency::Error);
            state.summary.last_state.unwrap_or(state.summary.state) == TypeState::Idle
                && errors.any(|of| of.stream == state.summary.stream && of.type_url == state.summary.type_url)
        };
        let came_back: BTreeSet<_> =
            store.streams().iter().filter_map(|stream| stream.reconnect_of).collect();
        // Debts of a closed stream do not matter once another server has answered the client.
        let unreplaced: BTreeSet<StreamId> =
            store.ended().unreplaced_streams().map(|stream| stream.id).collect();
        let is_over = |state: &StateFact| {
            let is_replaced =
                state.summary.last_state.is_some() && !unreplaced.contains(&state.summary.stream);
            came_back.contains(&state.summary.stream) || (matches!(self, Condition::Synced) && is_replaced)
        };
        for state in store.states().iter().filter(|state| !is_over(state)) {
            let node = state.summary.node.as_deref().unwrap_or_default().to_owned();
            let word = state.summary.last_state.unwrap_or(state.summary.state);
            let one = match self {
                Condition::Synced => {
                    let is_settled = matches!(word, TypeState::Synced | TypeState::Idle);
                    // A fault may hold messages, or have altered resources.
                    is_settled
                        && state.summary.malformed == 0
                        && state.diverged.is_none()
                        && !is_in_error(state)
                }
                Condition::Nack => matches!(word, TypeState::Nack | TypeState::Rejected),
                Condition::State(filter) => filter.state(state, store),
                Condition::Resource(filter) => {
                    store.resources(state.summary.stream, &state.summary.type_url).iter().any(|fact| {
                        let in_force = matches!(fact.state, ResourceState::Present | ResourceState::Kept);
                        let acked = fact.in_force.is_some() || fact.state == ResourceState::Kept;
                        let newest = fact.refusal.is_none() || fact.is_used_from_refused_push();
                        in_force && acked && newest && filter.resource(fact, store)
                    })
                }
            };
            let all = matches!(self, Condition::Synced);
            let so_far = nodes.entry(node).or_insert(all);
            *so_far = if all { *so_far && one } else { *so_far || one };
        }
        nodes.extend(troubled.into_iter().map(|node| (node, false)));
        let known = nodes.keys().cloned().collect();
        (nodes.into_iter().filter(|(_, holds)| *holds).map(|(node, _)| node).collect(), known)
    }

    /// Whether the condition holds for a running client.
    pub(crate) fn is_met_by(&self, running: &Running) -> bool {
        let progress = running.progress();
        let complete = !matches!(self, Condition::Synced) || progress.unanswered.is_empty();
        progress.open && complete && self.is_met(&running.shared.store(), None)
    }

    pub(crate) fn is_met(&self, store: &Analysis, wanted: Option<u64>) -> bool {
        let (holding, known) = self.holds(store);
        match wanted {
            Some(wanted) => holding.len() as u64 >= wanted && holding == known,
            None if matches!(self, Condition::Synced) => !known.is_empty() && holding == known,
            None => !holding.is_empty(),
        }
    }
}

pub(crate) fn run(args: &WaitArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let condition = Condition::read(&args.condition, global, io)?;
    let text = args.condition.as_str();
    if offline::is_server(&args.source.source) {
        on_server(args, &condition, global, io)?;
    } else {
        let goal = Goal { condition: &condition, text, nodes: args.nodes, timeout: args.timeout };
        match goal.on_recording(&args.source, global, io)? {
            WaitEnd::Met => {}
            WaitEnd::TimedOut => {
                let error = never(args, None);
                let trouble = io.copy_of(&args.source.source).and_then(|copy| copy.trouble()());
                return Err(match trouble {
                    Some(trouble) => error.because(trouble),
                    None => error,
                });
            }
            WaitEnd::Complete => return Err(incomplete(args)),
        }
    }
    if !global.quiet {
        io.say(&format!("condition met: {text}"));
    }
    Ok(Exit::Yes)
}

/// The words about a source that nothing writes to.
const COMPLETE: &str = "is complete: no more messages come";

/// Says that a followed recording has ended.
pub(crate) fn say_ended(source: &str, global: &Global, io: &mut Io<'_>) {
    if !global.quiet {
        io.say(&format!("{source} {COMPLETE}"));
    }
}

/// The error of a condition that does not hold at the end of a complete source.
fn incomplete(args: &WaitArgs) -> CliError {
    let text = format!("`{}` does not hold at the end of {}", args.condition, args.source.source);
    let text = format!("{text}, which {COMPLETE}");
    CliError::new(Exit::Never, text)
        .next(format!("xdscope status {} -o wide", shell_word(&args.source.source)))
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    Met,
    TimedOut,
    /// The source ends before the condition holds, and nothing writes to it.
    Complete,
}

/// Whether nothing more comes to a file: a recording was closed, or a file without a writer was not
/// written to for some time. Another program, such as one that copies a recording, may write it.
fn is_complete(source: &Source, path: &Path, is_written: bool) -> bool {
    if !path.is_file() {
        return false;
    }
    if source.format == SourceFormat::Recording {
        if is_closed_recording(&source.loaded.notices) {
            return true;
        }
        if is_written {
            return false;
        }
    }
    !is_fresh(path)
}

/// Whether a file was written to a short time ago.
fn is_fresh(path: &Path) -> bool {
    let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let idle = file.and_then(|file| file.modified().ok()?.elapsed().ok());
    idle.is_some_and(|idle| idle < COMPLETE_AFTER)
}

/// Whether the notices of a recording do not say that its writer has left it open.
fn is_closed_recording(notices: &[String]) -> bool {
    !notices.iter().any(|notice| offline::is_unfinished(notice))
}

/// Whether a recording was closed or has lost its writer. `notices` are those of its reading, and
/// `is_written` says whether it had a writer before it was read.
pub(crate) fn is_ended_recording(format: SourceFormat, notices: &[String], is_written: bool) -> bool {
    format == SourceFormat::Recording && (!is_written || is_closed_recording(notices))
}

/// A condition with its limits.
pub(crate) struct Goal<'a> {
    pub condition: &'a Condition,
    /// The condition as typed.
    pub text: &'a str,
    /// The number of nodes for which the condition must hold.
    pub nodes: Option<u64>,
    pub timeout: Duration,
}

impl Goal<'_> {
    /// Reads a source each time it has grown, until the condition holds.
    ///
    /// Returns at once at the end of a complete file. A file that cannot be read, and was written
    /// to a short time ago, may be half written.
    pub(crate) fn on_recording(
        &self,
        source: &SourceArgs,
        global: &Global,
        io: &mut Io<'_>,
    ) -> Result<WaitEnd, CliError> {
        let mut waiting = Waiting::until(self.timeout, self.text);
        let quiet = Global { quiet: true, ..global.clone() };
        let path = if source.source == "-" { None } else { Some(offline::find(&source.source, io)?) };
        let size = || path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map(|file| file.len());
        loop {
            let size_read = size();
            let started = Instant::now();
            let is_written = path.as_deref().is_some_and(recording_file::is_in_use);
            let may_change = is_written || path.as_deref().is_some_and(is_fresh);
            let read = source::open(source, &quiet, io);
            let mut unreadable = None;
            match read {
                Ok(read) => {
                    let is_complete = io.copy_of(&source.source).is_none()
                        && path.as_deref().is_some_and(|path| is_complete(&read, path, is_written));
                    if self.condition.is_met(&source::analyse(source, read), self.nodes) {
                        return Ok(WaitEnd::Met);
                    }
                    if is_complete {
                        return Ok(WaitEnd::Complete);
                    }
                }
                // A recording that has just begun may be empty for a while.
                Err(error) if error.is_empty_source() => unreadable = Some(error),
                Err(error) if error.exit == Exit::Unreadable && path.as_deref().is_some_and(is_fresh) => {
                    unreadable = Some(error);
                }
                Err(error) => return Err(error),
            }
            // Reading again must not take most of the time.
            let pause = started.elapsed() * PAUSE_FACTOR;
            let paused = Instant::now();
            loop {
                if waiting.is_over() || path.is_none() {
                    return unreadable.map_or(Ok(WaitEnd::TimedOut), Err);
                }
                waiting.look(&Progress { open: true, ..Progress::default() }, &source.source, global, io);
                // Timers go on while a process writes the recording, and a fresh file may become
                // complete.
                let is_due = size() != size_read || (may_change && paused.elapsed() >= replay::TICK);
                if is_due && paused.elapsed() >= pause {
                    break;
                }
            }
        }
    }
}

/// The error of --nodes on a server, which shows one node only.
pub(crate) fn one_node() -> CliError {
    CliError::usage("--nodes needs a recording: a server shows one node only")
        .next("xdscope tap SERVER --record session.xdsrec")
}

fn on_server(
    args: &WaitArgs,
    condition: &Condition,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<(), CliError> {
    if args.nodes.is_some() {
        return Err(one_node());
    }
    let of = &args.source;
    let schema = crate::cli::peer::client::schema_of_source(of, global, io)?;
    let options = crate::cli::peer::client::options_of_source(of, &[], schema, global, io)?;
    let running = Running::start(options, None)?;
    let mut waiting = Waiting::until(args.timeout, &args.condition);
    loop {
        let progress = running.progress();
        if let Some(refused) = progress.refused {
            return Err(crate::cli::peer::client::refused(&refused));
        }
        if condition.is_met_by(&running) {
            return Ok(());
        }
        if waiting.is_over() {
            // Without a stream this is an error of the connection, with another exit code.
            return Err(if progress.open { never(args, Some(&progress)) } else { broken(&progress, of) });
        }
        waiting.look(&progress, &of.source, global, io);
    }
}

fn never(args: &WaitArgs, progress: Option<&Progress>) -> CliError {
    let mut text = format!("timed out: `{}` did not hold within {:?}", args.condition, args.timeout);
    if let Some(progress) = progress.filter(|progress| !progress.unanswered.is_empty()) {
        text.push_str(&format!("; not answered: {}", listed(&progress.unanswered)));
    }
    CliError::new(Exit::Never, text)
        .next(format!("xdscope status {} -o wide", shell_word(&args.source.source)))
}
